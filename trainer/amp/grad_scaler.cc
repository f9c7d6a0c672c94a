#include "trainer/amp/grad_scaler.h"

#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "absl/strings/str_cat.h"

namespace reprise::amp {

GradScaler::GradScaler(const Options& options, at::Device device)
    : options_(options),
      scale_(at::full({1}, options.init_scale,
                      at::TensorOptions(at::kFloat).device(device))),
      growth_tracker_(
          at::zeros({1}, at::TensorOptions(at::kInt).device(device))) {}

at::Tensor GradScaler::Scale(const at::Tensor& loss) const {
  return loss.mul(scale_.squeeze());
}

absl::Status GradScaler::Unscale(const std::vector<at::Tensor>& parameters) {
  if (unscaled_) {
    return absl::FailedPreconditionError(
        "GradScaler: Unscale was already called in this step; call Update "
        "before the next one");
  }
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters) {
    const at::Tensor& gradient = parameter.grad();
    if (!gradient.defined()) continue;
    if (gradient.scalar_type() == at::kHalf) {
      return absl::InvalidArgumentError(
          "GradScaler: expected gradients of fp32 parameters, found an fp16 "
          "gradient; keep fp32 parameters and let autocast compute in fp16");
    }
    gradients.push_back(gradient);
  }
  // A fresh zero every step: the operator only ever sets it.
  at::Tensor found_inf = at::zeros({1}, scale_.options());
  const at::Tensor inverse_scale =
      scale_.to(at::kDouble).reciprocal().to(at::kFloat);
  if (!gradients.empty()) {
    at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf,
                                                   inverse_scale);
  }
  found_inf_ = found_inf.item<float>() != 0;
  unscaled_ = true;
  return absl::OkStatus();
}

void GradScaler::Update() {
  const at::Tensor found_inf =
      at::full({1}, found_inf_ ? 1.0f : 0.0f, scale_.options());
  at::_amp_update_scale_(scale_, growth_tracker_, found_inf,
                         options_.growth_factor, options_.backoff_factor,
                         options_.growth_interval);
  unscaled_ = false;
  found_inf_ = false;
}

float GradScaler::scale() const { return scale_.item<float>(); }

uint32_t GradScaler::growth_tracker() const {
  return growth_tracker_.item<int32_t>();
}

GradScalerState GradScaler::state() const {
  GradScalerState state;
  state.scale = scale();
  state.growth_tracker = growth_tracker();
  state.growth_interval = options_.growth_interval;
  state.growth_factor = options_.growth_factor;
  state.backoff_factor = options_.backoff_factor;
  state.min_scale = options_.min_scale;
  state.arithmetic = kGradScalerV1;
  return state;
}

absl::Status GradScaler::Load(const GradScalerState& state) {
  if (state.arithmetic != kGradScalerV1) {
    return absl::InvalidArgumentError(
        absl::StrCat("scaler.config: expected arithmetic ", kGradScalerV1,
                     ", found \"", state.arithmetic, "\""));
  }
  if (!(state.scale > 0) || !std::isfinite(state.scale)) {
    return absl::InvalidArgumentError(
        absl::StrCat("scaler.scale: expected a positive finite number, found ",
                     state.scale));
  }
  if (state.growth_tracker >= state.growth_interval) {
    return absl::InvalidArgumentError(absl::StrCat(
        "scaler.growth_tracker: expected less than the growth interval ",
        state.growth_interval, ", found ", state.growth_tracker));
  }
  options_.growth_factor = state.growth_factor;
  options_.backoff_factor = state.backoff_factor;
  options_.growth_interval = state.growth_interval;
  options_.min_scale = state.min_scale;
  scale_.fill_(state.scale);
  growth_tracker_.fill_(static_cast<int32_t>(state.growth_tracker));
  return absl::OkStatus();
}

}  // namespace reprise::amp
