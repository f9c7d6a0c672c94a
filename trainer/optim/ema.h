// Exponential moving average of parameters.
#ifndef REPRISE_TRAINER_OPTIM_EMA_H_
#define REPRISE_TRAINER_OPTIM_EMA_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "trainer/model/model.h"

namespace reprise {

// Keeps average = average + (1 - decay) * (parameter - average), with PyTorch's
// lerp arithmetic (torch.optim.swa_utils.get_ema_avg_fn). Starts as a copy.
// Not thread-safe.
class Ema {
 public:
  // decay in [0, 1).
  Ema(const std::vector<NamedTensor>& parameters, double decay);

  // Takes the parameters' present values in; call it after an applied step.
  void Update();

  // Applied steps taken in.
  uint64_t updates() const { return updates_; }
  // Same names and shapes as the parameters.
  const std::vector<NamedTensor>& averages() const { return averages_; }

 private:
  const std::vector<NamedTensor> parameters_;
  const double decay_;
  std::vector<NamedTensor> averages_;
  uint64_t updates_ = 0;
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_OPTIM_EMA_H_
