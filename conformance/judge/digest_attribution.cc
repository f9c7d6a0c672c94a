#include "conformance/judge/digest_attribution.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "conformance/judge/causes.h"

namespace reprise::conformance {
namespace {

bool SameDigest(const v1::ItemDigest& a, const v1::ItemDigest& b) {
  if (!a.digest().empty() && !b.digest().empty()) {
    return a.digest() == b.digest();
  }
  return a.value() == b.value();
}

std::optional<double> ValueOf(const v1::ItemDigest& digest) {
  double value = 0;
  if (absl::SimpleAtod(digest.value(), &value)) return value;
  // "3 of 6".
  const size_t of = digest.value().find(" of ");
  if (of != std::string::npos &&
      absl::SimpleAtod(digest.value().substr(0, of), &value)) {
    return value;
  }
  // A count for each parameter, "a=3;b=3;": one number when all agree.
  std::optional<double> common;
  for (absl::string_view entry :
       absl::StrSplit(digest.value(), ';', absl::SkipEmpty())) {
    const size_t equals = entry.rfind('=');
    if (equals == absl::string_view::npos ||
        !absl::SimpleAtod(entry.substr(equals + 1), &value) ||
        (common.has_value() && *common != value)) {
      return std::nullopt;
    }
    common = value;
  }
  return common;
}

// Says where the run is recorded not to change from step to step: a wrong value
// is another setting, not another moment.
bool IsSetting(Item item) {
  switch (item) {
    case Item::OPTIM_KIND:
    case Item::OPTIM_DTYPE:
    case Item::SCHED_DEFINITION:
    case Item::SCHED_HORIZON:
    case Item::SCHED_BASE:
    case Item::SCALER_CONFIG:
    case Item::SAMPLER_ALGORITHM:
    case Item::SAMPLER_SEED:
    case Item::DATA_FINGERPRINT:
    case Item::DATA_BATCH:
    case Item::EMA_CONFIG:
    case Item::CLIP:
    case Item::PRECISION_FLAGS:
    case Item::CONFIG:
    case Item::MODEL_TIES:
    case Item::MODE:
      return true;
    default:
      return false;
  }
}

bool IsTensors(Item item) {
  return item == Item::MODEL_PARAMS || item == Item::MODEL_BUFFERS ||
         item == Item::OPTIM_MOMENTS || item == Item::EMA_WEIGHTS ||
         item == Item::ACCUM_GRADS;
}

bool IsGenerator(Item item) {
  return item == Item::RNG_CPU || item == Item::RNG_CUDA ||
         item == Item::RNG_DATA;
}

// A count of something, where a small difference is a lag or a lead.
bool IsCount(Item item) {
  return item == Item::SCHED_POSITION || item == Item::SAMPLER_CURSOR ||
         item == Item::OPTIM_STEP || item == Item::EMA_UPDATES ||
         item == Item::COUNTERS_STEP || item == Item::COUNTERS_APPLIED ||
         item == Item::COUNTERS_SKIPPED || item == Item::COUNTERS_SAMPLES ||
         item == Item::ACCUM_COUNT || item == Item::EARLY_STOP;
}

// Items that hold for a run whatever its state is.
bool IsIgnored(Item item) {
  return item == Item::ENVIRONMENT || item == Item::WITNESS ||
         item == Item::ITEM_UNSPECIFIED;
}

bool Named(const std::vector<v1::Finding>& findings, Item item) {
  for (const v1::Finding& finding : findings) {
    for (const v1::FaultName& name : finding.names()) {
      if (name.item() == item) return true;
    }
  }
  return false;
}

bool Contaminated(Item item, const std::vector<v1::Finding>& known) {
  for (const v1::Finding& finding : known) {
    for (const v1::FaultName& name : finding.names()) {
      if (Contaminates(name.item(), name.fault(), item)) return true;
    }
  }
  return false;
}

// Another value after every applied step.
bool AlwaysMoves(Item item) {
  return (IsTensors(item) && item != Item::ACCUM_GRADS) ||
         item == Item::OPTIM_STEP || item == Item::EMA_UPDATES ||
         item == Item::SAMPLER_CURSOR || item == Item::COUNTERS_STEP ||
         item == Item::COUNTERS_SAMPLES;
}

// Several steps of the attempt, none of them skipped, came before `step`.
bool AppliedSince(const Timeline& attempt, uint64_t step) {
  uint64_t applied = 0;
  for (const v1::StepEvent& record : attempt.steps) {
    if (record.step() <= step) applied += !record.skipped();
  }
  return applied >= 2;
}

// "optim" of optim.moments: parts that are saved and lost together.
std::string GroupOf(Item item) {
  return std::vector<std::string>(
      absl::StrSplit(reprise::TextOf(item), '.'))[0];
}

template <typename T, typename F>
void EraseIf(std::vector<T>* values, F condition) {
  values->erase(std::remove_if(values->begin(), values->end(), condition),
                values->end());
}

struct Candidate {
  Item item;
  Fault fault;
  std::string channel;
  std::string evidence;
  // Step whose value it is, when it is another one's than the resumed step.
  std::optional<uint64_t> foreign_step;
  // Step whose value it may be too, though another fault is nearer.
  std::optional<uint64_t> maybe_foreign;
  // A second fault that the value cannot be told from.
  std::optional<Fault> or_else;
  // v1::Finding.readings.
  std::vector<std::string> readings;
};

class Attributor {
 public:
  Attributor(const Context& context, const Lineage& lineage, size_t index)
      : context_(context),
        attempt_(lineage.attempts[index]),
        resume_(lineage.resumes[index]),
        lineage_(lineage),
        index_(index) {}

