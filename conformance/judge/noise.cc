#include "conformance/judge/noise.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace reprise::conformance {
namespace {

// Calls f(channel, step, deviation, same bits) for all that both have.
template <typename F>
void ForEachPair(const Timeline& a, const Timeline& b, F f) {
  for (const v1::StepEvent& step : a.steps) {
    const v1::StepEvent* other = b.Find(step.step());
    for (Channel channel : kChannels) {
      if (IsEvaluation(channel) || other == nullptr) continue;
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
      if (!IsEvaluation(channel) || other == nullptr) continue;
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
    double& largest = (*envelope)[key];
    largest = std::max(largest, deviation);
  };
  for (size_t i = 0; i < baselines.size(); ++i) {
    for (size_t j = i + 1; j < baselines.size(); ++j) {
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

double Noise::UpTo(const Envelope& envelope, uint64_t key) {
  double largest = 0;
  for (const auto& [at, deviation] : envelope) {
    if (at > key + kWindow) break;
    largest = std::max(largest, deviation);
  }
  return largest;
}

bool Noise::Exact(Channel channel) const {
  auto found = exact_.find(channel);
  return found == exact_.end() || found->second;
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

double Noise::Threshold(Channel channel, uint64_t step) const {
  if (Exact(channel)) return 0;
  return std::max(kFloor, kMargin * Pooled(by_step_, channel, step));
}

double Noise::ReplayThreshold(Channel channel, uint64_t step,
                              uint64_t lag) const {
  if (Exact(channel)) return 0;
  if (!has_repeats_) return Threshold(channel, step);
  return std::max(kFloor, kMargin * Pooled(by_lag_, channel, lag));
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

bool Differs(const Observation& a, const Observation& b, double threshold) {
  if (Equal(a, b)) return false;
  if (threshold == 0) return true;
  return Deviation(a, b) > threshold;
}

}  // namespace reprise::conformance
