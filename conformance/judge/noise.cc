#include "conformance/judge/noise.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace reprise::conformance {
namespace {

uint64_t PartingOf(const Timeline& a, const Timeline& b) {
  return FindParting(
             a, [&b](uint64_t step) { return b.Find(step); }, 0)
      .value_or(std::numeric_limits<uint64_t>::max());
}

// Calls f(channel, step, deviation, same bits) for all that both have.
template <typename F>
void ForEachPair(const Timeline& a, const Timeline& b, F f) {
  // Beyond it a difference is no measure of rounding.
  const uint64_t end = PartingOf(a, b);
  for (const v1::StepEvent& step : a.steps) {
    const v1::StepEvent* other = b.Find(step.step());
    for (Channel channel : kChannels) {
      if (IsEvaluation(channel) || other == nullptr) continue;
      if (step.step() >= end && channel != Channel::kIds &&
          channel != Channel::kSamples && channel != Channel::kEpoch) {
        continue;
      }
      const Observation x = ReadChannel(channel, &step, nullptr);
      const Observation y = ReadChannel(channel, other, nullptr);
      if (x.present() && y.present()) {
        f(channel, step.step(), Deviation(x, y), Equal(x, y));
      }
    }
  }
  for (const auto& [step, evaluation] : a.evaluations) {
    const v1::EvaluationEvent* other = b.FindEvaluation(step);
    for (Channel channel : kChannels) {
      if (!IsEvaluation(channel) || other == nullptr || step >= end) continue;
      const Observation x = ReadChannel(channel, nullptr, &evaluation);
      const Observation y = ReadChannel(channel, nullptr, other);
      if (x.present() && y.present()) {
        f(channel, step, Deviation(x, y), Equal(x, y));
      }
    }
  }
}

}  // namespace

Noise::Noise(const std::vector<Timeline>& baselines,
             const std::vector<Timeline>& repeats) {
  auto add = [this](Channel channel, Envelope* envelope, uint64_t key,
                    double deviation, bool same) {
    auto [entry, fresh] = exact_.try_emplace(channel, same);
    if (!fresh) entry->second = entry->second && same;
    // One of two overflowed: its norm is no measure of rounding.
    if (!IsToken(channel) && std::isinf(deviation)) return;
    double& largest = (*envelope)[key];
    largest = std::max(largest, deviation);
  };
  if (!baselines.empty()) {
    const std::vector<v1::StepEvent>& steps = baselines[0].steps;
    for (size_t i = 1; i < steps.size(); ++i) {
      for (Channel channel : kChannels) {
        const Observation here = ReadChannel(channel, &steps[i], nullptr);
        const Observation before = ReadChannel(channel, &steps[i - 1], nullptr);
        if (!here.present() || !before.present() || IsToken(channel)) continue;
        const double change = Deviation(here, before);
        if (std::isfinite(change)) changes_[channel][steps[i].step()] = change;
      }
    }
    const v1::EvaluationEvent* before = nullptr;
    for (const auto& [step, evaluation] : baselines[0].evaluations) {
      for (Channel channel : kChannels) {
        const Observation x = ReadChannel(channel, nullptr, &evaluation);
        const Observation y = ReadChannel(channel, nullptr, before);
        if (!x.present() || !y.present()) continue;
        const double change = Deviation(x, y);
        if (std::isfinite(change)) changes_[channel][step] = change;
      }
      before = &evaluation;
    }
  }
  for (size_t i = 0; i < baselines.size(); ++i) {
    for (size_t j = i + 1; j < baselines.size(); ++j) {
      forgotten_ = std::min(forgotten_, PartingOf(baselines[i], baselines[j]));
      ForEachPair(
          baselines[i], baselines[j],
          [&](Channel channel, uint64_t step, double deviation, bool same) {
            add(channel, &by_step_[channel], step, deviation, same);
          });
      for (const SaveRecord& save : baselines[i].saves) {
        for (const SaveRecord& other : baselines[j].saves) {
          if (save.step != other.step || save.micro != other.micro) continue;
          for (const auto& [item, digest] : save.digests) {
            auto found = other.digests.find(item);
            if (found == other.digests.end()) continue;
            const bool same = found->second.digest() == digest.digest() &&
                              found->second.value() == digest.value();
            auto [entry, fresh] = item_exact_.try_emplace(item, same);
            if (!fresh) entry->second = entry->second && same;
          }
        }
      }
    }
  }
  FindForgotten();
  for (size_t i = 0; i < repeats.size(); ++i) {
    for (size_t j = i + 1; j < repeats.size(); ++j) {
      const v1::StartEvent& a = repeats[i].start;
      const v1::StartEvent& b = repeats[j].start;
      if (a.resumed_step() != b.resumed_step() ||
          a.checkpoint() != b.checkpoint()) {
        continue;
      }
      has_repeats_ = true;
      const uint64_t base = a.resumed_step();
      ForEachPair(
          repeats[i], repeats[j],
          [&](Channel channel, uint64_t step, double deviation, bool same) {
            add(channel, &by_lag_[channel], step > base ? step - base : 0,
                deviation, same);
          });
    }
  }
}

void Noise::FindForgotten() {
  constexpr size_t kFirst = 3;
  Envelope largest;
  for (const auto& [channel, envelope] : by_step_) {
    if (IsToken(channel) || IsEvaluation(channel) || Exact(channel)) continue;
    for (const auto& [step, deviation] : envelope) {
      double& entry = largest[step];
      entry = std::max(entry, deviation);
    }
  }
  double bound = kForgotten;
  size_t steps = 0;
  for (const auto& [step, deviation] : largest) {
    if (steps++ < kFirst) {
      bound = std::max(bound, kGrown * deviation);
    } else if (deviation > bound) {
      forgotten_ = std::min(forgotten_, step);
      return;
    }
  }
}

