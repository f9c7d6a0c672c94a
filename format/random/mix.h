// Mix64 and KeyOf: how numbers become a 64-bit key, everywhere in Reprise.
//
//   uint64_t key = reprise::KeyOf(/*seed=*/7, {/*epoch=*/3});
//
// Specified in spec/ALGORITHMS.md ("Keys"): the same numbers give the same key
// in every language and for ever. Pure functions, thread-safe.
#ifndef REPRISE_FORMAT_RANDOM_MIX_H_
#define REPRISE_FORMAT_RANDOM_MIX_H_

#include <cstdint>
#include <initializer_list>

namespace reprise {

// 2^64 divided by the golden ratio, made odd.
inline constexpr uint64_t kGolden64 = 0x9E3779B97F4A7C15u;

// A bijection of the 64-bit integers in which every input bit reaches every
// output bit (the finaliser of SplitMix64).
constexpr uint64_t Mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Key of `seed` and of the words after it, in order. With the other arguments
// fixed it is a bijection of the seed and of each word.
constexpr uint64_t KeyOf(uint64_t seed, std::initializer_list<uint64_t> words) {
  uint64_t key = Mix64(seed + kGolden64);
  for (uint64_t word : words) key = Mix64(key + word);
  return key;
}

}  // namespace reprise

#endif  // REPRISE_FORMAT_RANDOM_MIX_H_
