// Gradient norm and clipping, with the arithmetic of PyTorch's clip_grad_norm_
// and clip_grad_value_.
//
//   const std::vector<at::Tensor> stepped =
//       optimizer->StepTensors(model->Parameters());
//   reprise::ClipGradients(stepped, reprise::GradientNorm(stepped), 1.0);
//
// Not thread-safe: the gradients change in place.
#ifndef REPRISE_TRAINER_OPTIM_CLIP_H_
#define REPRISE_TRAINER_OPTIM_CLIP_H_

#include <ATen/core/Tensor.h>

#include <vector>

namespace reprise {

// L2 norm over all gradients together, f32 scalar: the norm of the norms.
// Parameters without a gradient are passed over; 0 when none has one.
at::Tensor GradientNorm(const std::vector<at::Tensor>& parameters);

// Multiplies every gradient by min(1, max_norm / (norm + 1e-6)); `norm` is what
// GradientNorm gave. REQUIRES: max_norm > 0.
void ClipGradients(const std::vector<at::Tensor>& parameters,
                   const at::Tensor& norm, double max_norm);

// Clamps every element of every gradient to [-limit, limit]. REQUIRES:
// limit > 0.
void ClipGradientsByValue(const std::vector<at::Tensor>& parameters,
                          double limit);

}  // namespace reprise

#endif  // REPRISE_TRAINER_OPTIM_CLIP_H_
