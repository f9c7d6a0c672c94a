#include "conformance/fake/lose_item.h"

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "conformance/fake/arrays.h"
#include "conformance/fake/bed.h"
#include "conformance/fake/parts.h"
#include "conformance/fake/store.h"
#include "format/refusal.h"

namespace reprise::conformance::fake {
namespace {

using Lose = std::function<void(const State& fresh, State* state)>;

const std::map<Item, Lose>& Losses() {
  static const auto* losses = new std::map<Item, Lose>{
      {Item::MODEL_PARAMS,
       [](const State& fresh, State* state) {
         *state->mutable_parameters() = fresh.parameters();
       }},
      {Item::MODEL_BUFFERS,
       [](const State& fresh, State* state) {
         *state->mutable_buffers() = fresh.buffers();
       }},
      {Item::FROZEN_FLAGS,
       [](const State&, State* state) { state->clear_frozen(); }},
      {Item::OPTIM_MOMENTS,
       [](const State&, State* state) {
         for (auto& own : *state->mutable_optimizer()->mutable_states()) {
           for (float& value : *own.mutable_first()) value = 0;
           for (float& value : *own.mutable_second()) value = 0;
         }
       }},
      {Item::OPTIM_STEP,
       [](const State&, State* state) {
         for (auto& own : *state->mutable_optimizer()->mutable_states()) {
           own.set_step(0);
         }
       }},
      {Item::MASTER,
       [](const State&, State* state) {
         if (!state->masters().empty()) {
           *state->mutable_masters() = state->parameters();
         }
       }},
      {Item::SCHED_POSITION,
       [](const State&, State* state) {
         state->mutable_schedule()->set_position(0);
       }},
      {Item::SCHED_STATE,
       [](const State& fresh, State* state) {
         if (fresh.schedule().has_plateau()) {
           *state->mutable_schedule()->mutable_plateau() =
               fresh.schedule().plateau();
         }
       }},
      {Item::SCALER_SCALE,
       [](const State& fresh, State* state) {
         state->mutable_scaler()->set_scale(fresh.scaler().scale());
       }},
      {Item::SCALER_GROWTH_TRACKER,
       [](const State&, State* state) {
         state->mutable_scaler()->set_growth_tracker(0);
       }},
      {Item::SAMPLER_CURSOR,
       [](const State&, State* state) {
         state->mutable_sampler()->set_cursor(0);
       }},
      {Item::RNG_CPU,
       [](const State& fresh, State* state) {
         *state->mutable_cpu() = fresh.cpu();
       }},
      {Item::RNG_CUDA,
       [](const State& fresh, State* state) {
         if (fresh.has_cuda()) *state->mutable_cuda() = fresh.cuda();
       }},
      {Item::ACCUM_GRADS,
       [](const State&, State* state) {
         AccumulationState* group = state->mutable_accumulation();
         *group->mutable_gradients() = ZerosLike(group->gradients());
       }},
      {Item::EMA_WEIGHTS,
       [](const State&, State* state) {
         *state->mutable_ema()->mutable_weights() = Trained(*state);
       }},
      {Item::EMA_UPDATES,
       [](const State&, State* state) {
         state->mutable_ema()->set_updates(0);
       }},
      {Item::COUNTERS_APPLIED,
       [](const State&, State* state) {
         state->mutable_counters()->set_applied(0);
       }},
      {Item::COUNTERS_SAMPLES,
       [](const State&, State* state) {
         state->mutable_counters()->set_samples(0);
       }},
      {Item::BEST, [](const State&, State* state) { state->clear_best(); }},
      {Item::EARLY_STOP,
       [](const State&, State* state) {
         state->mutable_early_stop()->set_bad_count(0);
       }},
  };
  return *losses;
}

// The state at step 0 of the run that `state` belongs to.
absl::StatusOr<State> FreshStateOf(const State& state) {
  RunRequest request;
  for (const ConfigField& field : state.config()) {
    if (field.name() == "workload") request.set_workload(field.value());
  }
  // Seed and scale stand in the state itself; parameters, buffers and
  // generators depend on nothing else.
  request.set_seed(state.sampler().seed());
  absl::StatusOr<Bed> bed = BedFor(request);
  if (!bed.ok()) return bed.status();
  return InitialState(*bed);
}

class Unwatched : public SaveWatch {
 public:
  void At(v1::Point, const State&) override {}
  void Durable(const std::string&, const State&) override {}
};

absl::Status EditNewest(FileSystem* files, const std::string& run_folder,
                        const Lose& lose) {
  // Keeps everything: a control must not prune its neighbours.
  auto store = FileStore::Open(files, run_folder, 1u << 30);
  if (!store.ok()) return store.status();
  auto loaded = (*store)->Load();
  if (!loaded.ok()) return loaded.status();
  if (!loaded->has_value()) {
    return MakeRefusal(Refusal::ABSENT,
                       absl::StrCat(run_folder, ": no checkpoint to edit"));
  }
  State state = (*loaded)->state;
  absl::StatusOr<State> fresh = FreshStateOf(state);
  if (!fresh.ok()) return fresh.status();
  lose(*fresh, &state);
  absl::Status status = RemoveRecursively(
      files, JoinPath(run_folder, CheckpointName((*loaded)->state)));
  Unwatched watch;
  if (status.ok()) status = (*store)->Commit(state, &watch);
  return status;
}

}  // namespace

std::vector<Item> LosableItems() {
  std::vector<Item> items;
  for (const auto& [item, lose] : Losses()) items.push_back(item);
  return items;
}

absl::Status LoseItem(FileSystem* files, const std::string& run_folder,
                      Item item) {
  auto found = Losses().find(item);
  if (found == Losses().end()) {
    return absl::UnimplementedError(
        absl::StrCat(TextOf(item), " is not among the items to lose"));
  }
  return EditNewest(files, run_folder, found->second);
}

absl::Status KeepWeightsOnly(FileSystem* files, const std::string& run_folder) {
  return EditNewest(files, run_folder, [](const State& fresh, State* state) {
    for (const auto& [item, lose] : Losses()) {
      if (item == Item::MODEL_PARAMS || item == Item::MASTER) continue;
      lose(fresh, state);
    }
  });
}

}  // namespace reprise::conformance::fake
