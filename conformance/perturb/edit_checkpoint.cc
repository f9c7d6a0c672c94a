#include "conformance/perturb/edit_checkpoint.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/dtype.h"
#include "format/refusal.h"
#include "format/run_layout.h"

namespace reprise::conformance {
namespace {

namespace fs = std::filesystem;

using Lose = absl::Status (*)(Snapshot*);

absl::Status Lacks(absl::string_view what) {
  return absl::NotFoundError(
      absl::StrCat("the checkpoint has no ", what, " to lose"));
}

void Zero(Tensor* tensor) {
  uint8_t* bytes = nullptr;
  *tensor = WritableCopy(*tensor, &bytes);
  std::memset(bytes, 0, tensor->num_bytes());
}

// Every element times a half, for f32; the first half of the bytes zero for
// others.
void Weaken(Tensor* tensor) {
  uint8_t* bytes = nullptr;
  *tensor = WritableCopy(*tensor, &bytes);
  if (tensor->dtype() != DType::kF32) {
    std::memset(bytes, 0, tensor->num_bytes() / 2);
    return;
  }
  for (int64_t i = 0; i < tensor->num_elements(); ++i) {
    float value;
    std::memcpy(&value, bytes + 4 * i, 4);
    value *= 0.5f;
    std::memcpy(bytes + 4 * i, &value, 4);
  }
}

absl::Status LoseParameters(Snapshot* snapshot) {
  if (snapshot->parameters.empty()) return Lacks("parameters");
  for (Tensor& tensor : snapshot->parameters) Weaken(&tensor);
  return absl::OkStatus();
}

// Running means and counts begin at 0, running variances at 1.
absl::Status LoseBuffers(Snapshot* snapshot) {
  if (snapshot->buffers.empty()) return Lacks("buffers");
  for (Tensor& tensor : snapshot->buffers) {
    Zero(&tensor);
    if (!absl::StrContains(tensor.name(), "var") ||
        tensor.dtype() != DType::kF32) {
      continue;
    }
    uint8_t* bytes = nullptr;
    tensor = WritableCopy(tensor, &bytes);
    const float one = 1;
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      std::memcpy(bytes + 4 * i, &one, 4);
    }
  }
  return absl::OkStatus();
}

absl::Status LoseMoments(Snapshot* snapshot) {
  bool any = false;
  if (snapshot->optimizer.has_value()) {
    for (ParameterState& state : snapshot->optimizer->states) {
      for (Tensor& moment : state.moments) Zero(&moment);
      any |= !state.moments.empty();
    }
  }
  return any ? absl::OkStatus() : Lacks("moments");
}

absl::Status LoseOptimizerStep(Snapshot* snapshot) {
  if (!snapshot->optimizer.has_value() || snapshot->optimizer->states.empty()) {
    return Lacks("step of the optimizer");
  }
  for (ParameterState& state : snapshot->optimizer->states) state.step = 1;
  return absl::OkStatus();
}

absl::Status LoseGroups(Snapshot* snapshot) {
  if (!snapshot->optimizer.has_value() || snapshot->optimizer->groups.empty()) {
    return Lacks("parameter groups");
  }
  for (ParameterGroup& group : snapshot->optimizer->groups) {
    if (group.beta1.has_value()) group.beta1 = 0.5 * *group.beta1;
    if (group.momentum.has_value()) group.momentum = 0.5 * *group.momentum;
    group.weight_decay = 0.5 * group.weight_decay;
  }
  return absl::OkStatus();
}

// The state of two parameters of one shape exchanged.
absl::Status SwapIdentity(Snapshot* snapshot) {
  if (snapshot->optimizer.has_value()) {
    auto& states = snapshot->optimizer->states;
    for (size_t i = 0; i < states.size(); ++i) {
      for (size_t j = i + 1; j < states.size(); ++j) {
        if (states[i].moments.empty() || states[j].moments.empty() ||
            states[i].moments[0].shape() != states[j].moments[0].shape()) {
          continue;
        }
        std::swap(states[i].step, states[j].step);
        std::vector<Tensor>& a = states[i].moments;
        std::vector<Tensor>& b = states[j].moments;
        for (size_t m = 0; m < std::min(a.size(), b.size()); ++m) {
          uint8_t *to_a = nullptr, *to_b = nullptr;
          Tensor new_a = WritableCopy(a[m], &to_a);
          Tensor new_b = WritableCopy(b[m], &to_b);
          std::swap_ranges(to_a, to_a + new_a.num_bytes(), to_b);
          a[m] = std::move(new_a);
          b[m] = std::move(new_b);
        }
        return absl::OkStatus();
      }
    }
  }
  return Lacks("two optimizer states of one shape");
}

absl::Status LosePosition(Snapshot* snapshot) {
  if (!snapshot->schedule.has_value()) return Lacks("schedule");
  snapshot->schedule->position = 0;
  return absl::OkStatus();
}

absl::Status LoseScale(Snapshot* snapshot) {
  if (!snapshot->scaler.has_value()) return Lacks("scaler");
  snapshot->scaler->scale = snapshot->scaler->scale == 65536 ? 256 : 65536;
  return absl::OkStatus();
}

absl::Status LoseTracker(Snapshot* snapshot) {
  if (!snapshot->scaler.has_value()) return Lacks("scaler");
  GradScalerState& scaler = *snapshot->scaler;
  scaler.growth_tracker =
      scaler.growth_tracker == 0 && scaler.growth_interval > 1 ? 1 : 0;
  return absl::OkStatus();
}

absl::Status LoseCursor(Snapshot* snapshot) {
  if (!snapshot->sampler.has_value()) return Lacks("sampler");
  SamplerState& sampler = *snapshot->sampler;
  const uint64_t before = sampler.cursor;
  const uint64_t into = sampler.cursor % sampler.dataset_size;
  sampler.cursor -= into > 0 ? into : std::min(before, sampler.batch_size);
  // A loader refuses stored duplicates that disagree.
  if (snapshot->counters.has_value()) {
    snapshot->counters->samples -= before - sampler.cursor;
  }
  return absl::OkStatus();
}

// Another generator state that its library accepts: one byte of its words.
absl::Status LoseGenerator(Snapshot* snapshot, const std::string& prefix) {
  for (GeneratorState& generator : snapshot->generators) {
    if (!absl::StartsWith(generator.name, prefix)) continue;
    if (generator.state.size() < 64) continue;
    generator.state[generator.state.size() / 2] ^= 0x5a;
    if (generator.offset.has_value()) *generator.offset += 4;
    return absl::OkStatus();
  }
  return Lacks(absl::StrCat(prefix, " generator"));
}

absl::Status LoseAverage(Snapshot* snapshot) {
  if (snapshot->ema_weights.empty()) return Lacks("averaged weights");
  for (Tensor& average : snapshot->ema_weights) {
    for (const Tensor& raw : snapshot->parameters) {
      if (raw.name() != average.name() || raw.dtype() != average.dtype() ||
          raw.num_bytes() != average.num_bytes()) {
        continue;
      }
      uint8_t* bytes = nullptr;
      average = WritableCopy(average, &bytes);
      std::memcpy(bytes, raw.data(), raw.num_bytes());
    }
  }
  return absl::OkStatus();
}

absl::Status LoseAverageUpdates(Snapshot* snapshot) {
  if (!snapshot->ema.has_value()) return Lacks("averaged weights");
  snapshot->ema->updates = 0;
  return absl::OkStatus();
}

absl::Status LoseBest(Snapshot* snapshot) {
  if (!snapshot->best.has_value()) return Lacks("best evaluation");
  snapshot->best->value = snapshot->best->higher_is_better ? -1e30 : 1e30;
  return absl::OkStatus();
}

absl::Status LosePatience(Snapshot* snapshot) {
  if (!snapshot->early_stop.has_value()) return Lacks("early stop");
  snapshot->early_stop->bad_count = 0;
  snapshot->early_stop->best.reset();
  return absl::OkStatus();
}

const std::map<Item, Lose>& Losses() {
  static const auto* losses = new std::map<Item, Lose>{
      {Item::MODEL_PARAMS, LoseParameters},
      {Item::MODEL_BUFFERS, LoseBuffers},
      {Item::OPTIM_MOMENTS, LoseMoments},
      {Item::OPTIM_STEP, LoseOptimizerStep},
      {Item::OPTIM_GROUPS, LoseGroups},
      {Item::OPTIM_IDENTITY, SwapIdentity},
      {Item::SCHED_POSITION, LosePosition},
      {Item::SCALER_SCALE, LoseScale},
      {Item::SCALER_GROWTH_TRACKER, LoseTracker},
      {Item::SAMPLER_CURSOR, LoseCursor},
      {Item::RNG_CPU,
       [](Snapshot* snapshot) { return LoseGenerator(snapshot, "cpu"); }},
      {Item::RNG_CUDA,
       [](Snapshot* snapshot) { return LoseGenerator(snapshot, "cuda"); }},
      {Item::EMA_WEIGHTS, LoseAverage},
      {Item::EMA_UPDATES, LoseAverageUpdates},
      {Item::BEST, LoseBest},
      {Item::EARLY_STOP, LosePatience},
  };
  return *losses;
}

absl::StatusOr<std::unique_ptr<CheckpointStore>> OpenStore(
    const std::string& run_folder, uint32_t major) {
  CheckpointStore::Options options;
  options.format_major = major;
  return CheckpointStore::Open(run_folder, options);
}

}  // namespace

