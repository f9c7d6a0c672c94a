// From sample ids to what the model takes.
#ifndef REPRISE_TRAINER_BATCH_INPUT_H_
#define REPRISE_TRAINER_BATCH_INPUT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "reprise/trainer/config/v1/trainer_config.pb.h"
#include "trainer/data/augment.h"
#include "trainer/data/dataset.h"

namespace reprise {

// A batch on the device: f32 [B, C, H, W] and i64 [B].
struct Input {
  at::Tensor images, labels;
};

Input MakeInput(const Dataset& dataset, const std::vector<uint64_t>& ids,
                uint64_t epoch, uint64_t seed, Augment augment,
                at::Device device);

// What the configuration does to a training image.
Augment AugmentOf(const trainer::v1::TrainerConfig& config);

// What autocast computes in; kFloat: no autocast.
at::ScalarType AutocastDType(const trainer::v1::PrecisionConfig& precision);

}  // namespace reprise

#endif  // REPRISE_TRAINER_BATCH_INPUT_H_
