// Hypotheses about the gradient norm and the size of the update. Loss equal and
// gradient off: unscaling, accumulation, frozen parameters. Gradient equal and
// update off: the optimizer's state.
//
// Predictions for Adam with beta1 0.9, beta2 0.999, t = applied steps + 1:
//   moments and step lost   U / lr as in the first steps of the run
//   moments lost            that times R(1), R(2), ... (ColdMomentsRatio)
//   step lost               U times (1-b1^t)/(1-b1) * sqrt((1-b2)/(1-b2^t))
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "conformance/judge/curves.h"

namespace reprise::conformance {
namespace {

constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
// A prediction fits when it is met within this share.
constexpr double kFit = 0.12;

double Value(Channel channel, const v1::StepEvent* step) {
  return ReadChannel(channel, step, nullptr).first();
}

// Update of a step whose moments were lost and whose step count was kept, over
// that of a wholly cold optimizer, `j` updates after the loss (from 1).
double ColdMomentsRatio(double t, double j) {
  const double n = t + j - 1;
  return (1 - std::pow(kBeta1, j)) / (1 - std::pow(kBeta1, n)) *
         std::sqrt((1 - std::pow(kBeta2, n)) / (1 - std::pow(kBeta2, j)));
}

// Update with the right moments and a step count of `s` instead of `t`, over
// the right update.
double StepRatio(double t, double s) {
  return (1 - std::pow(kBeta1, t)) / (1 - std::pow(kBeta1, s)) *
         std::sqrt((1 - std::pow(kBeta2, s)) / (1 - std::pow(kBeta2, t)));
}

// Applied steps of the uninterrupted run, from its first.
std::vector<const v1::StepEvent*> FirstApplied(const Timeline& baseline) {
  std::vector<const v1::StepEvent*> steps;
  for (const v1::StepEvent& step : baseline.steps) {
    if (!step.skipped() && Value(Channel::kUpdateNorm, &step) > 0) {
      steps.push_back(&step);
    }
    if (steps.size() == 10) break;
  }
  return steps;
}

bool Near(double a, double b) {
  return b > 0 && std::abs(std::log(a / b)) < kFit;
}

// Per-parameter norms: which are off?
struct PerParameter {
  size_t count = 0;
  size_t off = 0;
  // Zero in the reference, not here.
  size_t thawed = 0;
  // The same values on other parameters.
  bool exchanged = false;
  // Relative difference of the parameter that is furthest off.
  double largest = 0;
};

PerParameter Compare(const Comparison& comparison, uint64_t step) {
  PerParameter result;
  const Observation found = comparison.Found(Channel::kUpdateNorms, step);
  const Observation expected = comparison.Expected(Channel::kUpdateNorms, step);
  if (found.values.size() != expected.values.size()) return result;
  const double threshold =
      std::max(comparison.Threshold(Channel::kUpdateNorms, step), 1e-6);
  std::vector<double> a, b;
  for (size_t i = 0; i < found.values.size(); ++i) {
    const double x = found.values[i].value;
    const double y = expected.values[i].value;
    ++result.count;
    if (y == 0 && x > 0) ++result.thawed;
    if (std::abs(x - y) <= threshold * std::max(x, y)) continue;
    ++result.off;
    result.largest = std::max(result.largest, std::abs(x - y) / std::max(x, y));
    a.push_back(x);
    b.push_back(y);
  }
  // Moments of another parameter: its update is nearer to the other's.
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = i + 1; j < a.size(); ++j) {
      const double straight =
          std::abs(std::log(a[i] / b[i])) + std::abs(std::log(a[j] / b[j]));
      const double crossed =
          std::abs(std::log(a[i] / b[j])) + std::abs(std::log(a[j] / b[i]));
      result.exchanged |= a.size() <= 4 && crossed < 0.5 * straight;
    }
  }
  return result;
}

}  // namespace