double Noise::UpTo(const Envelope& envelope, uint64_t key) {
  double largest = 0;
  for (const auto& [at, deviation] : envelope) {
    if (at > key + kWindow) break;
    largest = std::max(largest, deviation);
  }
  return largest;
}

bool Noise::Exact(Channel channel) const {
  constexpr Channel kFollowWeights[] = {
      Channel::kLoss,        Channel::kGradNorm,   Channel::kUpdateNorm,
      Channel::kUpdateNorms, Channel::kParameters, Channel::kEvalLoss,
      Channel::kEmaLoss,     Channel::kMetric,     Channel::kBest};
  auto exact = [this](Channel c) {
    auto found = exact_.find(c);
    return found == exact_.end() || found->second;
  };
  // One of them may agree by luck; noise in one is noise in all.
  if (std::find(std::begin(kFollowWeights), std::end(kFollowWeights),
                channel) != std::end(kFollowWeights)) {
    return std::all_of(std::begin(kFollowWeights), std::end(kFollowWeights),
                       exact);
  }
  return exact(channel);
}

bool Noise::AllExact() const {
  return std::all_of(exact_.begin(), exact_.end(),
                     [](const auto& entry) { return entry.second; });
}

double Noise::Pooled(const std::map<Channel, Envelope>& envelopes,
                     Channel channel, uint64_t key) const {
  constexpr Channel kShared[] = {Channel::kLoss, Channel::kGradNorm,
                                 Channel::kUpdateNorm, Channel::kUpdateNorms};
  double largest = 0;
  auto add = [&](Channel c) {
    auto found = envelopes.find(c);
    if (found != envelopes.end()) {
      largest = std::max(largest, UpTo(found->second, key));
    }
  };
  add(channel);
  if (std::find(std::begin(kShared), std::end(kShared), channel) !=
          std::end(kShared) ||
      (IsEvaluation(channel) && channel != Channel::kBadCount)) {
    for (Channel c : kShared) add(c);
  }
  return largest;
}

double Noise::Climate(Channel channel, uint64_t step) const {
  constexpr uint64_t kAround = 25;
  auto found = changes_.find(channel);
  if (found == changes_.end()) return 0;
  // The nearest records of a channel that comes rarely are further away.
  const uint64_t around = IsEvaluation(channel) ? 20 * kAround : kAround;
  double squares = 0;
  size_t count = 0;
  for (auto it = found->second.lower_bound(step > around ? step - around : 0);
       it != found->second.end() && it->first <= step + around; ++it) {
    squares += it->second * it->second;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count) / 2);
}

double Noise::Threshold(Channel channel, uint64_t step) const {
  if (Exact(channel)) return 0;
  if (IsToken(channel) || step >= forgotten_) {
    return std::numeric_limits<double>::infinity();
  }
  return std::max({kFloor, kMargin * Pooled(by_step_, channel, step),
                   kClimate * Climate(channel, step)});
}

double Noise::ReplayThreshold(Channel channel, uint64_t lag) const {
  if (Exact(channel)) return 0;
  if (IsToken(channel)) return std::numeric_limits<double>::infinity();
  return std::max(
      kReplayFloor,
      kMargin * Pooled(has_repeats_ ? by_lag_ : by_step_, channel, lag));
}

double Noise::Measured(Channel channel) const {
  double largest = 0;
  for (const auto* envelopes : {&by_step_, &by_lag_}) {
    auto found = envelopes->find(channel);
    if (found == envelopes->end()) continue;
    largest = std::max(
        largest,
        UpTo(found->second, std::numeric_limits<uint64_t>::max() - kWindow));
  }
  return largest;
}

bool Noise::ItemExact(Item item) const {
  auto found = item_exact_.find(item);
  return found != item_exact_.end() && found->second;
}

std::optional<uint64_t> FindParting(
    const Timeline& run,
    const std::function<const v1::StepEvent*(uint64_t)>& reference,
    uint64_t from) {
  for (const v1::StepEvent& step : run.steps) {
    const uint64_t n = step.step();
    const v1::StepEvent* other = reference(n);
    if (n <= from || other == nullptr) continue;
    auto same = [](Channel channel, const v1::StepEvent* a,
                   const v1::StepEvent* b) {
      const Observation x = ReadChannel(channel, a, nullptr);
      const Observation y = ReadChannel(channel, b, nullptr);
      return !x.present() || !y.present() || Equal(x, y);
    };
    if (!same(Channel::kSkipped, &step, other) &&
        same(Channel::kScale, &step, other)) {
      return n;
    }
    const v1::StepEvent* before = run.Find(n - 1);
    const v1::StepEvent* other_before = reference(n - 1);
    if (before == nullptr || other_before == nullptr) continue;
    if (!same(Channel::kLr, &step, other) &&
        same(Channel::kLr, before, other_before) &&
        same(Channel::kLr, before, &step) !=
            same(Channel::kLr, other_before, other)) {
      return n;
    }
  }
  return std::nullopt;
}

bool Differs(const Observation& a, const Observation& b, double threshold) {
  if (Equal(a, b)) return false;
  if (threshold == 0) return true;
  return Deviation(a, b) > threshold;
}

}  // namespace reprise::conformance
