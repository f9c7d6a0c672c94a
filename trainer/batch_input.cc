#include "trainer/batch_input.h"

#include <ATen/ops/empty.h>

namespace reprise {

Input MakeInput(const Dataset& dataset, const std::vector<uint64_t>& ids,
                uint64_t epoch, uint64_t seed, Augment augment,
                at::Device device) {
  const int64_t n = ids.size();
  at::Tensor images = at::empty(
      {n, dataset.channels, dataset.height, dataset.width}, at::kFloat);
  at::Tensor labels = at::empty({n}, at::kLong);
  FillBatch(dataset, ids, epoch, seed, augment, images.mutable_data_ptr<float>(),
            labels.mutable_data_ptr<int64_t>());
  return {images.to(device), labels.to(device)};
}

Augment AugmentOf(const trainer::v1::TrainerConfig& config) {
  return config.data().augment() ? Augment::kShift2FlipV1 : Augment::kNone;
}

at::ScalarType AutocastDType(const trainer::v1::PrecisionConfig& precision) {
  if (precision.mode() == "fp16") return at::kHalf;
  if (precision.mode() == "bf16") return at::kBFloat16;
  return at::kFloat;
}

}  // namespace reprise