std::vector<v1::Finding> AttributeGradient(const Comparison& comparison,
                                           const Unexplained& difference) {
  const uint64_t step = difference.step;
  auto named = [&](std::vector<v1::FaultName> names, std::string why) {
    return std::vector<v1::Finding>{
        CurveFinding(comparison, difference, std::move(names),
                     absl::StrCat("at step ", step, ": ", why))};
  };
  const Observation found = comparison.Found(Channel::kGradNorm, step);
  const Observation expected = comparison.Expected(Channel::kGradNorm, step);
  if (!found.values[0].finite && expected.values[0].finite) {
    return named({Name(Item::RUN, Fault::FAULT_NONFINITE),
                  Name(Item::STEP, Fault::FAULT_UNSCALED)},
                 "the gradient norm is not finite");
  }
  const double ratio =
      expected.first() == 0 ? 0 : found.first() / expected.first();
  const std::string values =
      absl::StrCat("the gradient norm is ", ratio, " times the expected one");
  const double power = ratio > 0 ? std::log2(ratio) : 0;
  const double scale = comparison.Found(Channel::kScale, step).first();
  // Half-precision gradients round a little differently once scaled; through
  // much noise a power of two cannot be told from any other ratio.
  const double slack =
      std::max(2e-3, 2 * comparison.Threshold(Channel::kGradNorm, step));
  const bool power_of_two = slack < 0.1 && std::abs(power) > 0.5 &&
                            std::abs(power - std::round(power)) < slack;
  if (power_of_two ||
      (scale > 0 && ratio > 0 && Near(std::abs(power), std::log2(scale)))) {
    return named({Name(Item::STEP, Fault::FAULT_UNSCALED)},
                 absl::StrCat(values, ", 2^", std::round(power),
                              "; the scale is ", scale));
  }
  if (comparison.resume().micro > 0 && step == comparison.first()) {
    return named({Name(Item::ACCUM_GRADS, Fault::FAULT_RESET),
                  Name(Item::ACCUM_COUNT, Fault::FAULT_RESET)},
                 absl::StrCat(values,
                              "; the checkpoint was taken between "
                              "micro-steps"));
  }
  const PerParameter parts = Compare(comparison, step);
  if (parts.thawed > 0) {
    return named(
        {Name(Item::FROZEN_FLAGS, Fault::FAULT_RESET)},
        absl::StrCat(values, "; ", parts.thawed, " frozen parameters move"));
  }
  if (ratio > 1.02 && step == comparison.first()) {
    return named({Name(Item::FROZEN_FLAGS, Fault::FAULT_RESET),
                  Name(Item::ACCUM_GRADS, Fault::FAULT_RESET)},
                 values);
  }
  return named({Name(Item::PRECISION_FLAGS, Fault::FAULT_CHANGED),
                Name(Item::ACCUM_GRADS, Fault::FAULT_RESET),
                Name(Item::CLIP, Fault::FAULT_CHANGED)},
               values);
}

