#include "conformance/judge/curves.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace reprise::conformance {
namespace {

// Half of what the run moves its loss, relative.
double HalfTheMovement(const Timeline& baseline) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const v1::StepEvent& step : baseline.steps) {
    const Observation loss = ReadChannel(Channel::kLoss, &step, nullptr);
    if (!loss.present() || !loss.values[0].finite) continue;
    low = std::min(low, loss.first());
    high = std::max(high, loss.first());
  }
  return high <= low ? 0 : 0.5 * (high - low) / high;
}

}  // namespace

Comparison::Comparison(const Context& context, const Lineage& lineage,
                       size_t index)
    : context_(context),
      attempt_(lineage.attempts[index]),
      resume_(lineage.resumes[index]),
      index_(index),
      attempts_(lineage.attempts),
      baseline_(context.baselines.empty() ? empty_ : context.baselines[0]) {
  // Records of the run itself: those of the attempt before, and of older ones
  // unless a later attempt went another way.
  for (size_t i = index; i-- > 0;) {
    if (!PartedSince(lineage, i + 1, &lineage.attempts[i])) {
      own_.push_back(&lineage.attempts[i]);
    }
  }
  for (const Timeline* own : own_) {
    replay_until_ = std::max(replay_until_, own->last_step());
  }
  if (context.noise.Noisy()) FindPartings(lineage);
  const double movement = HalfTheMovement(baseline_);
  for (const v1::StepEvent& step : attempt_.steps) {
    if (step.step() <= resume_.step) continue;
    if (Reference(step.step()) == nullptr) continue;
    if (IsReplay(step.step())) {
      ++replayed_;
    } else {
      ++against_baseline_;
    }
    telling_ += !Parted(Channel::kLoss, step.step()) &&
                Threshold(Channel::kLoss, step.step()) < movement;
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

void Comparison::FindPartings(const Lineage& lineage) {
  constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
  // In the first step after a resume noise has no history: it cannot part a run
  // from its own records.
  parted_from_own_ = FindParting(
                         attempt_,
                         [this](uint64_t step) {
                           return step == first() ? nullptr : OwnRecord(step);
                         },
                         resume_.step)
                         .value_or(kNever);
  parted_from_baseline_ =
      PartedSince(lineage, 0, &baseline_)
          ? first()
          : FindParting(
                attempt_,
                [this](uint64_t step) { return baseline_.Find(step); },
                resume_.step)
                .value_or(kNever);
}

bool Comparison::Parted(Channel channel, uint64_t step) const {
  return step >=
         (IsOwn(channel, step) ? parted_from_own_ : parted_from_baseline_);
}

std::optional<uint64_t> Comparison::parted() const {
  for (const v1::StepEvent& step : attempt_.steps) {
    if (step.step() > resume_.step && Parted(Channel::kLoss, step.step())) {
      return step.step();
    }
  }
  return std::nullopt;
}

// Whether what attempts from `from` on left behind in the state that was
// resumed had parted from `other`.
bool Comparison::PartedSince(const Lineage& lineage, size_t from,
                             const Timeline* other) const {
  if (!context_.noise.Noisy()) return false;
  uint64_t kept = resume_.step;
  for (size_t i = index_; i-- > from;) {
    const std::optional<uint64_t> step = FindParting(
        lineage.attempts[i], [other](uint64_t n) { return other->Find(n); },
        lineage.resumes[i].step);
    if (step.has_value() && *step <= kept) return true;
    kept = std::min(kept, lineage.resumes[i].step);
  }
  return false;
}

const v1::StepEvent* Comparison::OwnRecord(uint64_t step) const {
  for (const Timeline* own : own_) {
    if (const v1::StepEvent* found = own->Find(step)) return found;
  }
  return nullptr;
}

const v1::EvaluationEvent* Comparison::OwnEvaluation(uint64_t step) const {
  for (const Timeline* own : own_) {
    if (const v1::EvaluationEvent* found = own->FindEvaluation(step)) {
      return found;
    }
  }
  return nullptr;
}

uint32_t Comparison::ReferenceAttempt(Channel channel, uint64_t step) const {
  for (const Timeline* own : own_) {
    if (IsEvaluation(channel) ? own->FindEvaluation(step) != nullptr
                              : own->Find(step) != nullptr) {
      return own - attempts_.data() + 1;
    }
  }
  return 0;
}

bool Comparison::IsOwn(Channel channel, uint64_t step) const {
  return IsEvaluation(channel) ? OwnEvaluation(step) != nullptr
                               : OwnRecord(step) != nullptr;
}

const v1::StepEvent* Comparison::Reference(uint64_t step) const {
  const v1::StepEvent* own = OwnRecord(step);
  return own != nullptr ? own : baseline_.Find(step);
}

const v1::EvaluationEvent* Comparison::ReferenceEvaluation(
    uint64_t step) const {
  const v1::EvaluationEvent* own = OwnEvaluation(step);
  return own != nullptr ? own : baseline_.FindEvaluation(step);
}

Observation Comparison::Found(Channel channel, uint64_t step) const {
  return ReadChannel(channel, attempt_.Find(step),
                     attempt_.FindEvaluation(step));
}

Observation Comparison::Expected(Channel channel, uint64_t step) const {
  return ReadChannel(channel, Reference(step), ReferenceEvaluation(step));
}

double Comparison::Threshold(Channel channel, uint64_t step) const {
  if (!IsOwn(channel, step)) return context_.noise.Threshold(channel, step);
  return context_.noise.ReplayThreshold(
      channel, step > resume_.step ? step - resume_.step : 0);
}

bool Comparison::Differs(Channel channel, uint64_t step) const {
  const bool of_data = channel == Channel::kIds ||
                       channel == Channel::kSamples ||
                       channel == Channel::kEpoch;
  if (!of_data && Parted(channel, step)) return false;
  // An evaluation that is hardly better is hardly worse in an equal run.
  if (channel == Channel::kBadCount &&
      !context_.noise.Exact(Channel::kEvalLoss)) {
    return false;
  }
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
      return AttributeScaler(comparison, difference);
    case Channel::kRng:
    case Channel::kLoss:
      return AttributeLoss(comparison, difference, unknown);
    case Channel::kGradNorm:
      return AttributeGradient(comparison, difference);
    case Channel::kUpdateNorm:
    case Channel::kUpdateNorms:
    case Channel::kParameters:
      return AttributeUpdate(comparison, difference, unknown);
    case Channel::kApplied:
    case Channel::kSamples:
    case Channel::kEpoch:
      return AttributeCounters(comparison, difference);
    default:
      return AttributeEvaluation(comparison, difference, onsets, unknown);
  }
}

}  // namespace reprise::conformance
