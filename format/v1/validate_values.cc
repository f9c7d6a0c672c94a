// Rules of schedule, scaler, data, generators, configuration and environment.
#include <cmath>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "format/v1/validate.h"
#include "format/v1/validate_internal.h"

namespace reprise {
namespace v1_internal {

absl::Status ValidateSchedule(const Snapshot& snapshot) {
  absl::Status status =
      CheckGroupPresence(snapshot,
                         {Item::SCHED_DEFINITION, Item::SCHED_POSITION,
                          Item::SCHED_UNIT, Item::SCHED_HORIZON},
                         snapshot.schedule.has_value(), "the schedule");
  if (!status.ok() || !snapshot.schedule.has_value()) return status;
  const ScheduleState& schedule = *snapshot.schedule;
  if (IsSaved(snapshot, Item::SCHED_UNIT) &&
      (schedule.unit < ScheduleState::Unit::kApplied ||
       schedule.unit > ScheduleState::Unit::kEpochs)) {
    return Invalid(
        Item::SCHED_UNIT,
        absl::StrCat("unit ", static_cast<int>(schedule.unit), " is not one"));
  }
  if (IsSaved(snapshot, Item::SCHED_HORIZON) && schedule.horizon == 0) {
    return Invalid(Item::SCHED_HORIZON, "expected at least 1, found 0");
  }
  if (!IsSaved(snapshot, Item::SCHED_DEFINITION)) return absl::OkStatus();
  if (schedule.form.empty()) {
    return Missing(Item::SCHED_DEFINITION, "field schedule.form is absent");
  }
  if (IsSaved(snapshot, Item::SCHED_HORIZON) &&
      schedule.warmup > schedule.horizon) {
    return Invalid(
        Item::SCHED_DEFINITION,
        absl::StrCat("warm-up ", schedule.warmup,
                     " is longer than the horizon ", schedule.horizon));
  }
  if (!(schedule.final_fraction >= 0 && schedule.final_fraction <= 1)) {
    return Invalid(Item::SCHED_DEFINITION,
                   absl::StrCat("final fraction ", schedule.final_fraction,
                                " is not in [0, 1]"));
  }
  return absl::OkStatus();
}

absl::Status ValidateScaler(const Snapshot& snapshot) {
  absl::Status status = CheckGroupPresence(
      snapshot,
      {Item::SCALER_SCALE, Item::SCALER_GROWTH_TRACKER, Item::SCALER_CONFIG},
      snapshot.scaler.has_value(), "the gradient scaler");
  if (!status.ok() || !snapshot.scaler.has_value()) return status;
  const GradScalerState& scaler = *snapshot.scaler;
  if (IsSaved(snapshot, Item::SCALER_SCALE) &&
      !(scaler.scale > 0 && std::isfinite(scaler.scale))) {
    return Invalid(
        Item::SCALER_SCALE,
        absl::StrCat("scale ", scaler.scale, " is not positive and finite"));
  }
  if (!IsSaved(snapshot, Item::SCALER_CONFIG)) return absl::OkStatus();
  if (scaler.growth_interval == 0) {
    return Invalid(Item::SCALER_CONFIG,
                   "growth interval: expected at least 1, found 0");
  }
  if (IsSaved(snapshot, Item::SCALER_GROWTH_TRACKER) &&
      scaler.growth_tracker >= scaler.growth_interval) {
    return Invalid(Item::SCALER_GROWTH_TRACKER,
                   absl::StrCat("expected less than the growth interval ",
                                scaler.growth_interval, ", found ",
                                scaler.growth_tracker));
  }
  if (!(scaler.growth_factor > 1 && std::isfinite(scaler.growth_factor))) {
    return Invalid(Item::SCALER_CONFIG,
                   absl::StrCat("growth factor ", scaler.growth_factor,
                                " is not above 1 and finite"));
  }
  if (!(scaler.backoff_factor > 0 && scaler.backoff_factor < 1)) {
    return Invalid(Item::SCALER_CONFIG,
                   absl::StrCat("backoff factor ", scaler.backoff_factor,
                                " is not in (0, 1)"));
  }
  if (!(scaler.min_scale >= 0 && std::isfinite(scaler.min_scale))) {
    return Invalid(Item::SCALER_CONFIG,
                   absl::StrCat("smallest scale ", scaler.min_scale,
                                " is not finite and at least 0"));
  }
  if (scaler.arithmetic.empty()) {
    return Missing(Item::SCALER_CONFIG, "field scaler.arithmetic is absent");
  }
  return absl::OkStatus();
}

absl::Status ValidateSampler(const Snapshot& snapshot) {
  absl::Status status = CheckGroupPresence(
      snapshot,
      {Item::SAMPLER_ALGORITHM, Item::SAMPLER_SEED, Item::SAMPLER_CURSOR,
       Item::SAMPLER_ORDER, Item::DATA_BATCH, Item::RNG_DATA},
      snapshot.sampler.has_value(), "the sampler");
  if (!status.ok() || !snapshot.sampler.has_value()) return status;
  const SamplerState& sampler = *snapshot.sampler;
  if (IsSaved(snapshot, Item::SAMPLER_ALGORITHM) && sampler.algorithm.empty()) {
    return Missing(Item::SAMPLER_ALGORITHM,
                   "field sampler.algorithm is absent");
  }
  if (IsSaved(snapshot, Item::RNG_DATA) && sampler.stream_algorithm.empty()) {
    return Missing(Item::RNG_DATA, "field sampler.stream_algorithm is absent");
  }
  const bool batch = IsSaved(snapshot, Item::DATA_BATCH);
  const bool order = IsSaved(snapshot, Item::SAMPLER_ORDER);
  if (batch && sampler.batch_size == 0) {
    return Invalid(Item::DATA_BATCH,
                   "batch size: expected at least 1, found 0");
  }
  if (batch && order && sampler.dataset_size < sampler.batch_size) {
    return Invalid(
        Item::SAMPLER_ORDER,
        absl::StrCat("the data set has ", sampler.dataset_size,
                     " samples, fewer than one batch of ", sampler.batch_size));
  }
  if (!IsSaved(snapshot, Item::SAMPLER_CURSOR)) return absl::OkStatus();
  if (!batch || !order) {
    return Missing(batch ? Item::SAMPLER_ORDER : Item::DATA_BATCH,
                   "version 1 stores sampler.cursor as epoch and batch, which "
                   "mean nothing without it");
  }
  if (sampler.cursor % sampler.batch_size != 0) {
    return Invalid(Item::SAMPLER_CURSOR,
                   absl::StrCat(sampler.cursor,
                                " samples trained are no whole batches of ",
                                sampler.batch_size));
  }
  return absl::OkStatus();
}

absl::Status ValidateGenerators(const Snapshot& snapshot) {
  std::set<absl::string_view> names;
  bool cpu = false;
  bool cuda = false;
  for (const GeneratorState& generator : snapshot.generators) {
    const bool is_cpu = generator.name == "cpu";
    const bool is_cuda = absl::StartsWith(generator.name, "cuda:");
    const Item item = is_cuda ? Item::RNG_CUDA : Item::RNG_CPU;
    if (!is_cpu && !is_cuda) {
      return Invalid(item, absl::StrCat("generator \"", generator.name,
                                        "\": expected cpu or cuda:<index>"));
    }
    absl::Status status = CheckName(item, "generator", generator.name);
    if (!status.ok()) return status;
    if (!names.insert(generator.name).second) {
      return Invalid(
          item, absl::StrCat("two generators are called ", generator.name));
    }
    if (generator.state.empty() || generator.algorithm.empty() ||
        generator.library.empty()) {
      return Missing(item, absl::StrCat("generator ", generator.name,
                                        " lacks its state, algorithm or "
                                        "library"));
    }
    cpu |= is_cpu;
    cuda |= is_cuda;
  }
  absl::Status status =
      CheckGroupPresence(snapshot, {Item::RNG_CPU}, cpu, "generator cpu");
  if (!status.ok()) return status;
  return CheckGroupPresence(snapshot, {Item::RNG_CUDA}, cuda,
                            "a generator cuda:<index>");
}

absl::Status ValidateConfig(const Snapshot& snapshot) {
  absl::Status status = CheckGroupPresence(
      snapshot, {Item::CONFIG}, !snapshot.config.empty(), "the configuration");
  if (!status.ok()) return status;
  if (IsSaved(snapshot, Item::CLIP) && snapshot.config.empty()) {
    return Missing(Item::CLIP,
                   "version 1 keeps it in the configuration, which "
                   "is not there");
  }
  std::set<absl::string_view> paths;
  for (const ConfigField& field : snapshot.config) {
    status = CheckName(Item::CONFIG, "field", field.path);
    if (!status.ok()) return status;
    if (!paths.insert(field.path).second) {
      return Invalid(Item::CONFIG, absl::StrCat(field.path, " comes twice"));
    }
    if (field.rule != ResumeRule::MUST_MATCH &&
        field.rule != ResumeRule::MAY_CHANGE &&
        field.rule != ResumeRule::RECORDED) {
      return Invalid(Item::CONFIG,
                     absl::StrCat(field.path, ": ", TextOf(field.rule),
                                  " is no resume rule"));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateEnvironment(const Snapshot& snapshot) {
  absl::Status status =
      CheckGroupPresence(snapshot, {Item::ENVIRONMENT, Item::PRECISION_FLAGS},
                         snapshot.environment.has_value(), "the environment");
  if (!status.ok() || !snapshot.environment.has_value()) return status;
  const EnvironmentState& environment = *snapshot.environment;
  if (IsSaved(snapshot, Item::PRECISION_FLAGS) &&
      environment.autocast_dtype.empty()) {
    return Missing(Item::PRECISION_FLAGS,
                   "field environment.autocast_dtype is absent");
  }
  if (!IsSaved(snapshot, Item::ENVIRONMENT)) return absl::OkStatus();
  if (environment.level != ResumeLevel::BITWISE &&
      environment.level != ResumeLevel::SAME_ORDER &&
      environment.level != ResumeLevel::STATISTICAL) {
    return Invalid(Item::ENVIRONMENT, absl::StrCat(TextOf(environment.level),
                                                   " is no resume level"));
  }
  if (environment.device.empty()) {
    return Missing(Item::ENVIRONMENT, "field environment.device is absent");
  }
  if (environment.threads == 0 || environment.world_size == 0) {
    return Invalid(
        Item::ENVIRONMENT,
        absl::StrCat("threads ", environment.threads, " and world size ",
                     environment.world_size, " must be at least 1"));
  }
  if (environment.kernel_probe.size() != 16) {
    return Invalid(Item::ENVIRONMENT,
                   absl::StrCat("kernel probe: expected 16 bytes, found ",
                                environment.kernel_probe.size()));
  }
  return absl::OkStatus();
}

}  // namespace v1_internal
}  // namespace reprise