  DigestResult Attribute() {
    if (!attempt_.started) return {};
    BuildHistory();
    if (!resume_.fresh) {
      const Digests saved = SavedDigests();
      for (const auto& [item, found] : attempt_.after_load) {
        auto expected = saved.find(item);
        if (IsIgnored(item) || expected == saved.end()) continue;
        if (SameDigest(found, expected->second)) {
          result_.verified.insert(item);
        } else {
          NameLoad(item, found, expected->second);
        }
      }
      NameBetween(saved);
    }
    Combine();
    for (const Candidate& named : named_) {
      std::vector<v1::FaultName> names = {Name(named.item, named.fault)};
      if (named.or_else.has_value()) {
        names.push_back(Name(named.item, *named.or_else));
      }
      v1::Finding finding =
          MakeFinding(std::move(names), v1::Finding::DIGEST, index_ + 1,
                      resume_.step + 1, named.channel, named.evidence);
      for (const std::string& reading : named.readings) {
        finding.add_readings(reading);
      }
      result_.findings.push_back(std::move(finding));
    }
    return std::move(result_);
  }

 private:
  // What the checkpoint holds: its writer's digests, else the uninterrupted
  // run's at that step, for items on which uninterrupted runs agree.
  Digests SavedDigests() const {
    if (!resume_.saved.empty()) return resume_.saved;
    Digests digests;
    if (context_.baselines.empty()) return digests;
    for (const SaveRecord& save : context_.baselines[0].saves) {
      if (save.step != resume_.step || save.micro != resume_.micro) continue;
      for (const auto& [item, digest] : save.digests) {
        if (context_.noise.ItemExact(item)) digests[item] = digest;
      }
    }
    return digests;
  }

  void Remember(uint64_t step, const Digests& digests) {
    for (const auto& [item, digest] : digests) {
      if (!digest.digest().empty()) {
        history_[item].emplace_back(step, digest);
      }
    }
  }

