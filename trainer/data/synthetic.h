// MakeSynthetic: images that a small model learns quickly (`synthetic-v1`).
//
//   reprise::MakeSyntheticOptions options;
//   options.size = 1000;
//   reprise::Dataset data = reprise::MakeSynthetic(options);
//
// Each class has a random pattern of 4 x 4 blocks; a sample is the pattern of
// its class, shifted by up to two pixels, under noise. All samples are pure
// functions of (seed, split, index): the first 100 of 1000 are the 100 of 100.
// Specified with vectors in spec/ALGORITHMS.md.
#ifndef REPRISE_TRAINER_DATA_SYNTHETIC_H_
#define REPRISE_TRAINER_DATA_SYNTHETIC_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "trainer/data/dataset.h"

namespace reprise {

inline constexpr absl::string_view kSyntheticV1 = "synthetic-v1";

struct MakeSyntheticOptions {
  int64_t size = 1000;  // samples, >= 0
  uint64_t seed = 1;
  // Both splits share the patterns of the classes and no sample.
  Split split = Split::kTrain;
  int64_t height = 28;   // >= 1
  int64_t width = 28;    // >= 1
  int64_t classes = 10;  // 1 to 256
};

// One channel. Takes a few microseconds a sample. Thread-safe.
Dataset MakeSynthetic(const MakeSyntheticOptions& options);

}  // namespace reprise

#endif  // REPRISE_TRAINER_DATA_SYNTHETIC_H_
