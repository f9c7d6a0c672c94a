// FillBatch: from 8-bit images to the model's input, with the augmentation
// `shift2-flip-v1`.
//
//   std::vector<float> images(ids.size() * data.image_bytes());
//   std::vector<int64_t> labels(ids.size());
//   reprise::FillBatch(data, ids, /*epoch=*/0, /*seed=*/1,
//                      reprise::Augment::kShift2FlipV1, images.data(),
//                      labels.data());
//
// A sample's augmentation is a pure function of (seed, epoch, sample id): the
// batch it is in, its place there, workers and threads change nothing.
// Specified with vectors in spec/ALGORITHMS.md.
#ifndef REPRISE_TRAINER_DATA_AUGMENT_H_
#define REPRISE_TRAINER_DATA_AUGMENT_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "trainer/data/dataset.h"

namespace reprise {

inline constexpr absl::string_view kShift2FlipV1 = "shift2-flip-v1";

enum class Augment { kNone, kShift2FlipV1 };

// Mean and standard deviation of the training pixels of Fashion-MNIST, as
// fractions of 255; used for every data set. A pixel p becomes
// (p / 255 - kPixelMean) / kPixelStd, computed in double and rounded once.
inline constexpr double kPixelMean = 0.2860;
inline constexpr double kPixelStd = 0.3530;

// What shift2-flip-v1 does to one sample: mirror left and right, then move by
// (dx, dy) pixels to the right and down; what comes in from outside is pixel 0.
struct Shift2Flip {
  int dx = 0;  // -2 to 2
  int dy = 0;  // -2 to 2
  bool mirror = false;
};
Shift2Flip DrawShift2Flip(uint64_t seed, uint64_t epoch, uint64_t sample);

// Writes the samples `ids` to images [B, C, H, W] (row-major) and labels [B],
// B = ids.size(). Writes nothing else; safe to call from several threads on
// disjoint output. REQUIRES: every id < dataset.size. With kNone, `epoch` and
// `seed` are not used.
void FillBatch(const Dataset& dataset, const std::vector<uint64_t>& ids,
               uint64_t epoch, uint64_t seed, Augment augment, float* images,
               int64_t* labels);

}  // namespace reprise

#endif  // REPRISE_TRAINER_DATA_AUGMENT_H_
