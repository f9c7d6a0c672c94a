// Restores: from a Snapshot to the trainer's live state, or a refusal by item.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "format/migrate/v1_to_v2.h"
#include "format/random/keyed_permutation.h"
#include "format/random/philox.h"
#include "format/refusal.h"
#include "format/vocabulary.h"
#include "trainer/checkpoint/step_values.h"
#include "trainer/checkpoint/ties.h"
#include "trainer/checkpoint/torch_generator.h"
#include "trainer/checkpoint/torch_tensor.h"
#include "trainer/checkpoint/train_state_codec.h"
#include "trainer/data/augment.h"

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

// Copies `saved` into `live` by name, and lets go of each as soon as it is
// copied; both must hold the same names.
absl::Status LoadTensors(absl::string_view item, std::vector<Tensor> saved,
                         const std::vector<NamedTensor>& live) {
  absl::flat_hash_map<std::string, Tensor*> by_name;
  for (Tensor& tensor : saved) by_name[tensor.name()] = &tensor;
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
    *found->second = Tensor();
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

// Whether version 1 wrote what the snapshot was migrated from.
bool ComesFromV1(const Snapshot& snapshot) {
  return std::any_of(
      snapshot.history.begin(), snapshot.history.end(),
      [](const MigrationRecord& step) { return step.from_major == 1; });
}

bool Omitted(const Snapshot& snapshot, Item item) {
  const ItemRecord* record = snapshot.Find(item);
  return record != nullptr && record->presence == Presence::PRESENCE_OMITTED;
}

// Version 1 counts them by the schedule's position alone. REQUIRES: a schedule.
uint64_t AppliedSteps(const Snapshot& snapshot) {
  return snapshot.counters.has_value() ? snapshot.counters->applied
                                       : snapshot.schedule->position;
}

// Refuses, by name, whatever the file leaves out, but for what version 1 had no
// place for. Moments that are not there yet are right exactly before the first
// applied step.
absl::Status CheckPresence(const Snapshot& snapshot) {
  if (!snapshot.optimizer || !snapshot.schedule || !snapshot.sampler) {
    return MakeRefusal(Refusal::MISSING_ITEM,
                       "optim, sched or sampler: not in the checkpoint, which "
                       "is not one to train on from");
  }
  const uint64_t applied = AppliedSteps(snapshot);
  const std::vector<Item> unknown_to_v1 = NotRecordedByV1(snapshot);
  for (const ItemRecord& record : snapshot.inventory) {
    if (record.presence == Presence::PRESENCE_OMITTED &&
        std::count(unknown_to_v1.begin(), unknown_to_v1.end(), record.item) ==
            0) {
      return MakeRefusal(
          Refusal::MISSING_ITEM,
          absl::StrCat(TextOf(record.item), ": the checkpoint omits it (",
                       record.reason, "); training cannot go on as it was"));
    }
    if (record.presence == Presence::PRESENCE_EMPTY && applied > 0 &&
        (record.item == Item::OPTIM_MOMENTS ||
         record.item == Item::OPTIM_STEP)) {
      return MakeRefusal(
          Refusal::MISSING_ITEM,
          absl::StrCat(TextOf(record.item), ": the checkpoint says that there ",
                       "is none yet, after ", applied, " applied steps"));
    }
  }
  return absl::OkStatus();
}

// Tied parameters under each of their names.
std::vector<NamedTensor> AllNames(const Model& model) {
  std::vector<NamedTensor> names = model.Parameters();
  for (NamedTensor& tied : model.TiedNames()) names.push_back(std::move(tied));
  return names;
}

// Takes the tensors away.
absl::Status RestoreModel(Snapshot& snapshot, Model* model) {
  const std::vector<NamedTensor> parameters = AllNames(*model);
  const Ties ties = TiesOf(snapshot.parameters);
  if (auto s = LoadTensors("model.params", std::move(snapshot.parameters),
                           parameters);
      !s.ok()) {
    return s;
  }
  if (auto s = LoadTensors("model.buffers", std::move(snapshot.buffers),
                           model->Buffers());
      !s.ok()) {
    return s;
  }
  if (!Omitted(snapshot, Item::MODEL_TIES) && TiesOf(parameters) != ties) {
    return Mismatch("model.ties",
                    "the checkpoint's tensors that are one storage are not "
                    "those of the model");
  }
  if (snapshot.frozen.has_value()) {
    const std::vector<std::string>& frozen = *snapshot.frozen;
    for (const NamedTensor& t : model->Parameters()) {
      t.tensor.requires_grad_(
          std::count(frozen.begin(), frozen.end(), t.name) == 0);
    }
  }
  if (snapshot.mode.has_value() &&
      (!snapshot.mode->training ||
       !snapshot.mode->modules_in_other_mode.empty())) {
    return Mismatch("mode",
                    "expected every module in training mode, found one in "
                    "evaluation mode");
  }
  return absl::OkStatus();
}

// Takes the tensors away.
absl::Status RestoreOptimizer(Snapshot& snapshot, Optimizer* optimizer) {
  OptimizerState saved = std::move(*snapshot.optimizer);
  if (saved.state_dtype.has_value() && *saved.state_dtype != DType::kF32) {
    return Mismatch("optim.dtype",
                    absl::StrCat("expected moments made in f32, found ",
                                 Name(*saved.state_dtype)));
  }
  // "Nothing yet" is what a fresh optimizer has.
  saved.states.erase(std::remove_if(saved.states.begin(), saved.states.end(),
                                    [](const ParameterState& s) {
                                      return s.step == 0 && s.moments.empty();
                                    }),
                     saved.states.end());
  return AsMismatch(
      optimizer->Load(std::move(saved), std::move(snapshot.masters)));
}

// After RestoreData: the position may count samples or epochs.
absl::Status RestoreSchedule(const Snapshot& snapshot, const Schedule& schedule,
                             TrainState* state) {
  const ScheduleState& sched = *snapshot.schedule;
  if (auto s = AsMismatch(schedule.CheckSame(sched)); !s.ok()) return s;
  const uint64_t applied = AppliedSteps(snapshot);
  if (applied > snapshot.step) {
    return Mismatch(
        snapshot.counters.has_value() ? "counters.applied" : "sched.position",
        absl::StrCat("expected at most the ", snapshot.step,
                     " attempted steps, found ", applied));
  }
  // Between micro-steps the cursor is ahead of the boundary.
  const uint64_t expected =
      snapshot.micro_step() > 0
          ? sched.position
          : schedule.PositionOf({applied, snapshot.step,
                                 state->sampler->cursor(),
                                 state->sampler->epoch()});
  if (sched.position != expected) {
    return Mismatch(
        "sched.position",
        absl::StrCat("expected ", expected, ", which the counters come to, ",
                     "found ", sched.position));
  }
  state->schedule_position = sched.position;
  state->schedule_state = sched.state;
  return absl::OkStatus();
}

absl::Status RestoreScaler(const Snapshot& snapshot, TrainState* state) {
  if ((state->scaler != nullptr) != snapshot.scaler.has_value()) {
    return Mismatch("scaler.scale",
                    state->scaler != nullptr
                        ? "the run scales its loss and the checkpoint has no "
                          "scaler"
                        : "the checkpoint has a scaler and the run does not "
                          "scale its loss");
  }
  if (state->scaler == nullptr) return absl::OkStatus();
  return AsMismatch(state->scaler->Load(*snapshot.scaler));
}

absl::Status RestoreData(const Snapshot& snapshot, const DataFingerprint& data,
                         Sampler* position) {
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
  if (sampler.seed != position->options().seed ||
      sampler.batch_size != position->options().batch_size ||
      sampler.dataset_size != position->options().dataset_size ||
      static_cast<TailPolicy>(sampler.tail) != position->options().tail) {
    return Mismatch(
        "data.batch",
        absl::StrFormat("expected seed %d, %d samples in batches of %d, tail "
                        "policy %d; found seed %d, %d samples in batches of "
                        "%d, tail policy %d",
                        position->options().seed,
                        position->options().dataset_size,
                        position->options().batch_size,
                        static_cast<int>(position->options().tail),
                        sampler.seed, sampler.dataset_size, sampler.batch_size,
                        static_cast<int>(sampler.tail)));
  }
  if (!sampler.in_flight.empty()) {
    return Mismatch(
        "loader.inflight",
        absl::StrCat("expected none, found ", sampler.in_flight.size(),
                     " samples that were drawn and not trained"));
  }
  if (snapshot.fingerprint.has_value() &&
      (snapshot.fingerprint->algorithm != data.algorithm ||
       snapshot.fingerprint->digest != data.digest)) {
    return Mismatch(
        "data.fingerprint",
        absl::StrFormat("the checkpoint was trained on other data: expected "
                        "%s %s of %d samples, found %s %s of %d samples",
                        snapshot.fingerprint->algorithm,
                        absl::BytesToHexString(snapshot.fingerprint->digest),
                        snapshot.fingerprint->samples, data.algorithm,
                        absl::BytesToHexString(data.digest), data.samples));
  }
  return AsMismatch(position->SeekTo(sampler.cursor));
}

// Version 1 has one counter: what it does not record follows from the others.
void RestoreProgress(const Snapshot& snapshot, TrainState* state) {
  state->attempted = snapshot.step;
  state->applied = AppliedSteps(snapshot);
  state->skipped = snapshot.step - state->applied;
  state->evaluation = snapshot.evaluation.value_or(EvaluationState());
  state->best = snapshot.best;
  if (snapshot.early_stop.has_value()) state->early_stop = snapshot.early_stop;
  // What clips is in the configuration of version 1.
  if (!Omitted(snapshot, Item::CLIP)) state->clip = snapshot.clip;
}

// Takes the tensors away.
absl::Status RestoreEma(Snapshot& snapshot, TrainState* state) {
  if ((state->ema != nullptr) != snapshot.ema.has_value()) {
    return Mismatch("ema.config",
                    state->ema != nullptr
                        ? "the run keeps an average of its weights and the "
                          "checkpoint has none"
                        : "the checkpoint has an average of the weights and "
                          "the run keeps none");
  }
  if (state->ema == nullptr) return absl::OkStatus();
  return AsMismatch(
      state->ema->Load(*snapshot.ema, std::move(snapshot.ema_weights)));
}

// Takes the tensors away.
absl::Status RestoreStepInProgress(Snapshot& snapshot, TrainState* state) {
  if (!snapshot.accumulation.has_value()) return absl::OkStatus();
  if (snapshot.accumulation->per_step != state->accumulation.per_step) {
    return Mismatch("accum.count",
                    absl::StrCat("expected ", state->accumulation.per_step,
                                 " micro-steps a step, found ",
                                 snapshot.accumulation->per_step));
  }
  state->accumulation = *snapshot.accumulation;
  if (state->accumulation.count == 0) return absl::OkStatus();
  std::vector<NamedTensor> gradients;
  for (const NamedTensor& t : state->model->Parameters()) {
    for (const Tensor& saved : snapshot.gradients) {
      if (saved.name() != t.name) continue;
      t.tensor.mutable_grad() = at::zeros_like(t.tensor);
      gradients.push_back({t.name, t.tensor.grad()});
    }
  }
  if (auto s =
          LoadTensors("accum.grads", std::move(snapshot.gradients), gradients);
      !s.ok()) {
    return s;
  }
  int found = 0;
  for (const UserValue& value : snapshot.user) {
    if (value.name == kStepLoss) {
      if (const double* loss = std::get_if<double>(&value.value)) {
        state->so_far.loss = *loss;
        ++found;
      }
    } else if (value.name == kStepSamples) {
      if (const uint64_t* samples = std::get_if<uint64_t>(&value.value)) {
        state->so_far.samples = *samples;
        ++found;
      }
    }
  }
  if (found == 2) return absl::OkStatus();
  return MakeRefusal(
      Refusal::MISSING_ITEM,
      absl::StrCat("user: expected the values ", kStepLoss, " and ",
                   kStepSamples, " of the step in progress"));
}

}  // namespace

