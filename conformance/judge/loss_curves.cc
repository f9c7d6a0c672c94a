// Hypotheses about a loss that differs with the same samples: weights, random
// streams, mode, precision, averaged weights taken for the trained ones. And
// about one that differs a step later: the update.
#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "conformance/judge/curves.h"

namespace reprise::conformance {
namespace {

// Share of the way back to the first loss from which on weights count as fresh
// (RESET), from which on they may be, and below which they are nearly right.
constexpr double kFresh = 0.85;
constexpr double kFreshOrPartial = 0.6;
constexpr double kNearlyRight = 0.05;
// Relative difference below which dropout's noise is an unlikely cause and
// rounding a likely one.
constexpr double kRounding = 3e-3;
// Weights that went through half precision move the loss by less than this
// share; parts of a neighbouring step by less than the next.
constexpr double kHalfRounding = 1e-4;
constexpr double kTorn = 0.03;
// Standard deviations of a loss against its neighbours.
constexpr double kChance = 3;
// A share of the loss that averaged weights move it by, at least.
constexpr double kAveraged = 0.01;

struct Level {
  double found = 0;
  double expected = 0;
  double fresh = 0;
  // Of one loss against its neighbour, in the uninterrupted run.
  double spread = 0;
  size_t steps = 0;
  size_t below = 0;
  // Largest relative difference of a step.
  double largest = 0;

  double deviation() const { return found - expected; }
  // 0: as expected, 1: as in the first steps of a new run.
  double way_back() const {
    return fresh == expected ? 0 : deviation() / (fresh - expected);
  }
  bool tells_fresh() const {
    return std::abs(fresh - expected) >
           3 * spread / std::sqrt(static_cast<double>(steps));
  }
};

Level LevelAt(const Comparison& comparison, uint64_t step) {
  constexpr uint64_t kSteps = 3;
  Level level;
  for (uint64_t n = step; n < step + kSteps; ++n) {
    const Observation found = comparison.Found(Channel::kLoss, n);
    const Observation expected = comparison.Expected(Channel::kLoss, n);
    if (!found.present() || !expected.present()) break;
    ++level.steps;
    level.found += found.first();
    level.expected += expected.first();
    level.below += found.first() < expected.first();
    level.largest = std::max(level.largest, Deviation(found, expected));
  }
  if (level.steps == 0) return level;
  const std::vector<v1::StepEvent>& steps = comparison.baseline().steps;
  double squares = 0;
  size_t pairs = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const double loss = ReadChannel(Channel::kLoss, &steps[i], nullptr).first();
    if (i < level.steps) level.fresh += loss;
    if (i == 0 || steps[i].step() + 20 < step || steps[i].step() > step + 20) {
      continue;
    }
    const double before =
        ReadChannel(Channel::kLoss, &steps[i - 1], nullptr).first();
    squares += (loss - before) * (loss - before) / 2;
    ++pairs;
  }
  level.found /= level.steps;
  level.expected /= level.steps;
  level.fresh /= level.steps;
  if (pairs > 0) level.spread = std::sqrt(squares / pairs);
  return level;
}

Item GeneratorOf(const std::string& name) {
  if (absl::StrContains(name, "cuda") || absl::StrContains(name, "gpu") ||
      absl::StrContains(name, "device")) {
    return Item::RNG_CUDA;
  }
  if (absl::StrContains(name, "data") || absl::StrContains(name, "aug") ||
      absl::StrContains(name, "worker")) {
    return Item::RNG_DATA;
  }
  return Item::RNG_CPU;
}

// Generators whose digest before the step is another one.
std::vector<v1::Finding> Generators(const Comparison& comparison,
                                    const Unexplained& difference) {
  std::vector<v1::Finding> findings;
  const v1::StepEvent* found = comparison.attempt().Find(difference.step);
  const v1::StepEvent* expected = comparison.Reference(difference.step);
  const std::vector<v1::StepEvent>& steps = comparison.baseline().steps;
  for (const std::string& entry : found->rng()) {
    const std::string name =
        std::vector<std::string>(absl::StrSplit(entry, '='))[0];
    bool same = false;
    for (const std::string& other : expected->rng()) same |= other == entry;
    if (same) continue;
    bool first = false;
    if (!steps.empty()) {
      for (const std::string& other : steps[0].rng()) first |= other == entry;
    }
    const Item item = GeneratorOf(name);
    // A verified load means that something drew after it.
    const bool loaded = comparison.excluded.count(item) > 0;
    Fault fault = first ? Fault::FAULT_RESET : Fault::FAULT_CONSUMED;
    if (loaded && first) fault = Fault::FAULT_RESEEDED;
    findings.push_back(MakeFinding(
        {Name(item, fault)}, v1::Finding::CURVE, comparison.number(),
        difference.step, ChannelText(Channel::kRng),
        absl::StrCat("before step ", difference.step, " the generator ", name,
                     first ? " is in the state of step 1"
                           : " is in another state than expected")));
  }
  return findings;
}

}  // namespace

