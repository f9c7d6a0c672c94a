#include "conformance/judge/digest_attribution.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "conformance/judge/count_fault.h"
#include "conformance/judge/item_digest.h"
#include "conformance/judge/item_history.h"
#include "conformance/judge/item_kinds.h"

namespace reprise::conformance {
namespace {

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
        index_(index),
        history_(context, lineage, index) {
    result_.initial_known = history_.initial_known();
  }

  DigestResult Attribute() {
    if (!attempt_.started) return {};
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
      const std::optional<uint64_t> at =
          history_.SavedAt(item, found, resume_.step);
      Fault fault = history_.IsInitial(item, found)
                        ? Fault::FAULT_RESET
                        : CountFault(context_.workload, resume_.step, item,
                                     *value, *saved);
      // At an epoch's end the start of the run may be the epoch repeated.
      if (item == Item::SAMPLER_CURSOR &&
          CountFault(context_.workload, resume_.step, item, *value, *saved) ==
              Fault::FAULT_EPOCH_END) {
        fault = Fault::FAULT_EPOCH_END;
      }
      if ((fault == Fault::FAULT_LAG || fault == Fault::FAULT_LEAD) &&
          at.has_value() && StepDistance(*at, resume_.step) > 1 &&
          std::abs(*value - *saved) > 1 &&
          !(item == Item::SAMPLER_CURSOR &&
            WholeEpochs(context_.workload, *value, *saved))) {
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
        named_.back().maybe_foreign =
            history_.SavedAt(item, found, resume_.step);
        return;
      }
    }
    if (item == Item::SCALER_GROWTH_TRACKER && value.has_value() &&
        saved.has_value() && (*value == 0 || *value == *saved + 1)) {
      Add(item, *value == 0 ? Fault::FAULT_RESET : Fault::FAULT_SIDE_EFFECT,
          channel,
          absl::StrCat("the growth tracker is not what was saved", values));
      named_.back().maybe_foreign = history_.SavedAt(item, found, resume_.step);
      return;
    }
    if (history_.IsInitial(item, found)) {
      Add(item, Fault::FAULT_RESET, channel,
          absl::StrCat(text, " has the value of a fresh start", values));
      return;
    }
    if (item == Item::EMA_WEIGHTS && EqualsItem(Item::MODEL_PARAMS, found)) {
      Add(item, Fault::FAULT_RESET, channel,
          "ema.weights starts again from the raw weights");
      return;
    }
    if (const auto at = history_.SavedAt(item, found, resume_.step);
        at.has_value()) {
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

  void Foreign(Item item, uint64_t at, const std::string& channel,
               const std::string& values) {
    Fault fault = Fault::FAULT_STALE;
    if (at > resume_.step) fault = Fault::FAULT_LEAD;
    if (at < resume_.step && StepDistance(at, resume_.step) == 1)
      fault = Fault::FAULT_LAG;
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
        fault = history_.IsInitial(item, found) ? Fault::FAULT_RESEEDED
                                                : Fault::FAULT_CONSUMED;
        what = fault == Fault::FAULT_RESEEDED
                   ? " was seeded again between the load and the first forward"
                   : " was drawn from between the load and the first forward";
      } else if (!IsTensors(item) && history_.IsInitial(item, found) &&
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
      auto loaded = attempt_.after_load.find(item);
      moving += loaded != attempt_.after_load.end() &&
                history_.MovedTo(item, loaded->second);
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
  const size_t index_;
  const ItemHistory history_;
  std::map<Item, std::string> unknown_evidence_;
  std::vector<Candidate> named_;
  DigestResult result_;
};

}  // namespace

DigestResult AttributeDigests(const Context& context, const Lineage& lineage,
                              size_t index) {
  return Attributor(context, lineage, index).Attribute();
}

}  // namespace reprise::conformance
