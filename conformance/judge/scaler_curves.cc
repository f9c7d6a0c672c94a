// Hypotheses about the loss scale: another value, or another count of good
// steps, which shows at the next doubling only.
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "conformance/judge/curves.h"

namespace reprise::conformance {
namespace {

double ScaleOf(const v1::StepEvent* step) {
  return ReadChannel(Channel::kScale, step, nullptr).first();
}

// Good steps that the scaler had counted after step `step`.
uint64_t Tracker(const Timeline& baseline, uint64_t step) {
  uint64_t good = 0;
  for (uint64_t n = step; n > 0; --n) {
    const v1::StepEvent* here = baseline.Find(n);
    const v1::StepEvent* next = baseline.Find(n + 1);
    if (here == nullptr || here->skipped()) break;
    if (next != nullptr && ScaleOf(next) != ScaleOf(here)) break;
    ++good;
  }
  return good;
}

// Good steps between two doublings, as the uninterrupted run shows them; 0 when
// it never doubles.
uint64_t Interval(const Timeline& baseline) {
  uint64_t since = 0;
  for (size_t i = 1; i < baseline.steps.size(); ++i) {
    ++since;
    if (baseline.steps[i - 1].skipped()) since = 0;
    if (ScaleOf(&baseline.steps[i]) > ScaleOf(&baseline.steps[i - 1])) {
      return since;
    }
  }
  return 0;
}

}  // namespace

std::vector<v1::Finding> AttributeScaler(const Comparison& comparison,
                                         const Unexplained& difference) {
  const uint64_t step = difference.step;
  const Timeline& baseline = comparison.baseline();
  auto named = [&](std::vector<v1::FaultName> names, std::string why) {
    return std::vector<v1::Finding>{
        CurveFinding(comparison, difference, std::move(names),
                     absl::StrCat("at step ", step, ": ", why))};
  };
  if (difference.channel == Channel::kSkipped) {
    const bool skipped = comparison.attempt().Find(step)->skipped();
    if (!comparison.Found(Channel::kScale, step).present()) {
      return named({Name(Item::SCALER_SCALE, Fault::FAULT_CHANGED),
                    Name(Item::SCALER_GROWTH_TRACKER, Fault::FAULT_CHANGED),
                    Name(Item::STEP, Fault::FAULT_UNSCALED),
                    Name(Item::RUN, Fault::FAULT_NONFINITE)},
                   skipped ? "skipped, unlike the uninterrupted run"
                           : "applied, unlike in the uninterrupted run");
    }
    return named({Name(Item::STEP, Fault::FAULT_UNSCALED),
                  Name(Item::RUN, Fault::FAULT_NONFINITE)},
                 skipped ? "skipped, with the scale at which the uninterrupted "
                           "run applies it"
                         : "applied, though the uninterrupted run skips it at "
                           "the same scale");
  }
  const double found = ScaleOf(comparison.attempt().Find(step));
  const double expected = ScaleOf(comparison.Reference(step));
  const std::string values =
      absl::StrFormat("the scale is %.10g, %.10g expected", found, expected);
  if (step == comparison.first()) {
    const double initial =
        baseline.steps.empty() ? 0 : ScaleOf(&baseline.steps[0]);
    const bool updated = found == 2 * expected || 2 * found == expected;
    if (found == initial) {
      std::vector<v1::FaultName> names = {
          Name(Item::SCALER_SCALE, Fault::FAULT_RESET)};
      if (updated) {
        names.push_back(Name(Item::SCALER_SCALE, Fault::FAULT_SIDE_EFFECT));
      }
      return named(std::move(names),
                   absl::StrCat(values, ": the scale of step 1"));
    }
    if (updated) {
      return named({Name(Item::SCALER_SCALE, Fault::FAULT_SIDE_EFFECT)},
                   absl::StrCat(values, ": the load updated the scaler"));
    }
    for (const SaveRecord& save : baseline.saves) {
      if (save.step != comparison.base() &&
          ScaleOf(baseline.Find(save.step + 1)) == found) {
        return named({Name(Item::SCALER_SCALE, Fault::FAULT_STALE)},
                     absl::StrCat(values, ": that of step ", save.step + 1));
      }
    }
    return named({Name(Item::SCALER_SCALE, Fault::FAULT_CHANGED)}, values);
  }

  // Equal so far: one of the two doubles here and the other one later.
  const double before = ScaleOf(comparison.Reference(step - 1));
  const bool late = expected > before && found == before;
  const bool early = found > before && expected == before;
  if (!late && !early) {
    return named({Name(Item::SCALER_CONFIG, Fault::FAULT_CHANGED)},
                 absl::StrCat(values, ", ", before, " the step before"));
  }
  const uint64_t tracker = Tracker(baseline, comparison.base());
  std::optional<uint64_t> other;
  const uint64_t last =
      late ? comparison.attempt().last_step() : baseline.last_step();
  for (uint64_t n = step + 1; n <= last; ++n) {
    const v1::StepEvent* record =
        late ? comparison.attempt().Find(n) : comparison.Reference(n);
    if (record == nullptr) break;
    if (ScaleOf(record) != before) {
      if (ScaleOf(record) > before) other = n;
      break;
    }
  }
  const std::string when = other.has_value()
                               ? absl::StrCat("at step ", *other - 1)
                               : absl::StrCat("not by step ", last);
  const std::string why =
      absl::StrCat("the scale doubles in the update of step ", step - 1,
                   late ? " of the uninterrupted run, here "
                        : " here, in the uninterrupted run ",
                   when, "; the tracker at the resume was ", tracker);
  if (early) {
    return named({Name(Item::SCALER_GROWTH_TRACKER,
                       other == step + 1 ? Fault::FAULT_SIDE_EFFECT
                                         : Fault::FAULT_LEAD)},
                 why);
  }
  const uint64_t interval = Interval(baseline);
  if (!other.has_value() && interval > 0 && last >= step + interval) {
    return named({Name(Item::SCALER_SCALE, Fault::FAULT_STICKY)},
                 absl::StrCat(why, "; a scaler that counts at all doubles ",
                              "every ", interval, " good steps"));
  }
  if (other.has_value() ? *other - step == tracker : last - step < tracker) {
    return named({Name(Item::SCALER_GROWTH_TRACKER, Fault::FAULT_RESET)}, why);
  }
  return named({Name(Item::SCALER_GROWTH_TRACKER, Fault::FAULT_LAG),
                Name(Item::SCALER_CONFIG, Fault::FAULT_CHANGED)},
               why);
}

}  // namespace reprise::conformance