absl::Status RestoreWeights(const Snapshot& snapshot, TrainState* state) {
  if (auto s = LoadTensors("model.params", snapshot.parameters,
                           AllNames(*state->model));
      !s.ok()) {
    return s;
  }
  if (auto s = LoadTensors("model.buffers", snapshot.buffers,
                           state->model->Buffers());
      !s.ok()) {
    return s;
  }
  // What follows the weights begins with them: masters, and the average.
  const at::NoGradGuard no_grad;
  const std::vector<NamedTensor> parameters = state->model->Parameters();
  const std::vector<at::Tensor> stepped =
      state->optimizer->StepTensors(parameters);
  for (size_t i = 0; i < parameters.size(); ++i) {
    stepped[i].detach().copy_(parameters[i].tensor.detach());
  }
  if (state->ema == nullptr) return absl::OkStatus();
  return state->ema->Load(state->ema->state(), {});
}

std::vector<Item> NotRecordedByV1(const Snapshot& snapshot) {
  std::vector<Item> items;
  if (!ComesFromV1(snapshot)) return items;
  for (const ItemRecord& record : snapshot.inventory) {
    if (record.presence == Presence::PRESENCE_OMITTED &&
        (record.item == Item::CLIP ||
         ItemsNotRecordedByV1().count(record.item) > 0)) {
      items.push_back(record.item);
    }
  }
  return items;
}

