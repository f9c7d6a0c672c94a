#include "conformance/judge/curves.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace reprise::conformance {

Comparison::Comparison(const Context& context, const Lineage& lineage,
                       size_t index)
    : context_(context),
      attempt_(lineage.attempts[index]),
      resume_(lineage.resumes[index]),
      index_(index),
      baseline_(context.baselines.empty() ? empty_ : context.baselines[0]) {
  for (size_t i = index; i-- > 0;) own_.push_back(&lineage.attempts[i]);
  // Records of the run itself: those of the attempt before, and of older ones
  // up to where they were killed, as long as a later attempt did not resume
  // before them and go another way.
  for (const Timeline* own : own_) {
    replay_until_ = std::max(replay_until_, own->last_step());
  }
  for (const v1::StepEvent& step : attempt_.steps) {
    if (step.step() <= resume_.step) continue;
    if (Reference(step.step()) == nullptr) continue;
    if (IsReplay(step.step())) {
      ++replayed_;
    } else {
      ++against_baseline_;
    }
  }
  for (int item = 1; item < 100; ++item) {
    if (context.NotApplicable(static_cast<Item>(item))) {
      excluded.insert(static_cast<Item>(item));
    }
  }
  // Digests that the testee can give, and does not in this run: no such item.
  if (!resume_.saved.empty()) {
    for (int item : context.evidence->description.digests()) {
      if (resume_.saved.count(static_cast<Item>(item)) == 0) {
        excluded.insert(static_cast<Item>(item));
      }
    }
  }
}

const v1::StepEvent* Comparison::Reference(uint64_t step) const {
  for (const Timeline* own : own_) {
    if (const v1::StepEvent* found = own->Find(step)) return found;
  }
  return baseline_.Find(step);
}

const v1::EvaluationEvent* Comparison::ReferenceEvaluation(
    uint64_t step) const {
  for (const Timeline* own : own_) {
    if (const v1::EvaluationEvent* found = own->FindEvaluation(step)) {
      return found;
    }
  }
  return baseline_.FindEvaluation(step);
}

Observation Comparison::Found(Channel channel, uint64_t step) const {
  return ReadChannel(channel, attempt_.Find(step),
                     attempt_.FindEvaluation(step));
}

Observation Comparison::Expected(Channel channel, uint64_t step) const {
  return ReadChannel(channel, Reference(step), ReferenceEvaluation(step));
}

double Comparison::Threshold(Channel channel, uint64_t step) const {
  if (!IsReplay(step)) return context_.noise.Threshold(channel, step);
  return context_.noise.ReplayThreshold(
      channel, step, step > resume_.step ? step - resume_.step : 0);
}

bool Comparison::Differs(Channel channel, uint64_t step) const {
  const Observation found = Found(channel, step);
  const Observation expected = Expected(channel, step);
  return found.present() && expected.present() &&
         conformance::Differs(found, expected, Threshold(channel, step));
}

bool Comparison::Same(Channel channel, uint64_t step) const {
  const Observation found = Found(channel, step);
  const Observation expected = Expected(channel, step);
  return found.present() && expected.present() &&
         !conformance::Differs(found, expected, Threshold(channel, step));
}

std::vector<uint64_t> Comparison::Steps(Channel channel) const {
  std::vector<uint64_t> steps;
  if (IsEvaluation(channel)) {
    for (const auto& [step, evaluation] : attempt_.evaluations) {
      if (ReferenceEvaluation(step) != nullptr) steps.push_back(step);
    }
    return steps;
  }
  for (const v1::StepEvent& step : attempt_.steps) {
    if (step.step() > resume_.step && Reference(step.step()) != nullptr) {
      steps.push_back(step.step());
    }
  }
  return steps;
}

Onsets Comparison::FindOnsets(uint64_t from) const {
  Onsets onsets;
  for (Channel channel : kChannels) {
    for (uint64_t step : Steps(channel)) {
      if (step < from || !Differs(channel, step)) continue;
      onsets[channel] = step;
      break;
    }
  }
  return onsets;
}

v1::Finding CurveFinding(const Comparison& comparison,
                         const Unexplained& difference,
                         std::vector<v1::FaultName> names,
                         std::string evidence) {
  std::vector<v1::FaultName> possible;
  for (const v1::FaultName& name : names) {
    // That flags were loaded does not say that they are in force.
    const bool in_force = name.item() == Item::PRECISION_FLAGS &&
                          !comparison.context().NotApplicable(name.item());
    if (in_force || comparison.excluded.count(name.item()) == 0) {
      possible.push_back(name);
    }
  }
  if (possible.empty()) possible = std::move(names);
  return MakeFinding(std::move(possible), v1::Finding::CURVE,
                     comparison.number(), difference.step,
                     ChannelText(difference.channel), std::move(evidence));
}

std::vector<v1::Finding> Attribute(const Comparison& comparison,
                                   const Unexplained& difference,
                                   const Onsets& onsets,
                                   const std::set<Item>& unknown) {
  switch (difference.channel) {
    case Channel::kIds:
      return AttributeIds(comparison, difference);
    case Channel::kLr:
      return AttributeSchedule(comparison, difference, onsets);
    case Channel::kScale:
    case Channel::kSkipped:
      return AttributeScaler(comparison, difference, onsets);
    case Channel::kRng:
    case Channel::kLoss:
      return AttributeLoss(comparison, difference, onsets, unknown);
    case Channel::kGradNorm:
      return AttributeGradient(comparison, difference, onsets);
    case Channel::kUpdateNorm:
    case Channel::kUpdateNorms:
    case Channel::kParameters:
      return AttributeUpdate(comparison, difference, onsets, unknown);
    case Channel::kApplied:
    case Channel::kSamples:
    case Channel::kEpoch:
      return AttributeCounters(comparison, difference, onsets);
    default:
      return AttributeEvaluation(comparison, difference);
  }
}

}  // namespace reprise::conformance