  void BuildHistory() {
    for (const Timeline& baseline : context_.baselines) {
      if (initial_.empty()) initial_ = baseline.before_forward;
      for (const SaveRecord& save : baseline.saves) {
        if (save.step == 0 && save.micro == 0 && initial_.empty()) {
          initial_ = save.digests;
        }
        Remember(save.step, save.digests);
      }
    }
    result_.initial_known = !initial_.empty();
    if (!context_.baselines.empty()) AddFirstValues(context_.baselines[0]);
    for (size_t i = 0; i < index_; ++i) {
      const Timeline& attempt = lineage_.attempts[i];
      if (initial_.empty() && lineage_.resumes[i].fresh) {
        initial_ = attempt.before_forward;
      }
      for (const SaveRecord& save : attempt.saves) {
        Remember(save.step, save.digests);
      }
    }
  }

  // Where the testee gives no digests of a fresh start: generators before step
  // 1 from its record, and from the first save what moves only now and then.
  void AddFirstValues(const Timeline& baseline) {
    if (!baseline.steps.empty()) {
      for (const std::string& entry : baseline.steps[0].rng()) {
        const std::pair<std::string, std::string> parts =
            absl::StrSplit(entry, absl::MaxSplits('=', 1));
        v1::ItemDigest digest;
        digest.set_item(absl::StartsWith(parts.first, "cpu") ? Item::RNG_CPU
                        : absl::StartsWith(parts.first, "cuda")
                            ? Item::RNG_CUDA
                            : Item::RNG_DATA);
        digest.set_digest(parts.second);
        initial_.try_emplace(digest.item(), digest);
      }
    }
    if (baseline.saves.empty()) return;
    for (const auto& [item, digest] : baseline.saves.front().digests) {
      if (item == Item::BEST || item == Item::EARLY_STOP ||
          item == Item::SCHED_STATE || item == Item::FROZEN_FLAGS ||
          item == Item::EVAL) {
        initial_.try_emplace(item, digest);
      }
    }
  }

  bool IsInitial(Item item, const v1::ItemDigest& found) const {
    auto initial = initial_.find(item);
    return initial != initial_.end() && SameDigest(initial->second, found);
  }

  // Another step at which the item was saved with this digest; the nearest.
  std::optional<uint64_t> SavedAt(Item item,
                                  const v1::ItemDigest& found) const {
    auto known = history_.find(item);
    std::optional<uint64_t> nearest;
    if (found.digest().empty() || known == history_.end()) return nearest;
    for (const auto& [step, digest] : known->second) {
      if (step == resume_.step || digest.digest() != found.digest()) continue;
      auto distance = [this](uint64_t s) {
        return s > resume_.step ? s - resume_.step : resume_.step - s;
      };
      if (!nearest.has_value() || distance(step) < distance(*nearest)) {
        nearest = step;
      }
    }
    return nearest;
  }

  std::string Values(const v1::ItemDigest& found,
                     const v1::ItemDigest& expected) const {
    auto text = [](const v1::ItemDigest& digest) {
      return digest.value().empty() ? digest.digest() : digest.value();
    };
    return absl::StrCat(" (saved ", text(expected), ", found ", text(found),
                        ")");
  }

  void Add(Item item, Fault fault, std::string channel, std::string evidence,
           std::optional<uint64_t> foreign = std::nullopt) {
    named_.push_back(
        {item,
         fault,
         std::move(channel),
         absl::StrCat("attempt ", index_ + 1, ", resumed from step ",
                      resume_.step, ": ", evidence),
         foreign,
         std::nullopt,
         std::nullopt,
         {}});
  }