Tensor WritableCopy(const Tensor& tensor, uint8_t** bytes) {
  auto owner = std::make_shared<std::vector<uint8_t>>(
      static_cast<const uint8_t*>(tensor.data()),
      static_cast<const uint8_t*>(tensor.data()) + tensor.num_bytes());
  *bytes = owner->data();
  Tensor copy =
      tensor.strides().empty()
          ? Tensor::Shared(tensor.name(), tensor.dtype(), tensor.shape(), owner,
                           owner->data())
          : Tensor::Strided(tensor.name(), tensor.dtype(), tensor.shape(),
                            tensor.strides(), owner, owner->data());
  // Tied tensors stay tied: copies of one storage are of one storage.
  if (tensor.storage().has_value()) {
    copy.SetStorage(tensor.storage()->id, tensor.storage()->offset);
  } else if (tensor.num_bytes() > 0) {
    copy.SetStorage(reinterpret_cast<uint64_t>(tensor.data()), 0);
  }
  return copy;
}

absl::Status EditNewest(
    const std::string& run_folder,
    const std::function<absl::Status(const Snapshot*, Snapshot*)>& edit) {
  if (!fs::is_directory(run_folder)) {
    return MakeRefusal(Refusal::ABSENT,
                       absl::StrCat(run_folder, ": no such run folder"));
  }
  std::string path;
  std::optional<LoadedCheckpoint> older;
  {
    auto store = OpenStore(run_folder, kV2Major);
    if (!store.ok()) return store.status();
    auto newest = (*store)->NewestVerified();
    if (!newest.ok()) return newest.status();
    if (!newest->checkpoint.has_value()) {
      return MakeRefusal(Refusal::ABSENT,
                         absl::StrCat(run_folder, ": no checkpoint to edit"));
    }
    path = newest->checkpoint->path;
    auto steps = (*store)->List();
    if (!steps.ok()) return steps.status();
    for (uint64_t step : *steps) {
      if (step >= newest->checkpoint->snapshot.step) continue;
      auto read =
          ReadAsStored(absl::StrCat(run_folder, "/", CheckpointName(step)));
      if (read.ok()) older = *std::move(read);
    }
  }
  auto loaded = ReadAsStored(path);
  if (!loaded.ok()) return loaded.status();
  Snapshot& snapshot = loaded->snapshot;
  if (snapshot.witness.has_value()) {
    snapshot.witness.reset();
    snapshot.MarkNotApplicable(Item::WITNESS, "edited on purpose");
  }
  absl::Status status =
      edit(older.has_value() ? &older->snapshot : nullptr, &snapshot);
  if (!status.ok()) return status;

  // Nothing of a later step may be there when it is saved again.
  const std::string aside = run_folder + ".edited";
  std::error_code error;
  fs::remove_all(aside, error);
  fs::rename(path, aside, error);
  if (error) {
    return absl::InternalError(
        absl::StrCat("cannot move ", path, " aside: ", error.message()));
  }
  auto store = OpenStore(run_folder, loaded->format_major);
  status = store.status();
  if (status.ok()) status = (*store)->Save(snapshot).status();
  if (!status.ok()) {
    fs::rename(aside, path, error);
    return status;
  }
  // The bytes of `loaded` may be mapped from it until here.
  fs::remove_all(aside, error);
  return absl::OkStatus();
}

std::vector<Item> LosableItems() {
  std::vector<Item> items;
  for (const auto& [item, lose] : Losses()) items.push_back(item);
  return items;
}

absl::Status LoseItem(const std::string& run_folder, Item item) {
  auto found = Losses().find(item);
  if (found == Losses().end()) {
    return absl::UnimplementedError(
        absl::StrCat(reprise::TextOf(item), " is not among the items to lose"));
  }
  return EditNewest(run_folder, [&](const Snapshot*, Snapshot* snapshot) {
    return found->second(snapshot);
  });
}

absl::Status KeepWeightsOnly(const std::string& run_folder) {
  return EditNewest(run_folder, [](const Snapshot*, Snapshot* snapshot) {
    for (const auto& [item, lose] : Losses()) {
      if (item == Item::MODEL_PARAMS) continue;
      absl::Status status = lose(snapshot);
      if (!status.ok() && !absl::IsNotFound(status)) return status;
    }
    return absl::OkStatus();
  });
}

}  // namespace reprise::conformance
