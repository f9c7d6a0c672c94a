// How far two equal runs are apart: the yardstick of every comparison.
//
// A channel in which all uninterrupted runs (and all repeats of one resume)
// agree to the last bit is exact: any difference counts.
//
//     |deviation|                      forgotten()
//          |                                |   values are not compared
//          |    margin x measured  ____/    |
//          |__________________/____         |   exact channels still are
//          +--------------------------------+----------------------> step
//
// Elsewhere rounding noise grows along a run, and now and then tips a rectifier
// or an overflow over and jumps: its tail is heavy, and a few runs do not show
// it. So a run is compared with *another* run within the larger of kMargin
// times the largest deviation measured so far, in any of loss, gradient norm
// and update norms, and kClimate times what the channel varies by from one step
// to the next. The first steps after a resume are compared with what *the same*
// run recorded before it was killed: there noise starts from nothing, and the
// bound is kMargin times what repeats of one resume differ by (without repeats:
// what baselines differ by that many steps after their common start), or
// kReplayFloor. PROTOCOL.md gives the rate of false alarms.
#ifndef REPRISE_CONFORMANCE_JUDGE_NOISE_H_
#define REPRISE_CONFORMANCE_JUDGE_NOISE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "conformance/judge/channel.h"
#include "conformance/judge/timeline.h"

namespace reprise::conformance {

class Noise {
 public:
  static constexpr double kMargin = 20;
  static constexpr double kClimate = 1.5;
  // A jump of this relative size may come in the first steps of a repeat.
  static constexpr double kReplayFloor = 5e-3;
  // Beyond this measured deviation, or kGrown times that of the first steps,
  // two pairs of equal runs differ by factors of hundreds, so that one pair
  // says nothing of the next.
  static constexpr double kForgotten = 1e-3;
  static constexpr double kGrown = 30;
  // Steps of every resume, at least, that a noisy verdict rests on.
  static constexpr uint64_t kEnough = 3;
  // Steps beyond the one compared whose measured deviations count too.
  static constexpr uint64_t kWindow = 20;
  // Smallest threshold of a channel that is not exact: a few roundings of a
  // float32.
  static constexpr double kFloor = 1e-6;

  Noise() = default;
  Noise(const std::vector<Timeline>& baselines,
        const std::vector<Timeline>& repeats);

  bool Exact(Channel channel) const;
  // Equal runs agree on every channel.
  bool AllExact() const;
  // Equal runs round differently.
  bool Noisy() const { return !Exact(Channel::kLoss); }
  // Largest relative deviation accepted at `step` between a run and a baseline;
  // 0 in an exact channel, infinite in one that equal runs do not agree on and
  // from forgotten() on.
  double Threshold(Channel channel, uint64_t step) const;
  // The same between a resumed run and the records that the same run left
  // before it was killed, `lag` steps after the resume (1 for the first).
  double ReplayThreshold(Channel channel, uint64_t lag) const;
  // First step at which two baselines part or have forgotten that they were
  // equal; the largest number when none do.
  uint64_t forgotten() const { return forgotten_; }
  // Largest deviation measured anywhere.
  double Measured(Channel channel) const;
  // Whether uninterrupted runs save the item with equal digests at every step.
  bool ItemExact(Item item) const;

 private:
  // Key -> largest deviation there. Key is a step or a lag.
  using Envelope = std::map<uint64_t, double>;
  static double UpTo(const Envelope& envelope, uint64_t key);
  void FindForgotten();
  // Largest deviation up to `key` of the channel and those that share its
  // noise.
  double Pooled(const std::map<Channel, Envelope>& envelopes, Channel channel,
                uint64_t key) const;

  // Relative change of the channel from one step to the next, around `step`.
  double Climate(Channel channel, uint64_t step) const;

  // Relative change from the record before.
  std::map<Channel, Envelope> changes_;
  std::map<Channel, bool> exact_;
  std::map<Channel, Envelope> by_step_;
  std::map<Channel, Envelope> by_lag_;
  std::map<Item, bool> item_exact_;
  bool has_repeats_ = false;
  uint64_t forgotten_ = std::numeric_limits<uint64_t>::max();
};

// First step after `from` at which two noisy equal runs part: one skips an
// overflow at a scale at which the other does not, or drops a resting rate at
// which the other rests on. From there on they are different runs of the same
// kind. `reference` gives the other run's records, or null.
std::optional<uint64_t> FindParting(
    const Timeline& run,
    const std::function<const v1::StepEvent*(uint64_t)>& reference,
    uint64_t from);

// Whether two present readings differ by more than `threshold` (0: at all).
bool Differs(const Observation& a, const Observation& b, double threshold);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_NOISE_H_