  // Fault of a count from its value alone; nullopt when the value does not say.
  std::optional<Fault> CountFault(Item item, double found,
                                  double expected) const {
    const Workload& workload = context_.workload;
    const double epoch_samples =
        static_cast<double>(workload.epoch_steps * workload.step_samples);
    if (item == Item::SAMPLER_CURSOR && epoch_samples > 0) {
      const double epoch_start =
          std::floor(expected / epoch_samples) * epoch_samples;
      const bool at_boundary = epoch_start == expected && expected > 0;
      if (at_boundary && std::abs(found - expected) == epoch_samples) {
        return Fault::FAULT_EPOCH_END;
      }
      if (found == epoch_start || found == 0) return Fault::FAULT_RESET;
    } else if (found == 0) {
      return Fault::FAULT_RESET;
    }
    // Whole steps taken for micro-steps.
    if (item == Item::SAMPLER_CURSOR && workload.accumulation > 1 &&
        resume_.step > 0 &&
        found == static_cast<double>(resume_.step * workload.step_samples) /
                     static_cast<double>(workload.accumulation)) {
      return Fault::FAULT_UNIT;
    }
    // Counted in another unit: micro-steps, samples, epochs. The epoch may be
    // the one begun or the ones completed.
    std::vector<double> factors;
    if (workload.accumulation > 1) {
      factors.push_back(static_cast<double>(workload.accumulation));
    }
    if (workload.step_samples > 1) {
      factors.push_back(static_cast<double>(workload.step_samples));
      factors.push_back(static_cast<double>(workload.step_samples) /
                        static_cast<double>(workload.accumulation));
    }
    for (double factor : factors) {
      if (factor <= 1) continue;
      if (found == expected * factor || found * factor == expected ||
          (item != Item::SAMPLER_CURSOR &&
           found == std::floor(expected / factor))) {
        return Fault::FAULT_UNIT;
      }
    }
    if (item == Item::SCHED_POSITION && workload.epoch_steps > 1) {
      const double epochs =
          expected / static_cast<double>(workload.epoch_steps);
      if (found == std::floor(epochs) || found == std::floor(epochs) + 1) {
        // One of few small numbers is a lag only when it is near.
        if (expected - found > 1) return Fault::FAULT_UNIT;
      }
    }
    return found < expected ? Fault::FAULT_LAG : Fault::FAULT_LEAD;
  }

