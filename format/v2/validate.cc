// One function for each part of a snapshot; the optimizer has a file of its
// own.
#include "format/v2/validate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "format/v2/items.h"
#include "format/v2/names.h"
#include "format/v2/problem.h"

namespace reprise {
namespace {

using v2_internal::Invalid;
using v2_internal::Missing;

bool AllHex(absl::string_view id) {
  return std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

absl::Status CheckDigest(Item item, absl::string_view what,
                         absl::string_view digest) {
  if (digest.size() == 16) return absl::OkStatus();
  return Invalid(
      item, absl::StrCat(what, ": expected 16 bytes, found ", digest.size()));
}

absl::Status CheckAtLeast(Item item, absl::string_view what, double value,
                          double low) {
  if (std::isfinite(value) && value >= low) return absl::OkStatus();
  return Invalid(item, absl::StrCat(what, " ", value,
                                    " is not finite and at least ", low));
}

// Names of a list that must not repeat.
absl::Status CheckUnique(Item item, absl::string_view kind,
                         const std::vector<std::string>& names) {
  std::set<absl::string_view> seen;
  for (const std::string& name : names) {
    absl::Status status = CheckNameV2(kind, name);
    if (!status.ok()) return Annotate(status, TextOf(item));
    if (!seen.insert(name).second) {
      return Invalid(item, absl::StrCat("two ", kind, "s are called ", name));
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> NamesOf(const std::vector<NamedNumber>& numbers) {
  std::vector<std::string> names;
  for (const NamedNumber& number : numbers) names.push_back(number.name);
  return names;
}

absl::Status ValidateRun(const Snapshot& snapshot) {
  if (snapshot.run_id.size() != 32 || !AllHex(snapshot.run_id)) {
    return Invalid(Item::RUN, absl::StrCat("run id: expected 32 lower-case "
                                           "hexadecimal digits, found \"",
                                           snapshot.run_id, "\""));
  }
  if (snapshot.attempt == 0) {
    return Invalid(Item::RUN, "attempt: expected at least 1, found 0");
  }
  for (const MigrationRecord& step : snapshot.history) {
    if (step.to_major != step.from_major &&
        step.to_major != step.from_major + 1) {
      return Invalid(Item::RUN,
                     absl::StrCat("history: a migration from ", step.from_major,
                                  " to ", step.to_major));
    }
    absl::Status status = CheckDigest(Item::RUN, "history: source digest",
                                      step.source_manifest_digest);
    if (!status.ok()) return status;
  }
  if (!snapshot.parent.has_value()) return absl::OkStatus();
  const ParentRef& parent = *snapshot.parent;
  if (snapshot.attempt == 1) {
    return Invalid(Item::RUN,
                   "attempt 1 resumed from nothing, but a parent is recorded");
  }
  if (parent.manifest_digest.empty() && parent.value_digest.empty()) {
    return Missing(Item::RUN, "the parent has no digest");
  }
  for (const std::string* digest :
       {&parent.manifest_digest, &parent.value_digest}) {
    if (digest->empty()) continue;
    absl::Status status = CheckDigest(Item::RUN, "parent digest", *digest);
    if (!status.ok()) return status;
  }
  if (parent.step > snapshot.step) {
    return Invalid(Item::RUN, absl::StrCat("parent step ", parent.step,
                                           " lies after step ", snapshot.step));
  }
  return absl::OkStatus();
}

// Tensors and the record of their item go together.
absl::Status CheckTensorPresence(const Snapshot& snapshot, Item item,
                                 bool has_tensors) {
  if (has_tensors == IsSavedV2(snapshot, item)) return absl::OkStatus();
  if (has_tensors) {
    return Invalid(item, absl::StrCat("there are tensors, but the record says ",
                                      TextOf(snapshot.Find(item)->presence)));
  }
  return Missing(item, "recorded as SAVED, but there are no tensors");
}

using TensorsByName = std::map<absl::string_view, const Tensor*>;

// Each tensor of `list` belongs to one of `owners`, of the same shape.
absl::Status CheckBelong(Item item, const std::vector<Tensor>& list,
                         const TensorsByName& owners) {
  for (const Tensor& tensor : list) {
    auto owner = owners.find(tensor.name());
    if (owner == owners.end()) {
      return Invalid(
          item, absl::StrCat(tensor.name(), " is no parameter of the model"));
    }
    if (owner->second->shape() != tensor.shape()) {
      return Invalid(item, absl::StrCat(tensor.name(),
                                        " has another shape than the "
                                        "parameter"));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateModel(const Snapshot& snapshot) {
  absl::Status status = CheckTensorPresence(snapshot, Item::MODEL_PARAMS,
                                            !snapshot.parameters.empty());
  status.Update(CheckTensorPresence(snapshot, Item::MODEL_BUFFERS,
                                    !snapshot.buffers.empty()));
  status.Update(
      CheckTensorPresence(snapshot, Item::MASTER, !snapshot.masters.empty()));
  status.Update(CheckTensorPresence(snapshot, Item::EMA_WEIGHTS,
                                    !snapshot.ema_weights.empty()));
  status.Update(CheckTensorPresence(snapshot, Item::ACCUM_GRADS,
                                    !snapshot.gradients.empty()));
  if (!status.ok()) return status;
  TensorsByName parameters;
  for (const Tensor& tensor : snapshot.parameters) {
    if (!parameters.emplace(tensor.name(), &tensor).second) {
      return Invalid(Item::MODEL_PARAMS,
                     absl::StrCat("two tensors are called ", tensor.name()));
    }
  }
  TensorsByName all = parameters;
  for (const Tensor& tensor : snapshot.buffers) {
    if (!all.emplace(tensor.name(), &tensor).second) {
      return Invalid(Item::MODEL_BUFFERS,
                     absl::StrCat("two tensors are called ", tensor.name()));
    }
  }
  const bool model = IsSavedV2(snapshot, Item::MODEL_PARAMS);
  if (model) {
    status = CheckBelong(Item::MASTER, snapshot.masters, parameters);
    status.Update(
        CheckBelong(Item::ACCUM_GRADS, snapshot.gradients, parameters));
    status.Update(CheckBelong(Item::EMA_WEIGHTS, snapshot.ema_weights, all));
    if (!status.ok()) return status;
  }
  if (snapshot.mode.has_value()) {
    status =
        CheckUnique(Item::MODE, "module", snapshot.mode->modules_in_other_mode);
    if (!status.ok()) return status;
  }
  if (!snapshot.frozen.has_value()) return absl::OkStatus();
  status = CheckUnique(Item::FROZEN_FLAGS, "parameter", *snapshot.frozen);
  if (!status.ok() || !model) return status;
  for (const std::string& name : *snapshot.frozen) {
    if (parameters.count(name) == 0) {
      return Invalid(Item::FROZEN_FLAGS,
                     absl::StrCat(name, " is no parameter of the model"));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateSchedule(const Snapshot& snapshot) {
  if (!snapshot.schedule.has_value()) return absl::OkStatus();
  const ScheduleState& schedule = *snapshot.schedule;
  if (IsSavedV2(snapshot, Item::SCHED_HORIZON) && schedule.horizon == 0) {
    return Invalid(Item::SCHED_HORIZON, "expected at least 1, found 0");
  }
  if (schedule.state.has_value()) {
    const PlateauState& state = *schedule.state;
    if (!(state.factor > 0 && state.factor <= 1)) {
      return Invalid(Item::SCHED_STATE, absl::StrCat("factor ", state.factor,
                                                     " is not in (0, 1]"));
    }
  }
  if (!IsSavedV2(snapshot, Item::SCHED_DEFINITION)) return absl::OkStatus();
  if (IsSavedV2(snapshot, Item::SCHED_HORIZON) &&
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
  return CheckUnique(Item::SCHED_DEFINITION, "schedule parameter",
                     NamesOf(schedule.parameters));
}

absl::Status ValidateScaler(const Snapshot& snapshot) {
  if (!snapshot.scaler.has_value()) return absl::OkStatus();
  const GradScalerState& scaler = *snapshot.scaler;
  if (IsSavedV2(snapshot, Item::SCALER_SCALE) &&
      !(scaler.scale > 0 && std::isfinite(scaler.scale))) {
    return Invalid(Item::SCALER_SCALE, absl::StrCat("scale ", scaler.scale,
                                                    " is not positive and "
                                                    "finite"));
  }
  if (!IsSavedV2(snapshot, Item::SCALER_CONFIG)) return absl::OkStatus();
  if (scaler.growth_interval == 0) {
    return Invalid(Item::SCALER_CONFIG,
                   "growth interval: expected at least 1, found 0");
  }
  if (IsSavedV2(snapshot, Item::SCALER_GROWTH_TRACKER) &&
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
  return CheckAtLeast(Item::SCALER_CONFIG, "smallest scale", scaler.min_scale,
                      0);
}

// Samples that one epoch trains, as the tail policy has it.
uint64_t SamplesOfEpoch(const SamplerState& sampler) {
  return sampler.tail == SamplerState::Tail::kDrop
             ? sampler.dataset_size / sampler.batch_size * sampler.batch_size
             : sampler.dataset_size;
}

absl::Status ValidateSampler(const Snapshot& snapshot) {
  if (!snapshot.sampler.has_value()) return absl::OkStatus();
  const SamplerState& sampler = *snapshot.sampler;
  const bool batch = IsSavedV2(snapshot, Item::DATA_BATCH);
  const bool order = IsSavedV2(snapshot, Item::SAMPLER_ORDER);
  if (batch && sampler.batch_size == 0) {
    return Invalid(Item::DATA_BATCH,
                   "batch size: expected at least 1, found 0");
  }
  if (order && sampler.dataset_size == 0) {
    return Invalid(Item::SAMPLER_ORDER, "the data set has no samples");
  }
  if (!batch || !order) return absl::OkStatus();
  if (sampler.tail == SamplerState::Tail::kDrop &&
      sampler.dataset_size < sampler.batch_size) {
    return Invalid(
        Item::SAMPLER_ORDER,
        absl::StrCat("the data set has ", sampler.dataset_size,
                     " samples, fewer than one batch of ", sampler.batch_size));
  }
  if (!IsSavedV2(snapshot, Item::SAMPLER_CURSOR)) return absl::OkStatus();
  // Whole batches, counted from where the policy lets batches begin.
  const uint64_t in_epoch = sampler.tail == SamplerState::Tail::kSpan
                                ? sampler.cursor
                                : sampler.cursor % SamplesOfEpoch(sampler);
  if (in_epoch % sampler.batch_size != 0) {
    return Invalid(Item::SAMPLER_CURSOR,
                   absl::StrCat(sampler.cursor,
                                " samples trained are no whole batches of ",
                                sampler.batch_size));
  }
  return absl::OkStatus();
}

absl::Status ValidateCounters(const Snapshot& snapshot) {
  const bool applied = IsSavedV2(snapshot, Item::COUNTERS_APPLIED);
  const bool skipped = IsSavedV2(snapshot, Item::COUNTERS_SKIPPED);
  if (snapshot.counters.has_value()) {
    const CounterState& counters = *snapshot.counters;
    if ((applied && counters.applied > snapshot.step) ||
        (skipped && counters.skipped > snapshot.step) ||
        (applied && skipped &&
         counters.applied + counters.skipped != snapshot.step)) {
      return Invalid(
          Item::COUNTERS_APPLIED,
          absl::StrCat(counters.applied, " applied and ", counters.skipped,
                       " skipped steps are not ", snapshot.step));
    }
    // The same number under two names: one of them would be wrong.
    if (IsSavedV2(snapshot, Item::COUNTERS_SAMPLES) &&
        IsSavedV2(snapshot, Item::SAMPLER_CURSOR) &&
        snapshot.sampler.has_value() &&
        counters.samples != snapshot.sampler->cursor) {
      return Invalid(
          Item::COUNTERS_SAMPLES,
          absl::StrCat(counters.samples, " samples trained, but the cursor is ",
                       snapshot.sampler->cursor));
    }
  }
  if (snapshot.accumulation.has_value()) {
    const AccumulationState& accumulation = *snapshot.accumulation;
    if (accumulation.count >= accumulation.per_step) {
      return Invalid(
          Item::ACCUM_COUNT,
          absl::StrCat(accumulation.count, " micro-steps of ",
                       accumulation.per_step, " done, which is a whole step"));
    }
  }
  // Between micro-steps there are gradients, at a boundary there are none.
  const Presence gradients = snapshot.Find(Item::ACCUM_GRADS)->presence;
  if (snapshot.micro_step() > 0 && gradients == Presence::PRESENCE_EMPTY) {
    return Missing(Item::ACCUM_GRADS,
                   absl::StrCat(snapshot.micro_step(),
                                " micro-steps are done, so there are some"));
  }
  if (snapshot.micro_step() == 0 && gradients == Presence::PRESENCE_SAVED) {
    return Invalid(Item::ACCUM_GRADS, "there are gradients at a boundary");
  }
  return absl::OkStatus();
}

absl::Status ValidateEma(const Snapshot& snapshot) {
  if (!snapshot.ema.has_value()) return absl::OkStatus();
  if (IsSavedV2(snapshot, Item::EMA_CONFIG) &&
      !(snapshot.ema->decay >= 0 && snapshot.ema->decay < 1)) {
    return Invalid(Item::EMA_CONFIG, absl::StrCat("decay ", snapshot.ema->decay,
                                                  " is not in [0, 1)"));
  }
  if (snapshot.Find(Item::EMA_WEIGHTS)->presence == Presence::PRESENCE_EMPTY &&
      IsSavedV2(snapshot, Item::EMA_UPDATES) && snapshot.ema->updates > 0) {
    return Missing(
        Item::EMA_WEIGHTS,
        absl::StrCat("EMPTY after ", snapshot.ema->updates, " updates"));
  }
  return absl::OkStatus();
}

absl::Status ValidateClip(const Snapshot& snapshot) {
  if (!snapshot.clip.has_value()) return absl::OkStatus();
  const ClipState& clip = *snapshot.clip;
  if (!(clip.limit > 0 && std::isfinite(clip.limit))) {
    return Invalid(Item::CLIP, absl::StrCat("limit ", clip.limit,
                                            " is not positive and finite"));
  }
  const bool norm = clip.kind == ClipState::Kind::kNorm;
  if (norm != clip.norm_type.has_value() || (norm && !(*clip.norm_type > 0))) {
    return Invalid(Item::CLIP, "a norm, and only a norm, has a positive type");
  }
  return absl::OkStatus();
}

absl::Status ValidateGenerators(const Snapshot& snapshot) {
  int64_t last_cuda = -1;
  for (const GeneratorState& generator : snapshot.generators) {
    if (generator.name == "cpu") continue;
    int64_t index = -1;
    const bool numbered = absl::StartsWith(generator.name, "cuda:") &&
                          absl::SimpleAtoi(generator.name.substr(5), &index) &&
                          generator.name == absl::StrCat("cuda:", index);
    if (!numbered || index < 0) {
      return Invalid(Item::RNG_CUDA,
                     absl::StrCat("generator \"", generator.name,
                                  "\": expected cpu or cuda:<index>"));
    }
    if (index <= last_cuda) {
      return Invalid(Item::RNG_CUDA,
                     absl::StrCat("generator ", generator.name,
                                  " comes twice or out of order"));
    }
    last_cuda = index;
  }
  return absl::OkStatus();
}

absl::Status ValidateConfig(const Snapshot& snapshot) {
  std::vector<std::string> paths;
  for (const ConfigField& field : snapshot.config) {
    paths.push_back(field.path);
    if (field.rule != ResumeRule::MUST_MATCH &&
        field.rule != ResumeRule::MAY_CHANGE &&
        field.rule != ResumeRule::RECORDED) {
      return Invalid(Item::CONFIG,
                     absl::StrCat(field.path, ": ", TextOf(field.rule),
                                  " is no resume rule"));
    }
  }
  return CheckUnique(Item::CONFIG, "field", paths);
}

absl::Status ValidateEnvironment(const Snapshot& snapshot) {
  if (!snapshot.environment.has_value() ||
      !IsSavedV2(snapshot, Item::ENVIRONMENT)) {
    return absl::OkStatus();
  }
  const EnvironmentState& environment = *snapshot.environment;
  if (environment.threads == 0 || environment.world_size == 0) {
    return Invalid(
        Item::ENVIRONMENT,
        absl::StrCat("threads ", environment.threads, " and world size ",
                     environment.world_size, " must be at least 1"));
  }
  return CheckDigest(Item::ENVIRONMENT, "kernel probe",
                     environment.kernel_probe);
}

absl::Status ValidateEvaluation(const Snapshot& snapshot) {
  if (snapshot.evaluation.has_value() &&
      snapshot.evaluation->last.has_value()) {
    const EvaluationState::Result& last = *snapshot.evaluation->last;
    if (last.step > snapshot.step) {
      return Invalid(Item::EVAL,
                     absl::StrCat("the last one is of step ", last.step));
    }
    absl::Status status =
        CheckUnique(Item::EVAL, "metric", NamesOf(last.metrics));
    if (!status.ok()) return status;
  }
  if (snapshot.best.has_value()) {
    if (snapshot.best->step > snapshot.step) {
      return Invalid(Item::BEST,
                     absl::StrCat("is of step ", snapshot.best->step));
    }
    if (std::isnan(snapshot.best->value)) {
      return Invalid(Item::BEST, "NaN is no best value");
    }
  }
  if (snapshot.early_stop.has_value()) {
    return CheckAtLeast(Item::EARLY_STOP, "smallest difference",
                        snapshot.early_stop->min_delta, 0);
  }
  return absl::OkStatus();
}

absl::Status ValidateUser(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const UserValue& value : snapshot.user) names.push_back(value.name);
  absl::Status status = CheckUnique(Item::USER, "value", names);
  if (!status.ok()) return status;
  names.clear();
  for (const Tensor& tensor : snapshot.user_tensors) {
    names.push_back(tensor.name());
  }
  status = CheckUnique(Item::USER, "tensor", names);
  if (!status.ok()) return status;
  const bool any = !snapshot.user.empty() || !snapshot.user_tensors.empty();
  return CheckTensorPresence(snapshot, Item::USER, any);
}

absl::Status ValidateWitness(const Snapshot& snapshot) {
  if (!snapshot.witness.has_value()) return absl::OkStatus();
  const WitnessState& witness = *snapshot.witness;
  if (witness.next_samples.empty() && witness.next_lr.empty() &&
      !witness.next_scale.has_value() && witness.draws.empty()) {
    return Missing(Item::WITNESS, "recorded as SAVED, but nothing is in it");
  }
  absl::Status status;
  if (!witness.next_samples.empty()) {
    status = CheckDigest(Item::WITNESS, "next samples", witness.next_samples);
  }
  for (const WitnessState::Draw& draw : witness.draws) {
    status.Update(CheckDigest(Item::WITNESS, draw.generator, draw.digest));
  }
  return status;
}

}  // namespace

absl::Status ValidateForV2(const Snapshot& snapshot) {
  for (auto* validate :
       {&ValidateRun, &ValidateModel, &ValidateOptimizerV2, &ValidateSchedule,
        &ValidateScaler, &ValidateSampler, &ValidateCounters, &ValidateEma,
        &ValidateClip, &ValidateGenerators, &ValidateConfig,
        &ValidateEnvironment, &ValidateEvaluation, &ValidateUser,
        &ValidateWitness}) {
    absl::Status status = validate(snapshot);
    if (!status.ok()) return status;
  }
  if (snapshot.fingerprint.has_value()) {
    return CheckDigest(Item::DATA_FINGERPRINT, "digest",
                       snapshot.fingerprint->digest);
  }
  return absl::OkStatus();
}

}  // namespace reprise
