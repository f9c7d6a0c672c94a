#include "trainer/optim/ema.h"

#include <ATen/core/grad_mode.h>

namespace reprise {

Ema::Ema(const std::vector<NamedTensor>& parameters, double decay)
    : parameters_(parameters), decay_(decay) {
  for (const NamedTensor& p : parameters_) {
    averages_.push_back({p.name, p.tensor.detach().clone()});
  }
}

void Ema::Update() {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    averages_[i].tensor.lerp_(parameters_[i].tensor, 1 - decay_);
  }
  ++updates_;
}

}  // namespace reprise