absl::Status RestoreState(Snapshot snapshot, const Schedule& schedule,
                          const DataFingerprint& data, TrainState* state) {
  if (auto s = CheckPresence(snapshot); !s.ok()) return s;
  if (auto s = RestoreModel(snapshot, state->model.get()); !s.ok()) return s;
  if (auto s = RestoreOptimizer(snapshot, state->optimizer.get()); !s.ok()) {
    return s;
  }
  if (auto s = RestoreScaler(snapshot, state); !s.ok()) return s;
  if (auto s = RestoreData(snapshot, data, state->sampler.get()); !s.ok()) {
    return s;
  }
  if (auto s = RestoreSchedule(snapshot, schedule, state); !s.ok()) return s;
  RestoreProgress(snapshot, state);
  if (auto s = RestoreEma(snapshot, state); !s.ok()) return s;
  if (auto s = RestoreStepInProgress(snapshot, state); !s.ok()) return s;
  // Last: everything before may have drawn from them.
  if (auto s = LoadGenerator(snapshot.generators, "cpu", &state->cpu_generator);
      !s.ok()) {
    return s;
  }
  if (!state->cuda_generator.has_value()) return absl::OkStatus();
  return LoadGenerator(snapshot.generators, "cuda:0", &*state->cuda_generator);
}

}  // namespace reprise
