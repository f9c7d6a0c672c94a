// Counter-based random numbers: Philox4x32Ten (`philox4x32-10`) and Stream.
//
//   reprise::Stream stream(/*seed=*/1, reprise::StreamPurpose::kAugmentation,
//                          /*epoch=*/3, /*sample=*/59999);
//   uint32_t shift = stream.UniformU32Below(5);
//
// The n-th number of a stream is a pure function of (seed, purpose, epoch,
// sample, n): there is no state to save, and neither the order in which samples
// are prepared nor the number of workers can change a draw.
//
// Specified with vectors in spec/ALGORITHMS.md; never changes under this id.
// Philox is by Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
// as 1, 2, 3", SC11, 2011.
#ifndef REPRISE_FORMAT_RANDOM_PHILOX_H_
#define REPRISE_FORMAT_RANDOM_PHILOX_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace reprise {

inline constexpr absl::string_view kPhilox4x32_10 = "philox4x32-10";

// One block: four words from a 128-bit counter and a 64-bit key, word 0 least
// significant. Pure, thread-safe.
std::array<uint32_t, 4> Philox4x32Ten(std::array<uint32_t, 4> counter,
                                      std::array<uint32_t, 2> key);

// What a stream's numbers are for; streams of different purposes never share
// numbers. Values are part of the specification: added, never changed.
enum class StreamPurpose : uint64_t {
  kAugmentation = 1,
  kSyntheticSample = 2,
  kSyntheticPattern = 3,
};

// Not thread-safe; construction costs a few multiplications, so make one where
// it is used.
class Stream {
 public:
  Stream(uint64_t seed, StreamPurpose purpose, uint64_t epoch, uint64_t sample);

  uint32_t NextU32();
  // Two words, the less significant one first.
  uint64_t NextU64();
  // Uniform in [0, bound), without bias (multiply-shift with rejection, so a
  // call may take more than one word). REQUIRES: bound >= 1.
  uint32_t UniformU32Below(uint32_t bound);
  // Uniform multiple of 2^-53 in [0, 1).
  double UniformDouble();

 private:
  std::array<uint32_t, 2> key_;
  uint64_t sample_;
  uint64_t next_block_ = 0;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;  // words of block_ already handed out
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_RANDOM_PHILOX_H_
