#include "conformance/judge/count_fault.h"

#include <cmath>
#include <vector>

namespace reprise::conformance {

Fault CountFault(const Workload& workload, uint64_t resumed_step, Item item,
                 double found, double expected) {
  const double epoch_samples =
      static_cast<double>(workload.epoch_steps * workload.step_samples);
  if (item == Item::SAMPLER_CURSOR && epoch_samples > 0) {
    const double epoch_start =
        std::floor(expected / epoch_samples) * epoch_samples;
    const bool at_boundary = epoch_start == expected && expected > 0;
    if (at_boundary && std::abs(found - expected) == epoch_samples) {
      return Fault::FAULT_EPOCH_END;
    }
    if (found == epoch_start || found == 0) return Fault::FAULT_RESET;
  } else if (found == 0) {
    return Fault::FAULT_RESET;
  }
  // Whole steps taken for micro-steps.
  if (item == Item::SAMPLER_CURSOR && workload.accumulation > 1 &&
      resumed_step > 0 &&
      found == static_cast<double>(resumed_step * workload.step_samples) /
                   static_cast<double>(workload.accumulation)) {
    return Fault::FAULT_UNIT;
  }
  // Counted in another unit: micro-steps, samples, epochs. The epoch may be
  // the one begun or the ones completed.
  std::vector<double> factors;
  if (workload.accumulation > 1) {
    factors.push_back(static_cast<double>(workload.accumulation));
  }
  if (workload.step_samples > 1) {
    factors.push_back(static_cast<double>(workload.step_samples));
    factors.push_back(static_cast<double>(workload.step_samples) /
                      static_cast<double>(workload.accumulation));
  }
  for (double factor : factors) {
    if (factor <= 1) continue;
    if (found == expected * factor || found * factor == expected ||
        (item != Item::SAMPLER_CURSOR &&
         found == std::floor(expected / factor))) {
      return Fault::FAULT_UNIT;
    }
  }
  if (item == Item::SCHED_POSITION && workload.epoch_steps > 1) {
    const double epochs = expected / static_cast<double>(workload.epoch_steps);
    if (found == std::floor(epochs) || found == std::floor(epochs) + 1) {
      // One of few small numbers is a lag only when it is near.
      if (expected - found > 1) return Fault::FAULT_UNIT;
    }
  }
  return found < expected ? Fault::FAULT_LAG : Fault::FAULT_LEAD;
}

bool WholeEpochs(const Workload& workload, double found, double saved) {
  const double epoch =
      static_cast<double>(workload.epoch_steps * workload.step_samples);
  return epoch > 0 && std::fmod(std::abs(found - saved), epoch) == 0;
}

}  // namespace reprise::conformance
