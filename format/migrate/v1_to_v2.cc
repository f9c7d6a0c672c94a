#include "format/migrate/v1_to_v2.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/refusal.h"
#include "format/v1/items.h"
#include "format/v2/items.h"
#include "format/version.h"

namespace reprise {
namespace {

class V1ToV2 {
 public:
  V1ToV2(const Snapshot& v1, const V1Source& source)
      : snapshot_(v1), source_(source) {}

  absl::StatusOr<Snapshot> Run() {
    MarkWhatV1DoesNotRecord();
    Mode();
    Clip();
    LearningRates();
    Streams();
    Generators();
    absl::Status status = Counters();
    if (!status.ok()) return status;
    RecordTheStep();
    return std::move(snapshot_);
  }

 private:
  Presence PresenceOf(Item item) const {
    return snapshot_.Find(item)->presence;
  }
  bool Saved(Item item) const { return IsSavedV2(snapshot_, item); }
  void Note(std::string note) { notes_.push_back(std::move(note)); }

  void MarkWhatV1DoesNotRecord() {
    for (Item item : ItemsNotRecordedByV1()) {
      snapshot_.MarkOmitted(item, kNotRecordedByV1);
    }
  }

  // At a boundary, where every version 1 checkpoint is, the model is in
  // training mode.
  void Mode() {
    if (!Saved(Item::MODE)) return;
    snapshot_.mode = ModelMode{/*training=*/true, {}};
    Note("mode: training, as at every boundary");
  }

  // Its place in the configuration is the trainer's own business.
  void Clip() {
    if (!Saved(Item::CLIP)) return;
    snapshot_.MarkOmitted(Item::CLIP,
                          "not recorded by v1 but in the configuration");
    Note("clip: in the configuration only");
  }

  // Without a schedule, version 1 counts them to the options of the groups.
  void LearningRates() {
    if (!Saved(Item::OPTIM_GROUPS)) return;
    for (Item item : {Item::SCHED_APPLIED, Item::SCHED_BASE}) {
      if (PresenceOf(item) != Presence::PRESENCE_NOT_APPLICABLE) continue;
      snapshot_.MarkSaved(item);
      Note(absl::StrCat(TextOf(item), ": from the options of the groups"));
    }
  }

  // Counter-based streams have no state, so version 1 may call the item not
  // applicable and name their algorithm; version 2 counts that as its value.
  void Streams() {
    if (!snapshot_.sampler.has_value() ||
        snapshot_.sampler->stream_algorithm.empty() ||
        PresenceOf(Item::RNG_DATA) != Presence::PRESENCE_NOT_APPLICABLE) {
      return;
    }
    snapshot_.MarkSaved(Item::RNG_DATA);
    Note("rng.data: SAVED, as its algorithm is in the file");
  }

  // cpu, then cuda:0, cuda:1, ...
  void Generators() {
    std::stable_sort(snapshot_.generators.begin(), snapshot_.generators.end(),
                     [](const GeneratorState& a, const GeneratorState& b) {
                       const bool a_cuda = absl::StartsWith(a.name, "cuda:");
                       const bool b_cuda = absl::StartsWith(b.name, "cuda:");
                       if (a_cuda != b_cuda) return b_cuda;
                       return a.name.size() != b.name.size()
                                  ? a.name.size() < b.name.size()
                                  : a.name < b.name;
                     });
  }

  absl::Status Counters() {
    CounterState counters;
    bool any = false;
    if (Saved(Item::SAMPLER_CURSOR)) {
      counters.samples = snapshot_.sampler->cursor;
      snapshot_.MarkSaved(Item::COUNTERS_SAMPLES);
      Note("counters.samples: from epoch and batch of the sampler");
      any = true;
    }
    absl::StatusOr<std::optional<uint64_t>> applied = AppliedSteps();
    if (!applied.ok()) return applied.status();
    if (applied->has_value()) {
      counters.applied = **applied;
      counters.skipped = snapshot_.step - counters.applied;
      snapshot_.MarkSaved(Item::COUNTERS_APPLIED);
      snapshot_.MarkSaved(Item::COUNTERS_SKIPPED);
      any = true;
    }
    if (any) snapshot_.counters = counters;
    return absl::OkStatus();
  }