  void NameLoad(Item item, const v1::ItemDigest& found,
                const v1::ItemDigest& expected) {
    const std::string channel = "digest after load";
    const std::string values = Values(found, expected);
    const std::string text = reprise::TextOf(item);
    if (Swapped(item, found)) {
      Add(item == Item::MODEL_PARAMS ? Item::EMA_WEIGHTS : item,
          Fault::FAULT_SWAPPED, channel,
          absl::StrCat(
              text, " holds the values of ",
              item == Item::MODEL_PARAMS ? "ema.weights" : "another item",
              values));
      return;
    }
    const std::optional<double> value = ValueOf(found);
    const std::optional<double> saved = ValueOf(expected);
    if (item == Item::OPTIM_STEP && value.has_value() && value == saved) {
      // The same counts, kept by other parameters.
      Add(Item::OPTIM_IDENTITY, Fault::FAULT_SWAPPED, channel,
          absl::StrCat("the optimizer's state changed places", values));
      return;
    }
    if (value.has_value() && saved.has_value() && IsCount(item)) {
      const std::optional<uint64_t> at = SavedAt(item, found);
      Fault fault = IsInitial(item, found) ? Fault::FAULT_RESET
                                           : *CountFault(item, *value, *saved);
      // At an epoch's end the start of the run may be the epoch repeated.
      if (item == Item::SAMPLER_CURSOR &&
          CountFault(item, *value, *saved) == Fault::FAULT_EPOCH_END) {
        fault = Fault::FAULT_EPOCH_END;
      }
      if ((fault == Fault::FAULT_LAG || fault == Fault::FAULT_LEAD) &&
          at.has_value() && Distance(*at) > 1 &&
          std::abs(*value - *saved) > 1 &&
          !(item == Item::SAMPLER_CURSOR && WholeEpochs(*value, *saved))) {
        Foreign(item, *at, channel, values);
        return;
      }
      Add(item, fault, channel,
          absl::StrCat(text, " is not what was saved", values));
      if (fault != Fault::FAULT_LAG && fault != Fault::FAULT_LEAD) {
        named_.back().maybe_foreign = at;
      }
      if (item == Item::SCHED_POSITION && *value == 0 &&
          context_.workload.epoch_steps > resume_.step) {
        // Or counted in epochs, of which none is over.
        named_.back().readings = {"RESET", "UNIT"};
      }
      return;
    }
    // A scale takes few values: that some step had this one says little.
    if (item == Item::SCALER_SCALE && value.has_value() && saved.has_value()) {
      const bool updated = *value == 2 * *saved || 2 * *value == *saved;
      const bool first = *value == FirstScale();
      if (first || updated) {
        Add(item, first ? Fault::FAULT_RESET : Fault::FAULT_SIDE_EFFECT,
            channel,
            absl::StrCat(first ? "the scale is that of step 1"
                               : "the scaler was updated by the load",
                         values));
        if (first) named_.back().readings.push_back("RESET");
        if (updated) {
          named_.back().readings.push_back(
              absl::StrCat("SIDE_EFFECT by ", *value / *saved));
        }
        if (first && updated) named_.back().or_else = Fault::FAULT_SIDE_EFFECT;
        named_.back().maybe_foreign = SavedAt(item, found);
        return;
      }
    }
    if (item == Item::SCALER_GROWTH_TRACKER && value.has_value() &&
        saved.has_value() && (*value == 0 || *value == *saved + 1)) {
      Add(item, *value == 0 ? Fault::FAULT_RESET : Fault::FAULT_SIDE_EFFECT,
          channel,
          absl::StrCat("the growth tracker is not what was saved", values));
      named_.back().maybe_foreign = SavedAt(item, found);
      return;
    }
    if (IsInitial(item, found)) {
      Add(item, Fault::FAULT_RESET, channel,
          absl::StrCat(text, " has the value of a fresh start", values));
      return;
    }
    if (item == Item::EMA_WEIGHTS && EqualsItem(Item::MODEL_PARAMS, found)) {
      Add(item, Fault::FAULT_RESET, channel,
          "ema.weights starts again from the raw weights");
      return;
    }
    if (const auto at = SavedAt(item, found); at.has_value()) {
      Foreign(item, *at, channel, values);
      return;
    }
    if (found.has_as_of_step() && found.as_of_step() != resume_.step) {
      Foreign(item, found.as_of_step(), channel, values);
      return;
    }
    if (IsTensors(item)) {
      result_.unknown_tensors.insert(item);
      unknown_evidence_[item] =
          absl::StrCat(text, " matches no known step", values);
      return;
    }
    Fault fault = Fault::FAULT_RESET;
    if (item == Item::MASTER) fault = Fault::FAULT_REBUILT;
    if (item == Item::OPTIM_IDENTITY) fault = Fault::FAULT_SWAPPED;
    if (item == Item::SAMPLER_ORDER) fault = Fault::FAULT_REORDERED;
    if (item == Item::SCHED_UNIT) fault = Fault::FAULT_UNIT;
    if (IsSetting(item) || item == Item::SCALER_SCALE) {
      fault = Fault::FAULT_CHANGED;
    }
    Add(item, fault, channel,
        absl::StrCat(text, " is not what was saved and no known step's",
                     values));
  }

  // Scale of the run's first step; 0 when it is not recorded.
  double FirstScale() const {
    if (context_.baselines.empty() || context_.baselines[0].steps.empty()) {
      return 0;
    }
    return ReadChannel(Channel::kScale, &context_.baselines[0].steps[0],
                       nullptr)
        .first();
  }

  // Samples that differ by a number of epochs.
  bool WholeEpochs(double found, double saved) const {
    const double epoch = static_cast<double>(context_.workload.epoch_steps *
                                             context_.workload.step_samples);
    return epoch > 0 && std::fmod(std::abs(found - saved), epoch) == 0;
  }

  uint64_t Distance(uint64_t step) const {
    return step > resume_.step ? step - resume_.step : resume_.step - step;
  }

