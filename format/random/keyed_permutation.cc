#include "format/random/keyed_permutation.h"

#include <cassert>

#include "format/random/mix.h"

namespace reprise {
namespace {

// Half the number of bits that size - 1 needs, rounded up; at least 1.
int HalfBits(uint64_t size) {
  int bits = 0;
  for (uint64_t rest = size - 1; rest != 0; rest >>= 1) ++bits;
  return bits <= 2 ? 1 : (bits + 1) / 2;
}

}  // namespace

KeyedPermutation::KeyedPermutation(uint64_t size, uint64_t seed, uint64_t epoch)
    : size_(size),
      half_bits_(HalfBits(size)),
      half_mask_((uint64_t{1} << half_bits_) - 1) {
  assert(size >= 1 && size <= kMaxSize);
  uint64_t key = KeyOf(seed, {epoch});
  for (int round = 0; round < kRounds; ++round) {
    round_keys_[round] = Mix64(key + (round + 1) * kGolden64);
  }
}

uint64_t KeyedPermutation::Permute(uint64_t block) const {
  uint64_t left = block >> half_bits_;
  uint64_t right = block & half_mask_;
  for (uint64_t round_key : round_keys_) {
    uint64_t mixed = Mix64(right + round_key) >> (64 - half_bits_);
    uint64_t next = left ^ mixed;
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

uint64_t KeyedPermutation::operator()(uint64_t index) const {
  assert(index < size_);
  // Cycle walking: the network permutes a power of four that may exceed size;
  // following the cycle until it comes back into range is a bijection of the
  // range, and it does come back because the start is in range.
  uint64_t value = index;
  do {
    value = Permute(value);
  } while (value >= size_);
  return value;
}

}  // namespace reprise
