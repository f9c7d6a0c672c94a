// Dynamic loss scaling for half-precision training, with PyTorch's arithmetic
// (the same operators) and a state that can be saved and loaded.
//
//   amp::GradScaler scaler({.init_scale = 65536.0f, .growth_interval = 2000});
//   scaler.Scale(loss).backward();
//   RETURN_IF_ERROR(scaler.Unscale(parameters));   // sets found_inf()
//   if (!scaler.found_inf()) optimizer.Step();
//   scaler.Update();
//
// A scale that is too large overflows fp16 gradients to infinity: such a step
// is skipped and the scale shrinks; after `growth_interval` good steps it
// grows. The scale and the count of good steps are training state: losing
// either makes a resumed run another run.
#ifndef REPRISE_TRAINER_AMP_GRAD_SCALER_H_
#define REPRISE_TRAINER_AMP_GRAD_SCALER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "format/snapshot.h"

namespace reprise::amp {

// Id of the operations that decide the bits (spec/ALGORITHMS.md).
inline constexpr char kGradScalerV1[] = "grad-scaler-v1";

// Not thread-safe. Gradients must all lie on the scaler's device.
class GradScaler {
 public:
  struct Options {
    float init_scale = 65536.0f;      // > 0, finite
    double growth_factor = 2.0;       // > 1
    double backoff_factor = 0.5;      // in (0, 1)
    uint32_t growth_interval = 2000;  // good steps, >= 1
    double min_scale = 0;             // BelowMinimum() is true under it; >= 0
  };

  GradScaler(const Options& options, at::Device device);

  // loss * scale, on the graph.
  at::Tensor Scale(const at::Tensor& loss) const;

  // Divides the gradients of `parameters` by the scale in place and notes
  // whether any element is infinite or NaN. Parameters without a gradient are
  // passed over. The inverse is float(1 / double(scale)). Errors:
  // InvalidArgument for an fp16 gradient (its fp32 parameter is missing) and
  // FailedPrecondition when called twice in one step.
  absl::Status Unscale(const std::vector<at::Tensor>& parameters);

  // Whether the last Unscale found a non-finite element.
  bool found_inf() const { return found_inf_; }

  // Shrinks, grows or keeps the scale after the step; ends the step.
  void Update();

  float scale() const;
  uint32_t growth_tracker() const;
  bool BelowMinimum() const { return scale() < options_.min_scale; }

  GradScalerState state() const;
  // Replaces scale, tracker and configuration. Has no side effect on either:
  // save, load, save gives the same state. Errors: InvalidArgument for another
  // arithmetic, a scale that is not positive and finite or a tracker >=
  // interval; nothing is changed then.
  absl::Status Load(const GradScalerState& state);

 private:
  Options options_;
  at::Tensor scale_;           // f32 [1]
  at::Tensor growth_tracker_;  // i32 [1]
  bool unscaled_ = false;
  bool found_inf_ = false;
};

}  // namespace reprise::amp

#endif  // REPRISE_TRAINER_AMP_GRAD_SCALER_H_
