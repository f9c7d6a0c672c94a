// HostBatch: a batch in host memory, ready to become the model's input.
//
//   reprise::HostBatch batch;
//   reprise::FillHostBatch(data, sampler.NextBatch(), /*seed=*/1,
//                          reprise::Augment::kShift2FlipV1, &batch);
//
// A pure function of its arguments: which thread calls it, and when, changes
// nothing.
//
// Legend: B samples of the batch, C channels, H height, W width, T sequence
// length.
#ifndef REPRISE_TRAINER_DATA_HOST_BATCH_H_
#define REPRISE_TRAINER_DATA_HOST_BATCH_H_

#include <cstdint>
#include <vector>

#include "trainer/data/augment.h"
#include "trainer/data/dataset.h"
#include "trainer/data/sampler.h"

namespace reprise {

struct HostBatch {
  Batch order;
  std::vector<float> images;    // [B, C, H, W]; of text none
  std::vector<int64_t> tokens;  // [B, T]; of images none
  std::vector<int64_t> labels;  // [B], of text [B, T]
};

// Fills `batch` with the samples of `order`; its memory is used again. A
// sample's augmentation is keyed by the epoch that it belongs to. REQUIRES: the
// ids are less than data.size; `augment` is kNone for text. Thread-safe.
void FillHostBatch(const Dataset& data, Batch order, uint64_t seed,
                   Augment augment, HostBatch* batch);

}  // namespace reprise

#endif  // REPRISE_TRAINER_DATA_HOST_BATCH_H_
