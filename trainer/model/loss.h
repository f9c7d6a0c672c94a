// The loss of images and of text alike: cross entropy, its mean over all
// predictions.
//
//   at::Tensor loss = reprise::MeanLoss(model->Forward(input), labels);
//   int64_t right = reprise::CountRight(logits, labels);  // of labels.numel()
//
// A prediction is that of an image, or of one byte of a sequence. Thread-safe.
#ifndef REPRISE_TRAINER_MODEL_LOSS_H_
#define REPRISE_TRAINER_MODEL_LOSS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace reprise {

// logits f32 [B, K] or [B, T, K], labels i64 [B] or [B, T]; f32 scalar, on the
// graph.
at::Tensor MeanLoss(const at::Tensor& logits, const at::Tensor& labels);

// How many labels have the largest logit.
int64_t CountRight(const at::Tensor& logits, const at::Tensor& labels);

}  // namespace reprise

#endif  // REPRISE_TRAINER_MODEL_LOSS_H_
