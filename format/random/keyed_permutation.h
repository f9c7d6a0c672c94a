// KeyedPermutation: the order in which an epoch visits its samples
// (`feistel-v1`).
//
//   reprise::KeyedPermutation order(/*size=*/60000, /*seed=*/1, /*epoch=*/0);
//   uint64_t first_sample = order(0);
//
// A bijection of [0, size) that is a pure function of (size, seed, epoch), with
// no table: reading index 10^9 costs what reading index 0 does, and nothing has
// to be stored to come back to a place in the order. It replaces a shuffle; it
// is not cryptography.
//
// The algorithm is specified with vectors in spec/ALGORITHMS.md and never
// changes under this id.
#ifndef REPRISE_FORMAT_RANDOM_KEYED_PERMUTATION_H_
#define REPRISE_FORMAT_RANDOM_KEYED_PERMUTATION_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace reprise {

inline constexpr absl::string_view kFeistelV1 = "feistel-v1";

// Immutable after construction: safe to use from several threads.
class KeyedPermutation {
 public:
  static constexpr int kRounds = 10;
  static constexpr uint64_t kMaxSize = uint64_t{1} << 63;

  // REQUIRES: 1 <= size <= kMaxSize.
  KeyedPermutation(uint64_t size, uint64_t seed, uint64_t epoch);

  // Position of the order -> sample. REQUIRES: index < size().
  // Cost: ten multiply-mix rounds, on average fewer than four times (once when
  // size is just below a power of four).
  uint64_t operator()(uint64_t index) const;

  uint64_t size() const { return size_; }

 private:
  uint64_t Permute(uint64_t block) const;

  uint64_t size_;
  int half_bits_;       // width of each half of the network, 1 to 32
  uint64_t half_mask_;  // 2^half_bits_ - 1
  std::array<uint64_t, kRounds> round_keys_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_RANDOM_KEYED_PERMUTATION_H_
