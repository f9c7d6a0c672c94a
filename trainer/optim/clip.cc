#include "trainer/optim/clip.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace reprise {

at::Tensor GradientNorm(const std::vector<at::Tensor>& parameters) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> norms;
  for (const at::Tensor& p : parameters) {
    if (p.grad().defined()) norms.push_back(at::linalg_vector_norm(p.grad()));
  }
  if (norms.empty()) return at::zeros({}, at::kFloat);
  return at::linalg_vector_norm(at::stack(norms));
}

void ClipGradients(const std::vector<at::Tensor>& parameters,
                   const at::Tensor& norm, double max_norm) {
  const at::NoGradGuard no_grad;
  const at::Tensor factor = (max_norm / (norm + 1e-6)).clamp_max(1.0);
  for (const at::Tensor& p : parameters) {
    if (p.grad().defined()) p.mutable_grad().mul_(factor);
  }
}

void ClipGradientsByValue(const std::vector<at::Tensor>& parameters,
                          double limit) {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& p : parameters) {
    if (p.grad().defined()) p.mutable_grad().clamp_(-limit, limit);
  }
}

}  // namespace reprise
