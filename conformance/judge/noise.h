// How far two equal runs are apart: the yardstick of every comparison.
//
// A channel in which all uninterrupted runs (and all repeats of one resume)
// agree to the last bit is exact: any difference counts. In any other the
// threshold is kMargin times the largest deviation measured between them, up to
// a little beyond the step compared (deviations grow along a run), in any of
// loss, gradient norm and update norms: a rounding that tips a rectifier over
// shows in one of them first and reaches the others later.
#ifndef REPRISE_CONFORMANCE_JUDGE_NOISE_H_
#define REPRISE_CONFORMANCE_JUDGE_NOISE_H_

#include <cstdint>
#include <map>
#include <vector>

#include "conformance/judge/channel.h"
#include "conformance/judge/timeline.h"

namespace reprise::conformance {

class Noise {
 public:
  // README.md derives the false-alarm rate that this stands for.
  static constexpr double kMargin = 20;
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
  // Largest relative deviation accepted at `step` between a run and a baseline;
  // 0 in an exact channel, infinite in one that equal runs do not agree on.
  double Threshold(Channel channel, uint64_t step) const;
  // The same between a resumed run and the records that the same run left
  // before it was killed, `lag` steps after the resume (1 for the first).
  double ReplayThreshold(Channel channel, uint64_t step, uint64_t lag) const;
  // Largest deviation measured anywhere.
  double Measured(Channel channel) const;
  // Whether uninterrupted runs save the item with equal digests at every step.
  bool ItemExact(Item item) const;

 private:
  // Key -> largest deviation there. Key is a step or a lag.
  using Envelope = std::map<uint64_t, double>;
  static double UpTo(const Envelope& envelope, uint64_t key);
  // Largest deviation up to `key` of the channel and those that share its
  // noise.
  double Pooled(const std::map<Channel, Envelope>& envelopes, Channel channel,
                uint64_t key) const;

  std::map<Channel, bool> exact_;
  std::map<Channel, Envelope> by_step_;
  std::map<Channel, Envelope> by_lag_;
  std::map<Item, bool> item_exact_;
  bool has_repeats_ = false;
};

// Whether two present readings differ by more than `threshold` (0: at all).
bool Differs(const Observation& a, const Observation& b, double threshold);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_NOISE_H_
