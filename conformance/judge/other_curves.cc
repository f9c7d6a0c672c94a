// Hypotheses about evaluations and counters, which nothing in training reads.
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "conformance/judge/curves.h"

namespace reprise::conformance {

std::vector<v1::Finding> AttributeEvaluation(const Comparison& comparison,
                                             const Unexplained& difference,
                                             const Onsets& onsets,
                                             const std::set<Item>& unknown) {
  const uint64_t step = difference.step;
  // Training that differs from the very next step on has the same cause, and
  // says more about it: an evaluation may draw random samples of its own.
  auto loss = onsets.find(Channel::kLoss);
  const bool training_differs =
      loss != onsets.end() && loss->second == step + 1;
  if (training_differs && (difference.channel == Channel::kEvalLoss ||
                           difference.channel == Channel::kMetric)) {
    return AttributeLoss(comparison, {Channel::kLoss, loss->second}, unknown);
  }
  auto named = [&](std::vector<v1::FaultName> names, std::string why) {
    return std::vector<v1::Finding>{CurveFinding(
        comparison, difference, std::move(names),
        absl::StrCat("at the evaluation of step ", step, ": ", why))};
  };
  const double found = comparison.Found(difference.channel, step).first();
  const double expected = comparison.Expected(difference.channel, step).first();
  const std::string values =
      absl::StrCat(ChannelText(difference.channel), " is ", found, ", ",
                   expected, " expected");
  const absl::string_view training =
      loss == onsets.end() ? "; training is as expected" : "";
  switch (difference.channel) {
    case Channel::kEmaLoss: {
      const double raw = comparison.Found(Channel::kEvalLoss, step).first();
      const bool raw_known = comparison.Same(Channel::kEvalLoss, step);
      if (raw_known && std::abs(expected - raw) > 0 &&
          std::abs(found - raw) < 0.05 * std::abs(expected - raw)) {
        return named({Name(Item::EMA_WEIGHTS, Fault::FAULT_RESET)},
                     absl::StrCat(values, ": that of the raw weights"));
      }
      return named({Name(Item::EMA_WEIGHTS, Fault::FAULT_RESET),
                    Name(Item::EMA_UPDATES, Fault::FAULT_RESET)},
                   absl::StrCat(values, training));
    }
    case Channel::kBest:
      return named({Name(Item::BEST, Fault::FAULT_RESET)}, values);
    case Channel::kBadCount:
      return named({Name(Item::EARLY_STOP, Fault::FAULT_RESET)}, values);
    default:
      return named({Name(Item::MODEL_BUFFERS, Fault::FAULT_RESET),
                    Name(Item::MODE, Fault::FAULT_CHANGED)},
                   absl::StrCat(values, training));
  }
}

std::vector<v1::Finding> AttributeCounters(const Comparison& comparison,
                                           const Unexplained& difference) {
  const uint64_t step = difference.step;
  const double found = comparison.Found(difference.channel, step).first();
  const double expected = comparison.Expected(difference.channel, step).first();
  Item item = Item::SAMPLER_CURSOR;
  if (difference.channel == Channel::kApplied) item = Item::COUNTERS_APPLIED;
  if (difference.channel == Channel::kSamples) {
    item = Item::COUNTERS_SAMPLES;
    // Another number of samples in each step is another batch.
    const double grown =
        comparison.Found(difference.channel, step + 1).first() - found;
    const double due =
        comparison.Expected(difference.channel, step + 1).first() - expected;
    if (comparison.Found(difference.channel, step + 1).present() &&
        comparison.Expected(difference.channel, step + 1).present() &&
        grown != due) {
      return {
          CurveFinding(comparison, difference,
                       {Name(Item::DATA_BATCH, Fault::FAULT_CHANGED)},
                       absl::StrCat("at step ", step, ": ", grown,
                                    " samples a step, ", due, " expected"))};
    }
  }
  const double since = static_cast<double>(step - comparison.base());
  Fault fault = found < expected ? Fault::FAULT_LAG : Fault::FAULT_LEAD;
  const double per_step =
      difference.channel == Channel::kSamples
          ? static_cast<double>(comparison.context().workload.step_samples)
          : 1;
  if (found <= since * per_step && found < expected) {
    fault = Fault::FAULT_RESET;
  }
  return {CurveFinding(
      comparison, difference, {Name(item, fault)},
      absl::StrCat("at step ", step, ": ", ChannelText(difference.channel), " ",
                   found, ", ", expected, " expected"))};
}

}  // namespace reprise::conformance