  void Foreign(Item item, uint64_t at, const std::string& channel,
               const std::string& values) {
    Fault fault = Fault::FAULT_STALE;
    if (at > resume_.step) fault = Fault::FAULT_LEAD;
    if (at < resume_.step && Distance(at) == 1) fault = Fault::FAULT_LAG;
    if (resume_.writer_resumed == at) fault = Fault::FAULT_STICKY;
    Add(item, fault, channel,
        absl::StrCat(reprise::TextOf(item), " is that of step ", at, values),
        at);
  }

  bool EqualsItem(Item other, const v1::ItemDigest& found) const {
    for (const Digests* digests : {&resume_.saved, &attempt_.after_load}) {
      auto entry = digests->find(other);
      if (entry != digests->end() && !found.digest().empty() &&
          entry->second.digest() == found.digest()) {
        return true;
      }
    }
    return false;
  }

  // The raw weights are the averaged ones that were saved.
  bool Swapped(Item item, const v1::ItemDigest& found) const {
    if (item != Item::MODEL_PARAMS) return false;
    auto ema = resume_.saved.find(Item::EMA_WEIGHTS);
    return ema != resume_.saved.end() && !found.digest().empty() &&
           ema->second.digest() == found.digest();
  }

  bool MadeUpEvaluation() const {
    return attempt_.FindEvaluation(resume_.step) != nullptr;
  }

  // What changed between the load and the first forward pass.
  void NameBetween(const Digests& saved) {
    for (const auto& [item, found] : attempt_.before_forward) {
      if (IsIgnored(item)) continue;
      auto loaded = attempt_.after_load.find(item);
      if (loaded == attempt_.after_load.end()) continue;
      if (SameDigest(found, loaded->second)) continue;
      // An evaluation that the checkpoint had pending is made up for first.
      if (MadeUpEvaluation() &&
          (item == Item::EVAL || item == Item::BEST ||
           item == Item::EARLY_STOP || item == Item::SCHED_STATE ||
           item == Item::SCHED_APPLIED)) {
        continue;
      }
      // Changed back to what was saved: restored late, but restored.
      auto expected = saved.find(item);
      if (expected != saved.end() && SameDigest(found, expected->second)) {
        EraseIf(&named_, [item = item](const Candidate& named) {
          return named.item == item;
        });
        result_.unknown_tensors.erase(item);
        result_.verified.insert(item);
        continue;
      }
      // Lost by the load already: what happens to it then is no second fault.
      if (result_.verified.erase(item) == 0) continue;
      const std::string values = Values(found, loaded->second);
      Fault fault = Fault::FAULT_SIDE_EFFECT;
      std::string what = " was changed between the load and the first forward";
      if (IsGenerator(item)) {
        fault = IsInitial(item, found) ? Fault::FAULT_RESEEDED
                                       : Fault::FAULT_CONSUMED;
        what = fault == Fault::FAULT_RESEEDED
                   ? " was seeded again between the load and the first forward"
                   : " was drawn from between the load and the first forward";
      } else if (!IsTensors(item) && IsInitial(item, found) &&
                 item != Item::SCALER_GROWTH_TRACKER) {
        fault = Fault::FAULT_RESET;
        what = " was overwritten with its first value after the load";
      } else if (item == Item::LOADER_INFLIGHT ||
                 item == Item::SAMPLER_CURSOR) {
        fault = Fault::FAULT_CONSUMED;
      }
      Add(item, fault, "digest before the first forward",
          absl::StrCat(reprise::TextOf(item), what, values));
    }
  }

