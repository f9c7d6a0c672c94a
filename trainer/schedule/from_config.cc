#include "trainer/schedule/from_config.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace reprise {

absl::StatusOr<Schedule> ScheduleFromConfig(
    const trainer::v1::ScheduleConfig& config, const RunLength& length) {
  Schedule::Definition definition;
  definition.form = config.form();
  uint64_t whole = length.steps;
  if (config.unit() == "applied") {
    definition.unit = ScheduleState::Unit::kApplied;
  } else if (config.unit() == "attempted") {
    definition.unit = ScheduleState::Unit::kAttempted;
  } else if (config.unit() == "samples") {
    definition.unit = ScheduleState::Unit::kSamples;
    whole = length.samples;
  } else if (config.unit() == "epochs") {
    definition.unit = ScheduleState::Unit::kEpochs;
    whole = length.epochs;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("schedule.unit: expected applied, attempted, samples or "
                     "epochs, found \"",
                     config.unit(), "\""));
  }
  definition.warmup = config.warmup();
  definition.horizon = config.horizon() != 0 ? config.horizon() : whole;
  definition.final_fraction = config.final_fraction();

  auto& parameters = definition.parameters;
  if (config.form() == kStepV1) {
    const uint64_t decay = definition.horizon > definition.warmup
                               ? definition.horizon - definition.warmup
                               : 1;
    parameters["step_size"] = static_cast<double>(
        config.step_size() != 0 ? config.step_size()
                                : std::max<uint64_t>(1, decay / 3));
  }
  if (config.form() == kStepV1 || config.form() == kExponentialV1) {
    parameters["gamma"] = config.gamma();
  }
  if (config.form() == kOneCycleV1) {
    parameters["start_fraction"] = config.start_fraction();
    parameters["momentum_low"] = config.momentum_low();
    parameters["momentum_high"] = config.momentum_high();
  }
  if (config.form() == kPlateauV1) {
    parameters["reduction"] = config.reduction();
    parameters["patience"] = static_cast<double>(config.patience());
    parameters["cooldown"] = static_cast<double>(config.cooldown());
    parameters["threshold"] = config.threshold();
    parameters["higher_is_better"] = config.metric() == "accuracy" ? 1 : 0;
  }
  return Schedule::Create(std::move(definition));
}

}  // namespace reprise
