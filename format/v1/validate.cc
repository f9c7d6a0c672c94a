#include "format/v1/validate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/v1/items.h"
#include "format/v1/limits.h"
#include "format/v1/validate_internal.h"

namespace reprise {
namespace v1_internal {

absl::Status CheckName(Item item, absl::string_view kind,
                       absl::string_view name) {
  if (name.empty()) return Missing(item, absl::StrCat(kind, " without a name"));
  if (name.size() > kV1MaxNameBytes) {
    return MakeRefusal(
        Refusal::LIMIT,
        absl::StrCat(TextOf(item), ": a ", kind, "'s name has ", name.size(),
                     " bytes, at most ", kV1MaxNameBytes, " are allowed"));
  }
  if (absl::StrContains(name, absl::string_view("\0", 1))) {
    return Invalid(item, absl::StrCat("a ", kind, "'s name contains NUL"));
  }
  return absl::OkStatus();
}

absl::Status CheckTensor(Item item, const Tensor& tensor) {
  absl::Status status = CheckName(item, "tensor", tensor.name());
  if (!status.ok()) return status;
  absl::StatusOr<uint64_t> bytes = CheckedTensorBytes(tensor);
  if (!bytes.ok()) return Annotate(bytes.status(), TextOf(item));
  if (*bytes > 0 && tensor.data() == nullptr) {
    return Missing(item, absl::StrCat("tensor ", tensor.name(), " has ", *bytes,
                                      " bytes by its shape and no data"));
  }
  if (!tensor.IsRowMajor()) {
    return Invalid(item,
                   absl::StrCat("tensor ", tensor.name(),
                                " is not row-major, and version 1 records no "
                                "other order; save as version 2"));
  }
  return absl::OkStatus();
}

absl::Status CheckGroupPresence(const Snapshot& snapshot,
                                const std::vector<Item>& items, bool has_data,
                                absl::string_view data) {
  bool any_saved = false;
  for (Item item : items) {
    if (!IsSaved(snapshot, item)) continue;
    any_saved = true;
    if (!has_data) {
      return Missing(
          item, absl::StrCat("recorded as SAVED, but ", data, " is not there"));
    }
  }
  if (has_data && !any_saved) {
    return Invalid(items[0],
                   absl::StrCat(data, " is there, but the record says ",
                                TextOf(snapshot.Find(items[0])->presence)));
  }
  return absl::OkStatus();
}

}  // namespace v1_internal

namespace {

using v1_internal::CheckGroupPresence;
using v1_internal::CheckName;
using v1_internal::CheckTensor;
using v1_internal::Invalid;
using v1_internal::Missing;

bool IsRunId(absl::string_view id) {
  return id.size() == 32 && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

absl::Status ValidateRun(const Snapshot& snapshot) {
  if (!IsRunId(snapshot.run_id)) {
    return Invalid(Item::RUN, absl::StrCat("run id: expected 32 lower-case "
                                           "hexadecimal digits, found \"",
                                           snapshot.run_id, "\""));
  }
  if (snapshot.attempt == 0) {
    return Invalid(Item::RUN, "attempt: expected at least 1, found 0");
  }
  if (!snapshot.parent.has_value()) return absl::OkStatus();
  if (snapshot.attempt == 1) {
    return Invalid(Item::RUN,
                   "attempt 1 resumed from nothing, but a parent "
                   "is recorded");
  }
  if (snapshot.parent->manifest_digest.size() != 16) {
    return Invalid(Item::RUN,
                   absl::StrCat("parent digest: expected 16 bytes, found ",
                                snapshot.parent->manifest_digest.size()));
  }
  if (snapshot.parent->step > snapshot.step) {
    return Invalid(Item::RUN,
                   absl::StrCat("parent step ", snapshot.parent->step,
                                " lies after step ", snapshot.step));
  }
  return absl::OkStatus();
}

// "Nothing yet" exists for what the first applied step makes.
bool MayBeEmpty(Item item) {
  return item == Item::OPTIM_MOMENTS || item == Item::OPTIM_STEP;
}

absl::Status ValidateRecord(const Snapshot& snapshot,
                            const ItemRecord& record) {
  const bool reason_wanted =
      record.presence == Presence::PRESENCE_NOT_APPLICABLE ||
      record.presence == Presence::PRESENCE_OMITTED;
  switch (record.presence) {
    case Presence::PRESENCE_SAVED:
    case Presence::PRESENCE_NOT_APPLICABLE:
    case Presence::PRESENCE_OMITTED:
      break;
    case Presence::PRESENCE_EMPTY:
      if (MayBeEmpty(record.item)) break;
      return Invalid(record.item, "recorded as EMPTY; it always has a value");
    default:
      return Invalid(
          record.item,
          absl::StrCat("presence ", TextOf(record.presence), " is not one"));
  }
  if (reason_wanted && record.reason.empty()) {
    return Missing(record.item,
                   absl::StrCat("recorded as ", TextOf(record.presence),
                                " without a reason"));
  }
  if (!reason_wanted && !record.reason.empty()) {
    return Invalid(record.item,
                   absl::StrCat("recorded as ", TextOf(record.presence),
                                " with a reason"));
  }
  if (record.as_of_step != snapshot.step) {
    return Invalid(record.item,
                   absl::StrCat("as of step ", record.as_of_step,
                                ", the checkpoint is of step ", snapshot.step));
  }
  return absl::OkStatus();
}

absl::Status ValidateModel(const Snapshot& snapshot) {
  absl::Status status = CheckGroupPresence(
      snapshot, {Item::MODEL_PARAMS},
      !snapshot.parameters.empty() || !snapshot.architecture.empty(),
      "the model");
  if (!status.ok()) return status;
  if (IsSaved(snapshot, Item::MODEL_PARAMS)) {
    if (snapshot.parameters.empty()) {
      return Missing(Item::MODEL_PARAMS,
                     "recorded as SAVED, but there are no parameters");
    }
    if (snapshot.architecture.empty()) {
      return Missing(Item::MODEL_PARAMS, "field model.architecture is absent");
    }
  }
  status = CheckGroupPresence(snapshot, {Item::MODEL_BUFFERS},
                              !snapshot.buffers.empty(), "a buffer");
  if (!status.ok()) return status;
  std::set<absl::string_view> names;
  for (const auto& [item, tensors] :
       {std::make_pair(Item::MODEL_PARAMS, &snapshot.parameters),
        std::make_pair(Item::MODEL_BUFFERS, &snapshot.buffers)}) {
    for (const Tensor& tensor : *tensors) {
      status = CheckTensor(item, tensor);
      if (!status.ok()) return status;
      if (!names.insert(tensor.name()).second) {
        return Invalid(item,
                       absl::StrCat("two tensors are called ", tensor.name()));
      }
    }
  }
  return absl::OkStatus();
}

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

}  // namespace

bool IsSaved(const Snapshot& snapshot, Item item) {
  const ItemRecord* record = snapshot.Find(item);
  return record != nullptr && record->presence == Presence::PRESENCE_SAVED;
}

absl::StatusOr<uint64_t> CheckedTensorBytes(const Tensor& tensor) {
  // Later element types are of version 2.
  const size_t element =
      tensor.dtype() > DType::kBool ? 0 : SizeOf(tensor.dtype());
  if (element == 0) {
    return MakeRefusal(Refusal::INVALID_VALUE,
                       absl::StrCat("tensor ", tensor.name(), ": dtype ",
                                    static_cast<int>(tensor.dtype()),
                                    " is not one of format version 1"));
  }
  if (tensor.shape().size() > kV1MaxRank) {
    return MakeRefusal(
        Refusal::LIMIT,
        absl::StrCat("tensor ", tensor.name(), ": rank ", tensor.shape().size(),
                     ", at most ", kV1MaxRank));
  }
  uint64_t bytes = element;
  bool no_element = false;
  for (int64_t extent : tensor.shape()) {
    if (extent < 0) {
      return MakeRefusal(
          Refusal::INVALID_VALUE,
          absl::StrCat("tensor ", tensor.name(), ": negative extent ", extent));
    }
    no_element |= extent == 0;
  }
  if (no_element) return 0;
  for (int64_t extent : tensor.shape()) {
    if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) /
                    static_cast<uint64_t>(extent)) {
      return MakeRefusal(Refusal::LIMIT,
                         absl::StrCat("tensor ", tensor.name(),
                                      ": more than 2^63 - 1 bytes by its "
                                      "shape"));
    }
    bytes *= static_cast<uint64_t>(extent);
  }
  return bytes;
}

