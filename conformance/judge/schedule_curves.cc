// Hypotheses about the learning rate: another position, another group option,
// another horizon, another unit, a schedule that no longer moves.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "conformance/judge/curves.h"

namespace reprise::conformance {
namespace {

// Rates of the uninterrupted run by schedule position (applied steps done).
std::map<uint64_t, Observation> RatesByPosition(const Timeline& baseline) {
  std::map<uint64_t, Observation> rates;
  uint64_t position = 0;
  for (const v1::StepEvent& step : baseline.steps) {
    const Observation lr = ReadChannel(Channel::kLr, &step, nullptr);
    if (lr.present()) rates.try_emplace(position, lr);
    if (!step.skipped()) ++position;
  }
  return rates;
}

uint64_t AppliedBefore(const Timeline& baseline, uint64_t step) {
  uint64_t applied = 0;
  for (const v1::StepEvent& record : baseline.steps) {
    if (record.step() >= step) break;
    applied += !record.skipped();
  }
  return applied;
}

struct Fits {
  const Comparison& comparison;
  uint64_t from;
  std::vector<uint64_t> steps;
  std::map<uint64_t, Observation> rates;
  uint64_t position;  // schedule position of `from`

  // All rates from `from` on are the uninterrupted run's `shift` positions
  // further; nullopt when too few can be compared, or they do not vary.
  bool Shift(int64_t shift) const {
    size_t compared = 0;
    bool varies = false;
    Observation last;
    uint64_t at = position;
    for (uint64_t step : steps) {
      auto rate = rates.find(at + shift);
      const Observation found = comparison.Found(Channel::kLr, step);
      if (static_cast<int64_t>(at) + shift >= 0 && rate != rates.end()) {
        if (Differs(found, rate->second,
                    comparison.Threshold(Channel::kLr, step))) {
          return false;
        }
        varies |= last.present() && !Equal(last, found);
        last = found;
        ++compared;
      }
      const v1::StepEvent* record = comparison.attempt().Find(step);
      at += record == nullptr || !record->skipped();
    }
    // Equal constants are no curve.
    return compared >= 2 ? varies : compared == 1 && steps.size() == 1;
  }
};

// found / expected of one group at every step, when it is one number.
std::optional<double> ConstantRatio(const Comparison& comparison,
                                    const std::vector<uint64_t>& steps,
                                    size_t group) {
  std::optional<double> ratio;
  for (uint64_t step : steps) {
    const Observation found = comparison.Found(Channel::kLr, step);
    const Observation expected = comparison.Expected(Channel::kLr, step);
    if (group >= found.values.size() || group >= expected.values.size()) {
      return std::nullopt;
    }
    const double reference = expected.values[group].value;
    if (reference == 0) continue;
    const double here = found.values[group].value / reference;
    const double slack = 1e-6 + (found.values[group].resolution +
                                 expected.values[group].resolution) /
                                    reference;
    if (ratio.has_value() && std::abs(here - *ratio) > slack * *ratio) {
      return std::nullopt;
    }
    if (!ratio.has_value()) ratio = here;
  }
  return ratio;
}

// Position, by interpolation, of `rate` on the falling or rising part of the
// uninterrupted schedule around `near`.
std::optional<double> Invert(const std::map<uint64_t, Observation>& rates,
                             double rate, uint64_t near) {
  std::optional<double> best;
  for (auto it = rates.begin(); std::next(it) != rates.end(); ++it) {
    const double a = it->second.first();
    const double b = std::next(it)->second.first();
    if (a == b || (rate - a) * (rate - b) > 0) continue;
    const double at = it->first + (rate - a) / (b - a);
    if (!best.has_value() || std::abs(at - near) < std::abs(*best - near)) {
      best = at;
    }
  }
  return best;
}

}  // namespace

std::vector<v1::Finding> AttributeSchedule(const Comparison& comparison,
                                           const Unexplained& difference,
                                           const Onsets& onsets) {
  const uint64_t step = difference.step;
  const Workload& workload = comparison.context().workload;
  Fits fits{comparison,
            step,
            {},
            RatesByPosition(comparison.baseline()),
            AppliedBefore(comparison.baseline(), step)};
  for (uint64_t s : comparison.Steps(Channel::kLr)) {
    if (s >= step) fits.steps.push_back(s);
  }
  // Steps before the two runs skip different ones: there rates can be compared
  // step by step.
  std::vector<uint64_t> together;
  auto skips = onsets.find(Channel::kSkipped);
  for (uint64_t s : fits.steps) {
    if (skips == onsets.end() || s <= skips->second) together.push_back(s);
  }
  const double found = comparison.Found(Channel::kLr, step).first();
  const double expected = comparison.Expected(Channel::kLr, step).first();
  const std::string values =
      absl::StrCat("learning rate of step ", step, " is ", found, ", ",
                   expected, " expected");
  auto named = [&](std::vector<v1::FaultName> names, std::string why) {
    return std::vector<v1::Finding>{
        CurveFinding(comparison, difference, std::move(names),
                     absl::StrCat(values, ": ", why))};
  };

  // Another position. A short lag or lead first, then the start, then twice.
  const int64_t position = static_cast<int64_t>(fits.position);
  for (int64_t shift : {int64_t{1}, int64_t{-1}}) {
    if (position + shift >= 0 && shift != -position && fits.Shift(shift)) {
      return named(
          {Name(Item::SCHED_POSITION,
                shift > 0 ? Fault::FAULT_LEAD : Fault::FAULT_LAG)},
          absl::StrCat("the whole curve is the uninterrupted one ",
                       shift > 0 ? "one step early" : "one step late"));
    }
  }
  // Held within an epoch at the rate of the epoch's number.
  if (workload.epoch_steps > 1 && fits.steps.size() >= 3) {
    const uint64_t epoch = (step - 1) / workload.epoch_steps;
    bool held = true;
    for (size_t i = 1; i < 3; ++i) {
      held &= Equal(comparison.Found(Channel::kLr, step),
                    comparison.Found(Channel::kLr, fits.steps[i])) ||
              (fits.steps[i] - 1) / workload.epoch_steps != epoch;
    }
    for (uint64_t at : {epoch, epoch + 1}) {
      auto rate = fits.rates.find(at);
      if (held && rate != fits.rates.end() &&
          Equal(rate->second, comparison.Found(Channel::kLr, step))) {
        return named({Name(Item::SCHED_UNIT, Fault::FAULT_UNIT)},
                     absl::StrCat("it is that of position ", at,
                                  ", the number of the epoch, and held"));
      }
    }
  }
  if (position > 0 && fits.Shift(-position)) {
    return named({Name(Item::SCHED_POSITION, Fault::FAULT_RESET)},
                 "the schedule starts again");
  }
  std::optional<int64_t> shift;
  for (int64_t d = 2; d <= static_cast<int64_t>(fits.rates.size()); ++d) {
    if (fits.Shift(d)) shift = d;
    if (position - d >= 0 && !shift.has_value() && fits.Shift(-d)) shift = -d;
    if (shift.has_value()) break;
  }
  if (shift.has_value()) {
    const bool lead = *shift > 0;
    const int64_t at = position + *shift;
    if (lead || at > 0) {
      // An older checkpoint's position is stale; any other merely lags.
      bool saved = false;
      for (const SaveRecord& save : comparison.baseline().saves) {
        saved |= !lead && save.micro == 0 &&
                 static_cast<int64_t>(AppliedBefore(comparison.baseline(),
                                                    save.step + 1)) == at &&
                 step == comparison.first();
      }
      if (!lead && workload.accumulation > 1 &&
          at == position / static_cast<int64_t>(workload.accumulation)) {
        return named({Name(Item::SCHED_POSITION, Fault::FAULT_UNIT)},
                     "its position is counted in another unit");
      }
      return named({Name(Item::SCHED_POSITION, lead    ? Fault::FAULT_LEAD
                                               : saved ? Fault::FAULT_STALE
                                                       : Fault::FAULT_LAG)},
                   absl::StrCat("the curve is the uninterrupted one at ",
                                "position ", at, " instead of ", position));
    }
  }
  // Held where it should move.
  if (together.size() >= 4) {
    bool held = true;
    size_t moves = 0;
    for (size_t i = 1; i < together.size(); ++i) {
      held &= Equal(comparison.Found(Channel::kLr, together[i]),
                    comparison.Found(Channel::kLr, step));
      moves += !Equal(comparison.Expected(Channel::kLr, together[i]),
                      comparison.Expected(Channel::kLr, together[i - 1]));
    }
    if (held && moves >= 3) {
      return named({Name(Item::SCHED_POSITION, Fault::FAULT_STICKY)},
                   "the schedule no longer moves");
    }
  }
  // A schedule that watches the evaluation rests and drops.
  const std::vector<v1::StepEvent>& reference = comparison.baseline().steps;
  size_t rests_at = 0;
  for (size_t i = 1; i < reference.size(); ++i) {
    rests_at += Equal(ReadChannel(Channel::kLr, &reference[i], nullptr),
                      ReadChannel(Channel::kLr, &reference[i - 1], nullptr));
  }
  if (2 * rests_at > reference.size() &&
      Equal(comparison.Found(Channel::kLr, step),
            ReadChannel(Channel::kLr, &reference[0], nullptr))) {
    return named({Name(Item::SCHED_STATE, Fault::FAULT_RESET)},
                 "the rate is the first one again, and rests");
  }
  // Its drops come late.
  if (step > comparison.first() && together.size() >= 1) {
    const Observation before = comparison.Found(Channel::kLr, step - 1);
    const Observation reference_before =
        comparison.Expected(Channel::kLr, step - 1);
    const bool constant_before =
        before.present() && Equal(before, comparison.Found(Channel::kLr, step));
    // A rate that rests, then falls.
    const bool rests =
        step > 2 && reference_before.present() &&
        comparison.Expected(Channel::kLr, step - 2).present() &&
        Equal(reference_before, comparison.Expected(Channel::kLr, step - 2));
    const bool drops = rests && expected < reference_before.first() * 0.999;
    if (constant_before && drops) {
      return named({Name(Item::SCHED_STATE, Fault::FAULT_RESET),
                    Name(Item::BEST, Fault::FAULT_RESET)},
                   "the uninterrupted run's drop does not come here");
    }
  }
  // Options of a group.
  const size_t groups = comparison.Found(Channel::kLr, step).values.size();
  std::vector<size_t> scaled;
  std::vector<size_t> equal;
  for (size_t group = 0; group < groups; ++group) {
    const std::optional<double> ratio =
        ConstantRatio(comparison, together, group);
    if (!ratio.has_value()) continue;
    (std::abs(*ratio - 1) < 1e-9 ? equal : scaled).push_back(group);
  }
  if (!scaled.empty() && scaled.size() + equal.size() == groups &&
      together.size() >= 2) {
    const double ratio = *ConstantRatio(comparison, together, scaled[0]);
    const std::string why = absl::StrCat(
        "group ", scaled[0], " is off by the factor ", ratio, " at every step");
    if (!equal.empty() || scaled.size() > 1) {
      bool one_factor = equal.empty();
      for (size_t group : scaled) {
        const double other = *ConstantRatio(comparison, together, group);
        one_factor &= std::abs(other - ratio) < 1e-6 * ratio;
      }
      if (!one_factor) {
        return named({Name(Item::OPTIM_GROUPS, Fault::FAULT_RESET)}, why);
      }
    }
    return named({Name(Item::OPTIM_GROUPS, Fault::FAULT_RESET),
                  Name(Item::SCHED_BASE, Fault::FAULT_CHANGED)},
                 why);
  }
  // The same curve, stretched: the position that each rate has in the
  // uninterrupted schedule is a straight line of another slope.
  std::vector<std::pair<double, double>> line;
  for (size_t i = 1; i < together.size(); ++i) {
    const uint64_t s = together[i];
    const Observation here = comparison.Found(Channel::kLr, s);
    if (Equal(here, comparison.Found(Channel::kLr, together[i - 1]))) break;
    const uint64_t near =
        line.empty() ? s - 1 : static_cast<uint64_t>(line.back().second) + 1;
    const std::optional<double> at = Invert(fits.rates, here.first(), near);
    // A rate that the schedule has twice, at its start and its end.
    if (!at.has_value() ||
        (!line.empty() && std::abs(*at - line.back().second) > 10)) {
      break;
    }
    line.emplace_back(static_cast<double>(s), *at);
  }
  if (line.size() >= 4) {
    const auto& first = line.front();
    const auto& middle = line[line.size() / 2];
    const auto& last = line.back();
    const double slope_a =
        (middle.second - first.second) / (middle.first - first.first);
    const double slope_b =
        (last.second - middle.second) / (last.first - middle.first);
    if (std::abs(slope_a - slope_b) < 0.1 * std::abs(slope_a) &&
        std::abs(slope_a - 1) > 1e-3) {
      return named({Name(Item::SCHED_HORIZON, Fault::FAULT_CHANGED)},
                   absl::StrCat("the curve runs ", slope_a,
                                " times as fast: its end point moved"));
    }
  }
  return named({Name(Item::SCHED_HORIZON, Fault::FAULT_CHANGED),
                Name(Item::SCHED_DEFINITION, Fault::FAULT_CHANGED)},
               "no shift, factor or stretch of the uninterrupted curve");
}

}  // namespace reprise::conformance
