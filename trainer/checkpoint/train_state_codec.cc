#include "trainer/checkpoint/train_state_codec.h"

#include <ATen/core/Generator.h>
#include <ATen/ops/empty.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "format/random/keyed_permutation.h"
#include "format/random/philox.h"
#include "format/refusal.h"
#include "format/vocabulary.h"
#include "trainer/checkpoint/torch_tensor.h"
#include "trainer/data/augment.h"
#include "trainer/version.h"

namespace reprise {
namespace {

absl::Status Mismatch(absl::string_view item, absl::string_view message) {
  return MakeRefusal(Refusal::MISMATCH, absl::StrCat(item, ": ", message));
}

// Refuses, as the item's, an error of a component that was handed bad state.
absl::Status AsMismatch(const absl::Status& status) {
  return status.ok() ? status
                     : MakeRefusal(Refusal::MISMATCH, status.message());
}

GeneratorState SaveGenerator(const at::Generator& generator, std::string name,
                             std::string algorithm) {
  const at::Tensor bytes = generator.get_state();  // u8 [n]
  return {std::move(name), std::move(algorithm),
          absl::StrCat("libtorch ", LibTorchVersion()),
          std::string(static_cast<const char*>(bytes.const_data_ptr()),
                      bytes.numel())};
}

absl::Status LoadGenerator(const Snapshot& snapshot, absl::string_view item,
                           absl::string_view name, at::Generator& generator) {
  for (const GeneratorState& saved : snapshot.generators) {
    if (saved.name != name) continue;
    const std::string library = absl::StrCat("libtorch ", LibTorchVersion());
    if (saved.library != library) {
      return Mismatch(item, absl::StrCat("expected a state of ", library,
                                         ", found one of ", saved.library));
    }
    const int64_t expected = generator.get_state().numel();
    if (static_cast<int64_t>(saved.state.size()) != expected) {
      return Mismatch(item, absl::StrCat("expected ", expected,
                                         " bytes, found ", saved.state.size()));
    }
    at::Tensor bytes = at::empty({expected}, at::kByte);
    std::memcpy(bytes.mutable_data_ptr(), saved.state.data(),
                saved.state.size());
    generator.set_state(bytes);
    return absl::OkStatus();
  }
  return MakeRefusal(Refusal::MISSING_ITEM,
                     absl::StrCat(item,
                                  ": the checkpoint has no state of "
                                  "generator ",
                                  name));
}

// Copies `saved` into `live` by name; both must hold the same names.
absl::Status LoadTensors(absl::string_view item,
                         const std::vector<Tensor>& saved,
                         const std::vector<NamedTensor>& live) {
  absl::flat_hash_map<std::string, const Tensor*> by_name;
  for (const Tensor& tensor : saved) by_name[tensor.name()] = &tensor;
  std::vector<std::string> missing;
  for (const NamedTensor& tensor : live) {
    auto found = by_name.find(tensor.name);
    if (found == by_name.end()) {
      missing.push_back(tensor.name);
      continue;
    }
    if (absl::Status status = CopyInto(*found->second, tensor.tensor);
        !status.ok()) {
      return Mismatch(item, status.message());
    }
    by_name.erase(found);
  }
  std::vector<std::string> unexpected;
  for (const Tensor& tensor : saved) {
    if (by_name.count(tensor.name())) unexpected.push_back(tensor.name());
  }
  if (missing.empty() && unexpected.empty()) return absl::OkStatus();
  return Mismatch(
      item, absl::StrCat("the checkpoint is of another model; the model's ",
                         "names that it lacks: [", absl::StrJoin(missing, ", "),
                         "]; names that the model lacks: [",
                         absl::StrJoin(unexpected, ", "), "]"));
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

bool KeepsMoments(const OptimizerState& optimizer) {
  for (const ParameterGroup& group : optimizer.groups) {
    if (!group.momentum.has_value() || *group.momentum != 0) return true;
  }
  return false;
}

void MarkInventory(const TrainState& state, Snapshot* snapshot) {
  for (Item item : {Item::MODEL_PARAMS,
                    Item::MODEL_BUFFERS,
                    Item::MODE,
                    Item::OPTIM_KIND,
                    Item::OPTIM_GROUPS,
                    Item::OPTIM_IDENTITY,
                    Item::SCHED_DEFINITION,
                    Item::SCHED_POSITION,
                    Item::SCHED_UNIT,
                    Item::SCHED_HORIZON,
                    Item::SCHED_BASE,
                    Item::SCHED_APPLIED,
                    Item::SAMPLER_ALGORITHM,
                    Item::SAMPLER_SEED,
                    Item::SAMPLER_CURSOR,
                    Item::SAMPLER_ORDER,
                    Item::DATA_BATCH,
                    Item::RNG_CPU,
                    Item::CLIP,
                    Item::PRECISION_FLAGS,
                    Item::COUNTERS_STEP,
                    Item::CONFIG,
                    Item::ENVIRONMENT}) {
    snapshot->MarkSaved(item);
  }
  for (Item item : {Item::OPTIM_MOMENTS, Item::OPTIM_STEP}) {
    if (snapshot->optimizer->states.empty()) {
      snapshot->MarkEmpty(item);
    } else {
      snapshot->MarkSaved(item);
    }
  }
  if (!KeepsMoments(*snapshot->optimizer)) {
    snapshot->MarkNotApplicable(Item::OPTIM_MOMENTS,
                                "sgd without momentum keeps none");
  }
  for (Item item :
       {Item::SCALER_SCALE, Item::SCALER_GROWTH_TRACKER, Item::SCALER_CONFIG}) {
    if (state.scaler != nullptr) {
      snapshot->MarkSaved(item);
    } else {
      snapshot->MarkNotApplicable(item, "the loss of this run is not scaled");
    }
  }
  if (state.cuda_generator.has_value()) {
    snapshot->MarkSaved(Item::RNG_CUDA);
  } else {
    snapshot->MarkNotApplicable(Item::RNG_CUDA, "the run is on the CPU");
  }
  snapshot->MarkNotApplicable(
      Item::RNG_DATA,
      "the data streams are counter-based: a function of seed and position");
}

}  // namespace

Snapshot CaptureState(const TrainState& state, const WarmupCosine& schedule,
                      const RunInfo& run) {
  Snapshot snapshot;
  snapshot.run_id = run.run_id;
  snapshot.attempt = run.attempt;
  snapshot.parent = run.parent;
  snapshot.step = state.attempted;
  snapshot.architecture = run.architecture;
  snapshot.initialisation = kTorchDefaultV1;
  for (const NamedTensor& t : state.model->Parameters()) {
    snapshot.parameters.push_back(ViewOf(t.name, t.tensor));
  }
  for (const NamedTensor& t : state.model->Buffers()) {
    snapshot.buffers.push_back(ViewOf(t.name, t.tensor));
  }
  snapshot.optimizer = state.optimizer->state();

  ScheduleState sched;
  sched.form = std::string(kWarmupCosineV1);
  sched.unit = ScheduleState::Unit::kApplied;
  sched.position = state.schedule_position;
  sched.horizon = schedule.definition().horizon;
  sched.warmup = schedule.definition().warmup;
  sched.final_fraction = schedule.definition().final_fraction;
  snapshot.schedule = sched;

  if (state.scaler != nullptr) snapshot.scaler = state.scaler->state();

  SamplerState sampler;
  sampler.algorithm = std::string(kFeistelV1);
  sampler.seed = state.sampler->options().seed;
  sampler.cursor = state.sampler->cursor();
  sampler.batch_size = state.sampler->options().batch_size;
  sampler.dataset_size = state.sampler->options().dataset_size;
  sampler.stream_algorithm = std::string(kPhilox4x32_10);
  sampler.augmentation = run.augmentation;
  snapshot.sampler = sampler;

  snapshot.generators.push_back(
      SaveGenerator(state.cpu_generator, "cpu", "mt19937"));
  if (state.cuda_generator.has_value()) {
    snapshot.generators.push_back(
        SaveGenerator(*state.cuda_generator, "cuda:0", "philox4x32-10"));
  }
  snapshot.config = run.config;
  snapshot.environment = run.environment;
  snapshot.writer = absl::StrCat("reprise trainer ", kTrainerVersion);
  snapshot.created_unix_nanos = absl::ToUnixNanos(absl::Now());
  snapshot.host = HostName();
  MarkInventory(state, &snapshot);
  return snapshot;
}

namespace {

// Refuses, by name, whatever the file leaves out. Moments that are not there
// yet are right exactly before the first applied step.
absl::Status CheckPresence(const Snapshot& snapshot) {
  for (const ItemRecord& record : snapshot.inventory) {
    if (record.presence == Presence::PRESENCE_OMITTED) {
      return MakeRefusal(
          Refusal::MISSING_ITEM,
          absl::StrCat(TextOf(record.item), ": the checkpoint omits it (",
                       record.reason, "); training cannot go on as it was"));
    }
    if (record.presence == Presence::PRESENCE_EMPTY && snapshot.schedule &&
        snapshot.schedule->position > 0) {
      return MakeRefusal(
          Refusal::MISSING_ITEM,
          absl::StrCat(TextOf(record.item), ": the checkpoint says that there ",
                       "is none yet, after ", snapshot.schedule->position,
                       " applied steps"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RestoreState(const Snapshot& snapshot,
                          const WarmupCosine& schedule, TrainState* state) {
  if (auto s = CheckPresence(snapshot); !s.ok()) return s;
  if (!snapshot.optimizer || !snapshot.schedule || !snapshot.sampler) {
    return MakeRefusal(Refusal::MISSING_ITEM,
                       "optim, sched or sampler: not in the checkpoint, which "
                       "is not one to train on from");
  }
  if (auto s = LoadTensors("model.params", snapshot.parameters,
                           state->model->Parameters());
      !s.ok()) {
    return s;
  }
  if (auto s = LoadTensors("model.buffers", snapshot.buffers,
                           state->model->Buffers());
      !s.ok()) {
    return s;
  }
  if (auto s = AsMismatch(state->optimizer->Load(*snapshot.optimizer));
      !s.ok()) {
    return s;
  }

  const ScheduleState& sched = *snapshot.schedule;
  if (sched.form != kWarmupCosineV1 ||
      sched.unit != ScheduleState::Unit::kApplied ||
      sched.horizon != schedule.definition().horizon ||
      sched.warmup != schedule.definition().warmup ||
      sched.final_fraction != schedule.definition().final_fraction) {
    return Mismatch(
        "sched.definition",
        absl::StrFormat("expected %s over applied steps with warmup %d, "
                        "horizon %d, final fraction %g; found %s with warmup "
                        "%d, horizon %d, final fraction %g",
                        kWarmupCosineV1, schedule.definition().warmup,
                        schedule.definition().horizon,
                        schedule.definition().final_fraction, sched.form,
                        sched.warmup, sched.horizon, sched.final_fraction));
  }
  if (sched.position > snapshot.step) {
    return Mismatch("sched.position",
                    absl::StrCat("expected at most the ", snapshot.step,
                                 " attempted steps, found ", sched.position));
  }

  if ((state->scaler != nullptr) != snapshot.scaler.has_value()) {
    return Mismatch("scaler.scale",
                    state->scaler != nullptr
                        ? "the run scales its loss and the checkpoint has no "
                          "scaler"
                        : "the checkpoint has a scaler and the run does not "
                          "scale its loss");
  }
  if (state->scaler != nullptr) {
    if (auto s = AsMismatch(state->scaler->Load(*snapshot.scaler)); !s.ok()) {
      return s;
    }
  }

  const SamplerState& sampler = *snapshot.sampler;
  if (sampler.algorithm != kFeistelV1 ||
      sampler.stream_algorithm != kPhilox4x32_10) {
    return Mismatch("sampler.algorithm",
                    absl::StrCat("expected ", kFeistelV1, " and ",
                                 kPhilox4x32_10, ", found ", sampler.algorithm,
                                 " and ", sampler.stream_algorithm));
  }
  if (!sampler.augmentation.empty() && sampler.augmentation != kShift2FlipV1) {
    return Mismatch("sampler.algorithm",
                    absl::StrCat("expected augmentation ", kShift2FlipV1,
                                 " or none, found ", sampler.augmentation));
  }
  if (sampler.seed != state->sampler->options().seed ||
      sampler.batch_size != state->sampler->options().batch_size ||
      sampler.dataset_size != state->sampler->options().dataset_size) {
    return Mismatch(
        "data.batch",
        absl::StrFormat("expected seed %d, %d samples in batches of %d; found "
                        "seed %d, %d samples in batches of %d",
                        state->sampler->options().seed,
                        state->sampler->options().dataset_size,
                        state->sampler->options().batch_size, sampler.seed,
                        sampler.dataset_size, sampler.batch_size));
  }
  if (auto s = AsMismatch(state->sampler->SeekTo(sampler.cursor)); !s.ok()) {
    return s;
  }

  state->attempted = snapshot.step;
  state->schedule_position = sched.position;
  state->skipped = snapshot.step - sched.position;

  if (auto s = LoadGenerator(snapshot, "rng.cpu", "cpu", state->cpu_generator);
      !s.ok()) {
    return s;
  }
  if (!state->cuda_generator.has_value()) return absl::OkStatus();
  return LoadGenerator(snapshot, "rng.cuda", "cuda:0", *state->cuda_generator);
}

namespace {

std::string ConfigValue(const Snapshot& s, absl::string_view path) {
  for (const ConfigField& field : s.config) {
    if (field.path == path) return field.value;
  }
  return "";
}

// The value of `item` in one line; empty for an item that has none.
std::string Describe(const Snapshot& s, Item item) {
  const OptimizerState& optim = *s.optimizer;
  switch (item) {
    case Item::MODEL_PARAMS:
    case Item::MODEL_BUFFERS: {
      const auto& tensors =
          item == Item::MODEL_PARAMS ? s.parameters : s.buffers;
      int64_t elements = 0;
      for (const Tensor& t : tensors) elements += t.num_elements();
      return absl::StrFormat("%d tensors, %d elements", tensors.size(),
                             elements);
    }
    case Item::OPTIM_KIND:
      return absl::StrCat(optim.kind, " (", optim.arithmetic, ")");
    case Item::OPTIM_GROUPS:
      return absl::StrJoin(
          optim.groups, ", ", [](std::string* out, const ParameterGroup& g) {
            absl::StrAppend(out, g.name, ": ", g.parameters.size(),
                            " parameters, decay ", g.weight_decay);
          });
    case Item::OPTIM_MOMENTS:
      return absl::StrCat("of ", optim.states.size(), " parameters");
    case Item::OPTIM_STEP:
      return optim.states.empty() ? "0" : absl::StrCat(optim.states[0].step);
    case Item::MODE:
      return "training";
    case Item::OPTIM_IDENTITY:
      return "state belongs to parameter names";
    case Item::SCHED_DEFINITION:
      return absl::StrFormat("%s, warm-up %d, final fraction %g",
                             s.schedule->form, s.schedule->warmup,
                             s.schedule->final_fraction);
    case Item::SCHED_UNIT:
      return "applied steps";
    case Item::SCHED_HORIZON:
      return absl::StrCat(s.schedule->horizon);
    case Item::SCHED_BASE:
      return absl::StrJoin(optim.groups, ", ",
                           [](std::string* out, const ParameterGroup& g) {
                             absl::StrAppend(out, "lr ", g.base_lr);
                           });
    case Item::SCHED_POSITION:
      return absl::StrFormat("%d of %d applied steps", s.schedule->position,
                             s.schedule->horizon);
    case Item::SCHED_APPLIED:
      return absl::StrJoin(optim.groups, ", ",
                           [](std::string* out, const ParameterGroup& g) {
                             absl::StrAppend(out, "lr ", g.lr);
                           });
    case Item::SCALER_SCALE:
      return s.scaler ? absl::StrCat(s.scaler->scale) : "";
    case Item::SCALER_GROWTH_TRACKER:
      return s.scaler ? absl::StrFormat("%d of %d", s.scaler->growth_tracker,
                                        s.scaler->growth_interval)
                      : "";
    case Item::SCALER_CONFIG:
      return s.scaler ? absl::StrFormat("growth %g, backoff %g",
                                        s.scaler->growth_factor,
                                        s.scaler->backoff_factor)
                      : "";
    case Item::SAMPLER_ALGORITHM:
      return s.sampler->algorithm;
    case Item::SAMPLER_SEED:
      return absl::StrCat(s.sampler->seed);
    case Item::SAMPLER_ORDER:
      return "a function of seed and epoch";
    case Item::DATA_BATCH:
      return absl::StrFormat("%d of %d samples", s.sampler->batch_size,
                             s.sampler->dataset_size);
    case Item::SAMPLER_CURSOR: {
      const uint64_t per_epoch =
          s.sampler->dataset_size / s.sampler->batch_size;
      const uint64_t batches = s.sampler->cursor / s.sampler->batch_size;
      return absl::StrFormat("epoch %d, batch %d of %d", batches / per_epoch,
                             batches % per_epoch, per_epoch);
    }
    case Item::RNG_CPU:
    case Item::RNG_CUDA:
      for (const GeneratorState& g : s.generators) {
        if ((g.name == "cpu") == (item == Item::RNG_CPU)) {
          return absl::StrFormat("%s, %d bytes", g.algorithm, g.state.size());
        }
      }
      return "";
    case Item::CLIP:
      return ConfigValue(s, "optimizer.clip_norm");
    case Item::PRECISION_FLAGS:
      return absl::StrCat("autocast ", s.environment->autocast_dtype,
                          s.environment->deterministic ? ", deterministic" : "",
                          s.environment->allow_tf32 ? ", TF32" : "");
    case Item::COUNTERS_STEP:
      return absl::StrFormat("%d attempted, %d skipped", s.step,
                             s.step - s.schedule->position);
    case Item::CONFIG:
      return absl::StrCat(s.config.size(), " fields");
    case Item::ENVIRONMENT:
      return absl::StrFormat("%s, %d threads", s.environment->device,
                             s.environment->threads);
    default:
      return "";
  }
}

}  // namespace

std::vector<RestoredItem> DescribeRestored(const Snapshot& snapshot) {
  std::vector<RestoredItem> rows;
  for (const ItemRecord& record : snapshot.inventory) {
    std::string value = Describe(snapshot, record.item);
    if (!record.reason.empty()) value = record.reason;
    rows.push_back({TextOf(record.item), TextOf(record.presence), value});
  }
  return rows;
}

}  // namespace reprise
