// Restores: from a Snapshot to the trainer's live state, or a refusal by item.
#include <ATen/core/Generator.h>
#include <ATen/ops/empty.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "format/migrate/v1_to_v2.h"
#include "format/random/keyed_permutation.h"
#include "format/random/philox.h"
#include "format/refusal.h"
#include "format/vocabulary.h"
#include "trainer/checkpoint/torch_tensor.h"
#include "trainer/checkpoint/train_state_codec.h"
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

// Whether training cannot go on without it. What version 1 has no place for,
// runs that were saved in version 1 did not have; their clipping is in the
// configuration.
bool IsNeeded(Item item) {
  return ItemsNotRecordedByV1().count(item) == 0 && item != Item::CLIP;
}

// Refuses, by name, whatever the file leaves out. Moments that are not there
// yet are right exactly before the first applied step.
absl::Status CheckPresence(const Snapshot& snapshot) {
  for (const ItemRecord& record : snapshot.inventory) {
    if (record.presence == Presence::PRESENCE_OMITTED &&
        IsNeeded(record.item)) {
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

}  // namespace reprise
