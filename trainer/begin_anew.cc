#include "trainer/begin_anew.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/refusal.h"
#include "format/vocabulary.h"
#include "trainer/checkpoint/train_state_codec.h"

namespace reprise {
namespace {

// Without these it is no run that can be gone on with.
bool CanBeginAnew(Item item) {
  switch (item) {
    case Item::MODEL_PARAMS:
    case Item::MODEL_BUFFERS:
    case Item::MASTER:
    case Item::OPTIM_KIND:
    case Item::OPTIM_GROUPS:
    case Item::OPTIM_MOMENTS:
    case Item::OPTIM_IDENTITY:
    case Item::SCHED_APPLIED:
    case Item::COUNTERS_STEP:
      return false;
    default:
      return true;
  }
}

std::string NamesOf(const std::vector<LackingItem>& items) {
  return absl::StrJoin(items, ",", [](std::string* out, const LackingItem& i) {
    out->append(TextOf(i.item));
  });
}

// "a, b (why); c (why)": items of one reason together, in their order.
std::string WithReasons(const std::vector<LackingItem>& items) {
  std::vector<std::pair<std::string, std::string>> by_reason;
  for (const LackingItem& item : items) {
    auto found = std::find_if(
        by_reason.begin(), by_reason.end(),
        [&item](const auto& entry) { return entry.first == item.reason; });
    if (found == by_reason.end()) {
      by_reason.emplace_back(item.reason, TextOf(item.item));
    } else {
      absl::StrAppend(&found->second, ", ", TextOf(item.item));
    }
  }
  return absl::StrJoin(
      by_reason, "; ", [](std::string* out, const auto& entry) {
        absl::StrAppend(out, entry.second, " (", entry.first, ")");
      });
}

bool Has(const std::vector<Item>& items, Item item) {
  return std::count(items.begin(), items.end(), item) > 0;
}

// The counters that the checkpoint does not have, of what it has.
void Count(bool has_position, Snapshot* snapshot) {
  CounterState counters;
  counters.applied = snapshot->step;
  if (has_position &&
      snapshot->schedule->unit == ScheduleState::Unit::kApplied) {
    counters.applied = snapshot->schedule->position;
  } else if (snapshot->optimizer.has_value()) {
    uint64_t most = 0;
    for (const ParameterState& state : snapshot->optimizer->states) {
      most = std::max(most, state.step);
    }
    if (most > 0) counters.applied = most;
  }
  counters.applied = std::min(counters.applied, snapshot->step);
  counters.skipped = snapshot->step - counters.applied;
  if (snapshot->sampler.has_value()) {
    counters.samples = snapshot->sampler->cursor;
  }
  snapshot->counters = counters;
}

// The position that the counters come to, where the samples begin anew.
void Position(Snapshot* snapshot) {
  ScheduleState& schedule = *snapshot->schedule;
  switch (schedule.unit) {
    case ScheduleState::Unit::kApplied:
      schedule.position = snapshot->counters.has_value()
                              ? snapshot->counters->applied
                              : snapshot->step;
      return;
    case ScheduleState::Unit::kAttempted:
      schedule.position = snapshot->step;
      return;
    case ScheduleState::Unit::kSamples:
    case ScheduleState::Unit::kEpochs:
      schedule.position = 0;
      return;
  }
}

absl::Status TakeBases(const Snapshot& fresh, Snapshot* snapshot) {
  std::vector<ParameterGroup>& groups = snapshot->optimizer->groups;
  const std::vector<ParameterGroup>& from = fresh.optimizer->groups;
  if (groups.size() != from.size()) {
    return MakeRefusal(Refusal::MISMATCH,
                       absl::StrCat("optim.groups: expected ", from.size(),
                                    " groups, found ", groups.size()));
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i].base_lr = from[i].base_lr;
  }
  return absl::OkStatus();
}

absl::Status TakeSchedule(Item item, const ScheduleState& from,
                          ScheduleState* to) {
  switch (item) {
    case Item::SCHED_DEFINITION:
      to->form = from.form;
      to->warmup = from.warmup;
      to->final_fraction = from.final_fraction;
      to->parameters = from.parameters;
      return absl::OkStatus();
    case Item::SCHED_UNIT:
      to->unit = from.unit;
      return absl::OkStatus();
    case Item::SCHED_HORIZON:
      to->horizon = from.horizon;
      return absl::OkStatus();
    default:
      to->state = from.state;
      return absl::OkStatus();
  }
}

void TakeGenerator(const std::string& name, const Snapshot& fresh,
                   Snapshot* snapshot) {
  for (const GeneratorState& generator : fresh.generators) {
    if (generator.name == name) snapshot->generators.push_back(generator);
  }
}

absl::Status Take(Item item, const Snapshot& fresh, Snapshot* snapshot) {
  switch (item) {
    case Item::MODEL_TIES:
      if (fresh.Find(item)->presence == Presence::PRESENCE_SAVED) {
        return MakeRefusal(
            Refusal::MISMATCH,
            "model.ties: the model has names that are one tensor, and the "
            "checkpoint does not say which of its own are; a file of "
            "torch.save does");
      }
      return absl::OkStatus();
    case Item::FROZEN_FLAGS:
      snapshot->frozen = fresh.frozen;
      return absl::OkStatus();
    case Item::MODE:
      snapshot->mode = fresh.mode;
      return absl::OkStatus();
    case Item::OPTIM_DTYPE:
      snapshot->optimizer->state_dtype = fresh.optimizer->state_dtype;
      return absl::OkStatus();
    case Item::SCHED_BASE:
      return TakeBases(fresh, snapshot);
    case Item::SCHED_DEFINITION:
    case Item::SCHED_UNIT:
    case Item::SCHED_HORIZON:
    case Item::SCHED_STATE:
      return TakeSchedule(item, *fresh.schedule, &*snapshot->schedule);
    case Item::DATA_FINGERPRINT:
      snapshot->fingerprint = fresh.fingerprint;
      return absl::OkStatus();
    case Item::LOADER_INFLIGHT:
      if (snapshot->sampler.has_value()) snapshot->sampler->in_flight.clear();
      return absl::OkStatus();
    case Item::RNG_CPU:
      TakeGenerator("cpu", fresh, snapshot);
      return absl::OkStatus();
    case Item::RNG_CUDA:
      TakeGenerator("cuda:0", fresh, snapshot);
      return absl::OkStatus();
    case Item::CLIP:
      snapshot->clip = fresh.clip;
      return absl::OkStatus();
    case Item::EVAL:
      snapshot->evaluation = fresh.evaluation;
      return absl::OkStatus();
    case Item::BEST:
      snapshot->best = fresh.best;
      return absl::OkStatus();
    case Item::EARLY_STOP:
      snapshot->early_stop = fresh.early_stop;
      return absl::OkStatus();
    case Item::CONFIG:
      snapshot->config = fresh.config;
      return absl::OkStatus();
    case Item::ENVIRONMENT:
      snapshot->environment = fresh.environment;
      return absl::OkStatus();
    default:
      return absl::OkStatus();
  }
}

// What is one thing begins anew as one, or not at all.
absl::Status TakeTogether(const std::vector<Item>& items, const Snapshot& fresh,
                          Snapshot* snapshot) {
  const auto absent = [&items](Item item, bool is_there) -> absl::Status {
    if (!Has(items, item) || !is_there) return absl::OkStatus();
    return MakeRefusal(
        Refusal::MISMATCH,
        absl::StrCat(TextOf(item),
                     ": the checkpoint has what belongs to it, so that it "
                     "cannot begin anew alone"));
  };
  for (Item item :
       {Item::SCALER_SCALE, Item::SCALER_GROWTH_TRACKER, Item::SCALER_CONFIG}) {
    if (auto s = absent(item, snapshot->scaler.has_value()); !s.ok()) return s;
  }
  for (Item item :
       {Item::SAMPLER_ALGORITHM, Item::SAMPLER_SEED, Item::SAMPLER_CURSOR,
        Item::SAMPLER_ORDER, Item::DATA_BATCH, Item::RNG_DATA}) {
    if (auto s = absent(item, snapshot->sampler.has_value()); !s.ok()) return s;
  }
  for (Item item : {Item::EMA_WEIGHTS, Item::EMA_UPDATES, Item::EMA_CONFIG}) {
    if (auto s = absent(item, snapshot->ema.has_value()); !s.ok()) return s;
  }
  for (Item item : {Item::ACCUM_COUNT, Item::ACCUM_GRADS}) {
    if (auto s = absent(item, snapshot->micro_step() > 0); !s.ok()) return s;
  }
  if (Has(items, Item::SCALER_SCALE)) snapshot->scaler = fresh.scaler;
  if (Has(items, Item::SAMPLER_CURSOR)) snapshot->sampler = fresh.sampler;
  if (Has(items, Item::EMA_UPDATES)) snapshot->ema = fresh.ema;
  if (Has(items, Item::ACCUM_COUNT)) {
    snapshot->accumulation = fresh.accumulation;
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<LackingItem> MissingFrom(const Snapshot& snapshot) {
  std::vector<LackingItem> missing = LackingFor(snapshot, ResumeLevel::BITWISE);
  const std::vector<Item> unknown_to_v1 = NotRecordedByV1(snapshot);
  missing.erase(std::remove_if(missing.begin(), missing.end(),
                               [&unknown_to_v1](const LackingItem& lacking) {
                                 return Has(unknown_to_v1, lacking.item);
                               }),
                missing.end());
  return missing;
}

absl::StatusOr<std::vector<Item>> AcceptMissing(
    const std::vector<LackingItem>& missing,
    const std::vector<std::string>& names, const std::string& path) {
  std::set<Item> named;
  std::vector<std::string> wrong;
  for (const std::string& name : names) {
    const auto item = ParseText<Item>(name);
    if (!item.has_value()) {
      wrong.push_back(absl::StrCat(name, " (no item's name)"));
      continue;
    }
    const bool is_missing =
        std::any_of(missing.begin(), missing.end(),
                    [&item](const LackingItem& m) { return m.item == *item; });
    if (!is_missing) wrong.push_back(absl::StrCat(name, " (not missing)"));
    named.insert(*item);
  }
  if (!wrong.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": --accept_missing: expected ",
        missing.empty() ? "nothing, for no item is missing"
                        : absl::StrCat("exactly ", NamesOf(missing)),
        "; found ", absl::StrJoin(wrong, ", ")));
  }
  std::vector<Item> accepted;
  std::vector<LackingItem> needed;
  std::vector<LackingItem> unnamed;
  for (const LackingItem& lacking : missing) {
    if (!CanBeginAnew(lacking.item)) needed.push_back(lacking);
    if (named.count(lacking.item) == 0) unnamed.push_back(lacking);
    accepted.push_back(lacking.item);
  }
  if (!needed.empty()) {
    return MakeRefusal(
        Refusal::MISSING_ITEM,
        absl::StrCat(path, ": the checkpoint lacks what cannot begin anew: ",
                     WithReasons(needed),
                     ". --init_from begins another run with its weights"));
  }
  if (!unnamed.empty()) {
    return MakeRefusal(
        Refusal::MISSING_ITEM,
        absl::StrCat(path,
                     ": training cannot go on as it was, the checkpoint "
                     "lacks: ",
                     WithReasons(unnamed),
                     ". To begin them anew, from the configuration: "
                     "--accept_missing=",
                     NamesOf(missing)));
  }
  return accepted;
}

absl::Status BeginAnew(const std::vector<Item>& items, const Snapshot& fresh,
                       Snapshot* snapshot) {
  if (items.empty()) return absl::OkStatus();
  const bool has_position = !Has(items, Item::SCHED_POSITION);
  if (!has_position) snapshot->schedule = fresh.schedule;
  if (!snapshot->optimizer.has_value() || !snapshot->schedule.has_value()) {
    return MakeRefusal(Refusal::MISSING_ITEM,
                       "optim or sched: not in the checkpoint, which is not "
                       "one to train on from");
  }
  if (auto s = TakeTogether(items, fresh, snapshot); !s.ok()) return s;
  for (Item item : items) {
    if (auto s = Take(item, fresh, snapshot); !s.ok()) return s;
  }
  if (Has(items, Item::COUNTERS_APPLIED) ||
      Has(items, Item::COUNTERS_SKIPPED) ||
      Has(items, Item::COUNTERS_SAMPLES)) {
    Count(has_position, snapshot);
  }
  if (!has_position) Position(snapshot);
  if (Has(items, Item::OPTIM_STEP)) {
    const uint64_t applied = snapshot->counters.has_value()
                                 ? snapshot->counters->applied
                                 : snapshot->step;
    for (ParameterState& state : snapshot->optimizer->states) {
      if (!state.moments.empty()) state.step = applied;
    }
  }
  for (ItemRecord& record : snapshot->inventory) {
    const ItemRecord* begun = fresh.Find(record.item);
    if (begun == nullptr || !Has(items, record.item)) continue;
    record.presence = begun->presence;
    record.reason = begun->reason;
  }
  // Another program's checkpoint announces nothing.
  if (!snapshot->witness.has_value()) {
    snapshot->MarkNotApplicable(Item::WITNESS, "not in the checkpoint");
  }
  if (Has(items, Item::OPTIM_STEP)) snapshot->MarkSaved(Item::OPTIM_STEP);
  return absl::OkStatus();
}

}  // namespace reprise