  // Who says how many steps were applied.
  struct Account {
    std::string where;
    uint64_t steps = 0;
  };

  std::vector<Account> AccountsOfAppliedSteps() const {
    std::vector<Account> accounts;
    if (Saved(Item::SCHED_POSITION) && Saved(Item::SCHED_UNIT) &&
        snapshot_.schedule->unit == ScheduleState::Unit::kApplied) {
      accounts.push_back({"sched.position", snapshot_.schedule->position});
    }
    if (PresenceOf(Item::OPTIM_STEP) == Presence::PRESENCE_EMPTY ||
        PresenceOf(Item::OPTIM_MOMENTS) == Presence::PRESENCE_EMPTY) {
      accounts.push_back({"the optimizer, which has no state yet", 0});
    }
    if (!Saved(Item::OPTIM_STEP)) return accounts;
    bool some_step = false;
    for (const ParameterState& state : snapshot_.optimizer->states) {
      // A parameter that never took a step says nothing about the others.
      if (state.step == 0 && state.moments.empty()) continue;
      some_step = true;
      accounts.push_back(
          {absl::StrCat("parameter ", state.parameter), state.step});
    }
    if (!some_step) accounts.push_back({"every parameter", 0});
    return accounts;
  }

  absl::StatusOr<std::optional<uint64_t>> AppliedSteps() {
    const std::vector<Account> accounts = AccountsOfAppliedSteps();
    if (accounts.empty()) return std::optional<uint64_t>();
    const Account& first = accounts.front();
    for (const Account& other : accounts) {
      if (other.steps == first.steps) continue;
      return MakeRefusal(
          Refusal::INVALID_VALUE,
          absl::StrCat("optim.step: ", first.where, " says that ", first.steps,
                       " steps were applied, ", other.where, " says ",
                       other.steps,
                       "; which is true cannot be known, so version 1 is not "
                       "migrated"));
    }
    if (first.steps > snapshot_.step) {
      return MakeRefusal(
          Refusal::INVALID_VALUE,
          absl::StrCat("optim.step: ", first.where, " says that ", first.steps,
                       " steps were applied of ", snapshot_.step,
                       " attempted ones"));
    }
    Note(absl::StrCat("counters.applied, counters.skipped: from ",
                      absl::StartsWith(first.where, "sched")
                          ? "sched.position and the optimizer"
                          : "the optimizer"));
    return std::optional<uint64_t>(first.steps);
  }

  void RecordTheStep() {
    std::vector<std::string> omitted;
    for (Item item : ItemsNotRecordedByV1()) {
      if (PresenceOf(item) == Presence::PRESENCE_OMITTED) {
        omitted.push_back(TextOf(item));
      }
    }
    Note(absl::StrCat(kNotRecordedByV1, ": ", absl::StrJoin(omitted, ", ")));
    for (const std::string& unknown : source_.unknown) Note(unknown);
    snapshot_.history.push_back({kV1Major, kV2Major, kV1ToV2Program,
                                 source_.manifest_digest, std::move(notes_)});
  }

  Snapshot snapshot_;
  const V1Source& source_;
  std::vector<std::string> notes_;
};

}  // namespace

absl::StatusOr<Snapshot> MigrateV1ToV2(const Snapshot& v1,
                                       const V1Source& source) {
  return V1ToV2(v1, source).Run();
}

const std::set<Item>& ItemsNotRecordedByV1() {
  static const auto* const items = [] {
    auto* missing = new std::set<Item>(ItemsOfV2().begin(), ItemsOfV2().end());
    for (Item item : ItemsOfV1()) missing->erase(item);
    return missing;
  }();
  return *items;
}

}  // namespace reprise
