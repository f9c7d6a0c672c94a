#include "trainer/optim/ema.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/torch_tensor.h"

namespace reprise {

Ema::Ema(const std::vector<NamedTensor>& parameters, double decay,
         std::string ramp)
    : parameters_(parameters), decay_(decay), ramp_(std::move(ramp)) {
  for (const NamedTensor& p : parameters_) {
    averages_.push_back({p.name, p.tensor.detach().clone()});
  }
}

double Ema::NextDecay() const {
  if (ramp_.empty()) return decay_;
  const double n = static_cast<double>(updates_);
  return std::min(decay_, (1 + n) / (10 + n));
}

void Ema::Update() {
  const at::NoGradGuard no_grad;
  const double weight = 1 - NextDecay();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    averages_[i].tensor.lerp_(parameters_[i].tensor, weight);
  }
  ++updates_;
}

absl::Status Ema::Load(const EmaState& state, std::vector<Tensor> weights) {
  if (!state.ramp.empty() && state.ramp != kEmaRampV1) {
    return absl::InvalidArgumentError(
        absl::StrCat("ema.config: expected ramp ", kEmaRampV1,
                     " or none, found \"", state.ramp, "\""));
  }
  const at::NoGradGuard no_grad;
  if (weights.empty() && state.updates == 0) {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      averages_[i].tensor.copy_(parameters_[i].tensor.detach());
    }
  } else {
    absl::flat_hash_map<std::string, Tensor*> by_name;
    for (Tensor& tensor : weights) by_name[tensor.name()] = &tensor;
    for (const NamedTensor& average : averages_) {
      const auto found = by_name.find(average.name);
      if (found == by_name.end()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "ema.weights: the checkpoint has no average of ", average.name));
      }
      if (auto s = CopyInto(*found->second, average.tensor); !s.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("ema.weights: ", s.message()));
      }
      *found->second = Tensor();
      by_name.erase(found);
    }
    if (!by_name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("ema.weights: the checkpoint has an average of ",
                       by_name.begin()->first, ", which the model has not"));
    }
  }
  decay_ = state.decay;
  ramp_ = state.ramp;
  updates_ = state.updates;
  return absl::OkStatus();
}

}  // namespace reprise