std::vector<v1::Finding> AttributeLoss(const Comparison& comparison,
                                       const Unexplained& difference,
                                       const std::set<Item>& unknown) {
  const uint64_t step = difference.step;
  if (difference.channel == Channel::kRng) {
    std::vector<v1::Finding> findings = Generators(comparison, difference);
    if (!findings.empty()) return findings;
  }
  auto named = [&](std::vector<v1::FaultName> names, std::string why) {
    return std::vector<v1::Finding>{
        CurveFinding(comparison, difference, std::move(names),
                     absl::StrCat("at step ", step, ": ", why))};
  };
  const Observation found = comparison.Found(Channel::kLoss, step);
  const Observation expected = comparison.Expected(Channel::kLoss, step);
  const bool finite = found.present() && found.values[0].finite;
  const Level level = LevelAt(comparison, step);
  const std::string values =
      finite ? absl::StrCat("the loss is ", found.first(), ", ",
                            expected.first(), " expected")
             : "the loss is not finite";
  if (!finite) {
    return named({Name(Item::RUN, Fault::FAULT_NONFINITE)}, values);
  }
  // Which of the step's inputs are known to be right.
  const bool data_known = comparison.Same(Channel::kIds, step);
  const bool draws_known = comparison.Same(Channel::kRng, step) ||
                           (comparison.excluded.count(Item::RNG_CPU) > 0 &&
                            comparison.excluded.count(Item::RNG_CUDA) > 0);
  const bool at_load = step == comparison.first();

  if (at_load && comparison.resume().micro > 0 &&
      level.way_back() < kNearlyRight) {
    return named({Name(Item::ACCUM_GRADS, Fault::FAULT_RESET),
                  Name(Item::ACCUM_COUNT, Fault::FAULT_RESET)},
                 absl::StrCat(values,
                              "; the checkpoint was taken between "
                              "micro-steps"));
  }
  std::vector<v1::FaultName> names;
  auto add = [&names](Item item, Fault fault) {
    names.push_back(Name(item, fault));
  };
  if (!at_load) {
    // Equal until here: what a step before did is what differs.
    const bool update_seen =
        comparison.Found(Channel::kUpdateNorm, step - 1).present();
    if (step == comparison.first() + 1 && update_seen) {
      return named({Name(Item::OPTIM_IDENTITY, Fault::FAULT_SWAPPED),
                    Name(Item::OPTIM_GROUPS, Fault::FAULT_RESET),
                    Name(Item::MASTER, Fault::FAULT_REBUILT)},
                   absl::StrCat(values,
                                "; the update before had the expected "
                                "size and another direction"));
    }
    if (step == comparison.first() + 1) {
      if (comparison.resume().micro > 0) {
        add(Item::ACCUM_GRADS, Fault::FAULT_RESET);
      }
      add(Item::OPTIM_MOMENTS, Fault::FAULT_RESET);
      add(Item::OPTIM_STEP, Fault::FAULT_RESET);
      add(Item::OPTIM_IDENTITY, Fault::FAULT_SWAPPED);
      add(Item::OPTIM_GROUPS, Fault::FAULT_RESET);
      add(Item::OPTIM_DTYPE, Fault::FAULT_CHANGED);
      add(Item::MASTER, Fault::FAULT_REBUILT);
      add(Item::CLIP, Fault::FAULT_CHANGED);
      add(Item::FROZEN_FLAGS, Fault::FAULT_RESET);
      add(Item::MODEL_TIES, Fault::FAULT_CHANGED);
      add(Item::MODEL_PARAMS, Fault::FAULT_STICKY);
      if (!comparison.Found(Channel::kGradNorm, step - 1).present()) {
        add(Item::STEP, Fault::FAULT_UNSCALED);
      }
      return named(std::move(names),
                   absl::StrCat(values,
                                ", and was as expected one step before: the "
                                "first update differs"));
    }
    if (!data_known) {
      add(Item::SAMPLER_CURSOR, Fault::FAULT_CHANGED);
      add(Item::SAMPLER_ORDER, Fault::FAULT_REORDERED);
      add(Item::DATA_FINGERPRINT, Fault::FAULT_CHANGED);
    }
    if (!update_seen) add(Item::CLIP, Fault::FAULT_CHANGED);
    if (!draws_known) {
      add(Item::RNG_CPU, Fault::FAULT_CHANGED);
      add(Item::RNG_CUDA, Fault::FAULT_CHANGED);
    }
    if (!comparison.Found(Channel::kScale, step).present()) {
      add(Item::SCALER_SCALE, Fault::FAULT_CHANGED);
    }
    add(Item::MODE, Fault::FAULT_CHANGED);
    add(Item::MASTER, Fault::FAULT_REBUILT);
    return named(std::move(names),
                 absl::StrCat(values, ", ", step - comparison.base(),
                              " steps after the resume"));
  }

  const bool params_possible =
      comparison.excluded.count(Item::MODEL_PARAMS) == 0;
  const bool params_wrong = unknown.count(Item::MODEL_PARAMS) > 0;
  // Other samples or other draws move a loss by as much as it varies anyway.
  const bool beyond_chance =
      (data_known && draws_known) || params_wrong ||
      std::abs(level.deviation()) >
          kChance * level.spread / std::sqrt(static_cast<double>(level.steps));
  if (params_possible && level.tells_fresh() && beyond_chance) {
    const std::string way = absl::StrCat(
        values, ", ", static_cast<int>(std::round(100 * level.way_back())),
        " % of the way back to the ", level.fresh, " of a new run");
    if (level.way_back() >= kFresh &&
        !(comparison.initial_known && params_wrong)) {
      return named({Name(Item::MODEL_PARAMS, Fault::FAULT_RESET)}, way);
    }
    if (level.way_back() >= kFreshOrPartial && !comparison.initial_known) {
      return named({Name(Item::MODEL_PARAMS, Fault::FAULT_RESET),
                    Name(Item::MODEL_PARAMS, Fault::FAULT_PARTIAL)},
                   way);
    }
    if (level.way_back() >= kNearlyRight) {
      return named({Name(Item::MODEL_PARAMS, Fault::FAULT_PARTIAL)}, way);
    }
  }
  if (params_wrong) {
    const std::string how = absl::StrCat(values, ", a share of ", level.largest,
                                         " off, with weights that match no "
                                         "step");
    if (level.largest < kHalfRounding) {
      return named({Name(Item::MODEL_PARAMS, Fault::FAULT_REBUILT)}, how);
    }
    if (level.largest < kTorn) {
      return named({Name(Item::SNAPSHOT, Fault::FAULT_TORN)}, how);
    }
    return named({Name(Item::MODEL_PARAMS, Fault::FAULT_PARTIAL)}, how);
  }
  if (level.below == level.steps && level.steps >= 2 &&
      level.largest > kAveraged && params_possible && data_known &&
      draws_known) {
    return named({Name(Item::EMA_WEIGHTS, Fault::FAULT_SWAPPED)},
                 absl::StrCat(values, ": too low, for ", level.steps,
                              " steps in a row"));
  }
  if (!data_known) {
    add(Item::SAMPLER_CURSOR, Fault::FAULT_CHANGED);
    add(Item::SAMPLER_ORDER, Fault::FAULT_REORDERED);
    add(Item::DATA_BATCH, Fault::FAULT_CHANGED);
    add(Item::RNG_DATA, Fault::FAULT_CHANGED);
  }
  if (!draws_known) {
    add(Item::RNG_CPU, Fault::FAULT_RESET);
    add(Item::RNG_CUDA, Fault::FAULT_RESET);
  }
  if (level.largest < kRounding) {
    add(Item::MASTER, Fault::FAULT_REBUILT);
    if (params_possible) {
      add(Item::SNAPSHOT, Fault::FAULT_TORN);
      add(Item::MODEL_PARAMS, Fault::FAULT_REBUILT);
    }
  } else {
    add(Item::MODE, Fault::FAULT_CHANGED);
    add(Item::CONFIG, Fault::FAULT_CHANGED);
    if (params_possible) {
      add(Item::MODEL_PARAMS, Fault::FAULT_PARTIAL);
      add(Item::EMA_WEIGHTS, Fault::FAULT_SWAPPED);
    }
  }
  add(Item::PRECISION_FLAGS, Fault::FAULT_CHANGED);
  return named(std::move(names), values);
}

}  // namespace reprise::conformance