std::vector<v1::Finding> AttributeUpdate(const Comparison& comparison,
                                         const Unexplained& difference,
                                         const std::set<Item>& unknown) {
  const uint64_t step = difference.step;
  auto finding = [&](std::vector<v1::FaultName> names, std::string why) {
    return CurveFinding(comparison, difference, std::move(names),
                        absl::StrCat("at step ", step, ": ", why));
  };
  // Moments that the digests say are wrong: only how is open.
  const bool moments = unknown.count(Item::OPTIM_MOMENTS) > 0;
  const std::vector<v1::FaultName> otherwise = {
      Name(Item::OPTIM_GROUPS, Fault::FAULT_RESET),
      Name(Item::OPTIM_IDENTITY, Fault::FAULT_SWAPPED),
      Name(Item::MASTER, Fault::FAULT_REBUILT),
      Name(Item::CLIP, Fault::FAULT_CHANGED)};
  const PerParameter parts = Compare(comparison, step);
  if (parts.thawed > 0) {
    return {finding({Name(Item::FROZEN_FLAGS, Fault::FAULT_RESET)},
                    absl::StrCat(parts.thawed, " frozen parameters move"))};
  }
  const v1::StepEvent* record = comparison.attempt().Find(step);
  const v1::StepEvent* reference = comparison.Reference(step);
  const double found = Value(Channel::kUpdateNorm, record);
  const double expected = Value(Channel::kUpdateNorm, reference);
  if (!ReadChannel(Channel::kUpdateNorm, record, nullptr).present() ||
      expected <= 0 || found <= 0) {
    if (found == 0 && expected > 0 && !record->skipped()) {
      return {finding({Name(Item::MODEL_PARAMS, Fault::FAULT_STICKY)},
                      "the step is applied and no parameter moves")};
    }
    if (parts.exchanged) {
      return {finding({Name(Item::OPTIM_IDENTITY, Fault::FAULT_SWAPPED)},
                      "two parameters exchanged the sizes of their updates")};
    }
    return {finding(otherwise, "the update is another one")};
  }
  const double ratio = found / expected;
  const std::string values =
      absl::StrCat("the update norm is ", ratio, " times the expected one");
  const double lr =
      Value(Channel::kLr, record) > 0 ? Value(Channel::kLr, record) : 1;

  uint64_t applied = 0;
  for (const v1::StepEvent& s : comparison.baseline().steps) {
    if (s.step() < step) applied += !s.skipped();
  }
  const double t = static_cast<double>(applied + 1);
  const bool first = step == comparison.first();

  if (first) {
    // Another step count with the right moments, to a share of a percent.
    const struct {
      double s;
      Fault fault;
    } counts[] = {{1, Fault::FAULT_RESET},
                  {t - 1, Fault::FAULT_LAG},
                  {t + 1, Fault::FAULT_LEAD}};
    for (const auto& count : counts) {
      if (count.s < 1) continue;
      const double predicted = StepRatio(t, count.s);
      const double effect = std::abs(predicted - 1);
      if (effect > 1e-9 &&
          std::abs(ratio - predicted) <
              0.02 * effect +
                  comparison.Threshold(Channel::kUpdateNorm, step)) {
        return {finding(
            {Name(Item::OPTIM_STEP, count.fault)},
            absl::StrCat(values, ", ", predicted,
                         " predicted for a step count of ", count.s - 1))};
      }
    }
    if (parts.count > 1 && parts.exchanged) {
      return {finding({Name(Item::OPTIM_IDENTITY, Fault::FAULT_SWAPPED)},
                      absl::StrCat(values,
                                   "; two parameters exchanged the "
                                   "sizes of their updates"))};
    }
  }

  // A cold optimizer repeats the sizes of the run's first updates.
  const std::vector<const v1::StepEvent*> cold =
      FirstApplied(comparison.baseline());
  if (first && !cold.empty()) {
    double cold_error = 0;
    double moments_error = 0;
    size_t steps = 0;
    uint64_t n = step;
    double first_cold = 0;
    double first_moments = 0;
    for (size_t j = 0; j < cold.size() && j < 5; ++j, ++n) {
      const v1::StepEvent* here = comparison.attempt().Find(n);
      while (here != nullptr && here->skipped()) {
        here = comparison.attempt().Find(++n);
      }
      const double update = Value(Channel::kUpdateNorm, here);
      if (here == nullptr || update <= 0) break;
      const double rate =
          Value(Channel::kLr, here) > 0 ? Value(Channel::kLr, here) : 1;
      const double cold_rate =
          Value(Channel::kLr, cold[j]) > 0 ? Value(Channel::kLr, cold[j]) : 1;
      const double predicted =
          rate * Value(Channel::kUpdateNorm, cold[j]) / cold_rate;
      const double a = std::log(update / predicted);
      const double b =
          std::log(update / (predicted * ColdMomentsRatio(t, j + 1.0)));
      if (j == 0) {
        first_cold = a;
        first_moments = b;
      }
      cold_error += a * a;
      moments_error += b * b;
      ++steps;
    }
    // Momentum of SGD: an update is rate times gradient again.
    const double gradient = Value(Channel::kGradNorm, record);
    const double cold_gradient = Value(Channel::kGradNorm, cold[0]);
    const double cold_rate =
        Value(Channel::kLr, cold[0]) > 0 ? Value(Channel::kLr, cold[0]) : 1;
    const double sgd = cold_gradient > 0
                           ? lr * gradient *
                                 Value(Channel::kUpdateNorm, cold[0]) /
                                 (cold_rate * cold_gradient)
                           : 0;
    const bool has_step = comparison.excluded.count(Item::OPTIM_STEP) == 0;
    const bool fits_cold = steps > 0 && std::abs(first_cold) < kFit;
    const bool fits_moments = steps > 0 && std::abs(first_moments) < kFit;
    const bool fits_sgd =
        sgd > 0 && std::abs(std::log(found / sgd)) < 0.03 && !fits_cold;
    if (fits_sgd && !has_step) {
      return {finding({Name(Item::OPTIM_MOMENTS, Fault::FAULT_RESET)},
                      absl::StrCat(values,
                                   ": rate times gradient, without "
                                   "momentum"))};
    }
    if (fits_cold || fits_moments || fits_sgd) {
      const bool moments_only =
          !has_step ||
          (fits_moments && (!fits_cold || moments_error < 0.5 * cold_error));
      const bool both = has_step && fits_cold &&
                        (!fits_moments || cold_error < 0.5 * moments_error);
      const std::string why = absl::StrCat(
          values, "; in the size of the learning rate it is ",
          std::exp(first_cold), " times that of the run's first update");
      if (both) {
        return {finding({Name(Item::OPTIM_MOMENTS, Fault::FAULT_RESET)}, why),
                finding({Name(Item::OPTIM_STEP, Fault::FAULT_RESET)}, why)};
      }
      if (moments_only || fits_sgd) {
        return {finding({Name(Item::OPTIM_MOMENTS, Fault::FAULT_RESET)}, why)};
      }
      // At this step count both predict the same size.
      return {finding({Name(Item::OPTIM_MOMENTS, Fault::FAULT_RESET)}, why),
              finding({Name(Item::OPTIM_STEP, Fault::FAULT_RESET),
                       Name(Item::OPTIM_MOMENTS, Fault::FAULT_RESET)},
                      absl::StrCat(why,
                                   "; whether the step count was lost too "
                                   "cannot be told at this step"))};
    }
  }
  if (moments && parts.off > 0 && 2 * parts.off <= parts.count &&
      parts.largest > 0.01) {
    // Some parameters' moments are wrong by more than rounding, the others'
    // right to the last bit. That the names are right, which a digest of
    // optim.identity may say, does not say whose state they have.
    std::vector<v1::FaultName> names;
    if (parts.off >= 2) {
      names.push_back(Name(Item::OPTIM_IDENTITY, Fault::FAULT_SWAPPED));
    }
    names.push_back(Name(Item::OPTIM_MOMENTS, Fault::FAULT_PARTIAL));
    return {MakeFinding(
        std::move(names), v1::Finding::CURVE, comparison.number(), step,
        ChannelText(difference.channel),
        absl::StrCat("at step ", step, ": ", values, "; ", parts.off, " of ",
                     parts.count, " parameters are off"))};
  }
  if (moments) {
    const bool rounding = std::abs(ratio - 1) < 0.01;
    return {
        finding({Name(Item::OPTIM_MOMENTS,
                      rounding ? Fault::FAULT_REBUILT : Fault::FAULT_PARTIAL)},
                values)};
  }
  if (first && parts.count > 1 && parts.off > 0 && parts.off < parts.count) {
    return {finding({Name(Item::OPTIM_MOMENTS, Fault::FAULT_PARTIAL),
                     Name(Item::OPTIM_IDENTITY, Fault::FAULT_SWAPPED),
                     Name(Item::OPTIM_GROUPS, Fault::FAULT_RESET)},
                    absl::StrCat(values, ": ", parts.off, " of ", parts.count,
                                 " parameters are off"))};
  }
  return {finding(otherwise, values)};
}

}  // namespace reprise::conformance