  // Several items of several other steps are one fault.
  void Combine() {
    const bool any_foreign = std::any_of(
        named_.begin(), named_.end(),
        [](const Candidate& named) { return named.foreign_step.has_value(); });
    for (Candidate& named : named_) {
      if (any_foreign && !named.foreign_step.has_value()) {
        named.foreign_step = named.maybe_foreign;
      }
    }
    std::set<std::string> foreign_groups;
    std::set<uint64_t> foreign_steps;
    std::string parts;
    for (const Candidate& named : named_) {
      if (!named.foreign_step.has_value()) continue;
      foreign_groups.insert(GroupOf(named.item));
      foreign_steps.insert(*named.foreign_step);
      absl::StrAppend(&parts, parts.empty() ? "" : ", ",
                      reprise::TextOf(named.item), " of step ",
                      *named.foreign_step);
    }
    const bool torn =
        !result_.unknown_tensors.empty() &&
        std::any_of(named_.begin(), named_.end(), [](const Candidate& named) {
          return named.foreign_step.has_value();
        });
    if (foreign_groups.size() >= 2 && !torn) {
      const bool everything = AllForeign() && foreign_steps.size() == 1;
      EraseIf(&named_, [](const Candidate& named) {
        return named.foreign_step.has_value();
      });
      if (everything) {
        Add(Item::SOURCE, Fault::FAULT_STALE, "digest after load",
            absl::StrCat("every item is that of step ",
                         *foreign_steps.begin()));
      } else {
        Add(Item::GENERATION, Fault::FAULT_MIXED, "digest after load",
            absl::StrCat("parts of different steps: ", parts));
      }
    }
    // What follows from another item's value.
    auto has = [this](Item item) {
      return std::any_of(named_.begin(), named_.end(),
                         [item](const Candidate& n) { return n.item == item; });
    };
    auto drop = [this](Item item) {
      EraseIf(&named_, [item](const Candidate& n) { return n.item == item; });
      result_.unknown_tensors.erase(item);
    };
    if (has(Item::MODEL_TIES)) {
      // A parameter more or less: everything kept for each parameter differs.
      for (Item item :
           {Item::MODEL_PARAMS, Item::OPTIM_GROUPS, Item::OPTIM_IDENTITY,
            Item::OPTIM_STEP, Item::OPTIM_MOMENTS, Item::ACCUM_GRADS,
            Item::EMA_WEIGHTS, Item::MASTER}) {
        drop(item);
      }
    }
    if (has(Item::OPTIM_IDENTITY) || has(Item::OPTIM_DTYPE)) {
      drop(Item::OPTIM_MOMENTS);
    }
    if (has(Item::SCHED_POSITION) || has(Item::SCHED_HORIZON) ||
        has(Item::SCHED_UNIT) || has(Item::SCHED_BASE) ||
        has(Item::OPTIM_GROUPS) || has(Item::SCHED_STATE)) {
      drop(Item::SCHED_APPLIED);
    }
    if (has(Item::SCHED_UNIT)) drop(Item::SCHED_POSITION);
    // A grown scale starts its count again.
    for (const Candidate& named : named_) {
      if (named.item == Item::SCALER_SCALE &&
          named.fault == Fault::FAULT_SIDE_EFFECT) {
        drop(Item::SCALER_GROWTH_TRACKER);
        break;
      }
    }
    // The order of an epoch follows from these.
    if (has(Item::SAMPLER_CURSOR) || has(Item::SAMPLER_SEED) ||
        has(Item::SAMPLER_ALGORITHM) || has(Item::DATA_FINGERPRINT) ||
        has(Item::DATA_BATCH)) {
      drop(Item::SAMPLER_ORDER);
    }
    // Everything at its first value: nothing was loaded.
    size_t resets = 0;
    for (const Candidate& named : named_) {
      resets += named.fault == Fault::FAULT_RESET;
    }
    if (has(Item::MODEL_PARAMS) && resets >= 3 && resets == named_.size() &&
        MovingVerified() == 0) {
      named_.clear();
      Add(Item::SOURCE, Fault::FAULT_NONE, "digest after load",
          "every item has the value of a fresh start");
    }
    NameUnknownTensors(torn);
  }

  // Verified items that do change along a run.
  size_t MovingVerified() const {
    size_t moving = 0;
    for (Item item : result_.verified) {
      auto initial = initial_.find(item);
      auto loaded = attempt_.after_load.find(item);
      moving += initial != initial_.end() &&
                loaded != attempt_.after_load.end() &&
                !SameDigest(initial->second, loaded->second);
    }
    return moving;
  }

