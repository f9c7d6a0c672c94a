// Exponential moving average of parameters.
#ifndef REPRISE_TRAINER_OPTIM_EMA_H_
#define REPRISE_TRAINER_OPTIM_EMA_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "format/snapshot.h"
#include "trainer/model/model.h"

namespace reprise {

// Id of the ramp by which the decay begins (spec/ALGORITHMS.md): update n, from
// 0, has the decay min(decay, (1 + n) / (10 + n)), in IEEE double.
inline constexpr char kEmaRampV1[] = "ema-ramp-v1";

// Keeps average = average + (1 - decay) * (parameter - average), with PyTorch's
// lerp arithmetic (torch.optim.swa_utils.get_ema_avg_fn). Starts as a copy.
// Not thread-safe.
class Ema {
 public:
  // decay in [0, 1); `ramp` is kEmaRampV1 or empty (none).
  Ema(const std::vector<NamedTensor>& parameters, double decay,
      std::string ramp = "");

  // Takes the parameters' present values in; call it after an applied step.
  void Update();

  // Of the next update.
  double NextDecay() const;
  // Applied steps taken in.
  uint64_t updates() const { return updates_; }
  // Same names and shapes as the parameters.
  const std::vector<NamedTensor>& averages() const { return averages_; }

  EmaState state() const { return {decay_, ramp_, updates_}; }
  // Replaces configuration, count and averages; without updates, and then
  // without `weights`, the averages are the parameters as they are now. Errors:
  // InvalidArgument naming the item and the parameter.
  // Weights are let go of as they are copied.
  absl::Status Load(const EmaState& state, std::vector<Tensor> weights);

 private:
  const std::vector<NamedTensor> parameters_;
  double decay_;
  std::string ramp_;
  std::vector<NamedTensor> averages_;
  uint64_t updates_ = 0;
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_OPTIM_EMA_H_