absl::Status ValidateInventoryForV1(const Snapshot& snapshot) {
  std::set<Item> seen;
  for (const ItemRecord& record : snapshot.inventory) {
    const std::vector<Item>& known = ItemsOfV1();
    if (std::find(known.begin(), known.end(), record.item) == known.end()) {
      return Invalid(record.item, "not an item that format version 1 records");
    }
    if (!seen.insert(record.item).second) {
      return Invalid(record.item, "recorded twice in the inventory");
    }
    absl::Status status = ValidateRecord(snapshot, record);
    if (!status.ok()) return status;
  }
  for (Item item : ItemsOfV1()) {
    if (seen.count(item) == 0) {
      return Missing(item, "no record in the inventory");
    }
  }
  if (!IsSaved(snapshot, Item::COUNTERS_STEP)) {
    return Missing(Item::COUNTERS_STEP,
                   "a checkpoint without its step cannot be placed");
  }
  return absl::OkStatus();
}

absl::Status ValidateForV1(const Snapshot& snapshot) {
  for (auto* check : {ValidateRun, ValidateInventoryForV1, ValidateModel,
                      v1_internal::ValidateOptimizer, ValidateSchedule,
                      ValidateScaler, ValidateSampler, ValidateGenerators,
                      ValidateConfig, ValidateEnvironment}) {
    absl::Status status = check(snapshot);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace reprise
