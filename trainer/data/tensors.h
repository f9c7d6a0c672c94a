// ToTensors: from a batch in host memory to the model's input on a device.
//
//   const reprise::BatchTensors batch =
//       reprise::ToTensors(*loader.Get(sampler), data, device);
//   at::Tensor loss = reprise::MeanLoss(model->Forward(batch.input),
//                                       batch.labels);
//
// Legend: B samples, C channels, H height, W width, T sequence length.
#ifndef REPRISE_TRAINER_DATA_TENSORS_H_
#define REPRISE_TRAINER_DATA_TENSORS_H_

#include <ATen/core/Tensor.h>

#include "trainer/data/dataset.h"
#include "trainer/data/host_batch.h"

namespace reprise {

struct BatchTensors {
  at::Tensor input;   // images f32 [B, C, H, W], or text i64 [B, T]
  at::Tensor labels;  // i64 [B], of text [B, T]
};

// Copies of the batch: it may change afterwards. `data` gives the shapes.
// Thread-safe.
BatchTensors ToTensors(const HostBatch& batch, const Dataset& data,
                       at::Device device);

}  // namespace reprise

#endif  // REPRISE_TRAINER_DATA_TENSORS_H_