  bool AllForeign() const {
    return MovingVerified() == 0 &&
           std::all_of(named_.begin(), named_.end(),
                       [](const Candidate& named) {
                         return named.foreign_step.has_value();
                       });
  }

  // Weights and moments that match nothing: torn when the testee says that
  // their parts are of different steps; else left to the curves.
  void NameUnknownTensors(bool torn) {
    if (result_.unknown_tensors.empty()) return;
    const bool swapped =
        std::any_of(named_.begin(), named_.end(), [](const Candidate& named) {
          return named.item == Item::OPTIM_IDENTITY;
        });
    if (swapped) result_.unknown_tensors.erase(Item::OPTIM_MOMENTS);
    if (torn || (result_.unknown_tensors.count(Item::MODEL_PARAMS) > 0 &&
                 result_.unknown_tensors.size() >= 2)) {
      std::string parts;
      for (Item item : result_.unknown_tensors) {
        absl::StrAppend(&parts, parts.empty() ? "" : "; ",
                        unknown_evidence_[item]);
      }
      EraseIf(&named_, [](const Candidate& named) {
        return named.foreign_step.has_value();
      });
      result_.unknown_tensors.clear();
      Add(Item::SNAPSHOT, Fault::FAULT_TORN, "digest after load", parts);
    }
  }

  const Context& context_;
  const Timeline& attempt_;
  const Resume& resume_;
  const Lineage& lineage_;
  const size_t index_;
  Digests initial_;
  std::map<Item, std::vector<std::pair<uint64_t, v1::ItemDigest>>> history_;
  std::map<Item, std::string> unknown_evidence_;
  std::vector<Candidate> named_;
  DigestResult result_;
};

}  // namespace

DigestResult AttributeDigests(const Context& context, const Lineage& lineage,
                              size_t index) {
  return Attributor(context, lineage, index).Attribute();
}

std::vector<v1::Finding> AttributeSaves(const Context& context,
                                        const Lineage& lineage, size_t index,
                                        const std::vector<v1::Finding>& known,
                                        bool always_moving) {
  std::vector<v1::Finding> findings;
  const Timeline& attempt = lineage.attempts[index];
  if (context.baselines.empty() || lineage.resumes[index].fresh)
    return findings;
  // Under noise what may rest may rest longer.
  if (context.noise.Noisy() && !always_moving) return findings;
  std::set<Item> named;
  for (const SaveRecord& save : attempt.saves) {
    for (const SaveRecord& reference : context.baselines[0].saves) {
      if (reference.step != save.step || reference.micro != save.micro) {
        continue;
      }
      const bool applied = AppliedSince(attempt, save.step);
      for (const auto& [item, found] : save.digests) {
        auto expected = reference.digests.find(item);
        auto loaded = attempt.after_load.find(item);
        if (IsIgnored(item) || item == Item::BEST || item == Item::EARLY_STOP ||
            IsSetting(item) || !applied ||
            expected == reference.digests.end() ||
            loaded == attempt.after_load.end() ||
            !context.noise.ItemExact(item) ||
            SameDigest(found, expected->second) ||
            !SameDigest(found, loaded->second) ||
            AlwaysMoves(item) != always_moving ||
            (!always_moving && Contaminated(item, known)) ||
            (item == Item::MODEL_BUFFERS && Named(known, Item::MODE)) ||
            !named.insert(item).second) {
          continue;
        }
        findings.push_back(MakeFinding(
            {Name(item, Fault::FAULT_STICKY)}, v1::Finding::DIGEST, index + 1,
            save.step, "digest at save",
            absl::StrCat("attempt ", index + 1, ": ", reprise::TextOf(item),
                         " saved at step ", save.step,
                         " is still the one that was loaded")));
      }
    }
  }
  return findings;
}

}  // namespace reprise::conformance
