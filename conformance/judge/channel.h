// Channels: the quantities of a step that two runs are compared in, in causal
// order, each as a list of comparable values.
//
// Example:
//
//   Observation a = ReadChannel(Channel::kLoss, &step, nullptr);
//   Observation b = ReadChannel(Channel::kLoss, &other, nullptr);
//   if (a.present() && b.present() && !Equal(a, b)) {
//     double relative = Deviation(a, b);
//   }
#ifndef REPRISE_CONFORMANCE_JUDGE_CHANNEL_H_
#define REPRISE_CONFORMANCE_JUDGE_CHANNEL_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "reprise/conformance/proto/v1/protocol.pb.h"

namespace reprise::conformance {

namespace v1 = ::reprise::conformance::v1;

// In the order in which a step produces them: an earlier one cannot be the
// effect of a later one of the same step.
enum class Channel {
  kRng,
  kIds,
  kLoss,
  kScale,
  kSkipped,
  kLr,
  kGradNorm,
  kUpdateNorm,
  kUpdateNorms,
  kParameters,
  kApplied,
  kSamples,
  kEpoch,
  kEvalLoss,
  kEmaLoss,
  kMetric,
  kBest,
  kBadCount,
};

inline constexpr std::array<Channel, 18> kChannels = {
    Channel::kRng,        Channel::kIds,        Channel::kLoss,
    Channel::kScale,      Channel::kSkipped,    Channel::kLr,
    Channel::kGradNorm,   Channel::kUpdateNorm, Channel::kUpdateNorms,
    Channel::kParameters, Channel::kApplied,    Channel::kSamples,
    Channel::kEpoch,      Channel::kEvalLoss,   Channel::kEmaLoss,
    Channel::kMetric,     Channel::kBest,       Channel::kBadCount};

// "loss", "learning rate", ...: as people read it.
std::string ChannelText(Channel channel);
// A digest or a list of ids: equal or not, nothing in between.
bool IsToken(Channel channel);
// Recorded by an evaluation, not by a step.
bool IsEvaluation(Channel channel);

// A number with its resolution, or a token.
struct Quantity {
  double value = 0;
  // Half a unit of the last printed digit; 0 when the bits are known.
  double resolution = 0;
  // Bits where given, else the token, else empty.
  std::string exact;
  bool token = false;
  bool finite = true;
};

struct Observation {
  std::vector<Quantity> values;
  bool present() const { return !values.empty(); }
  // First value; 0 when absent.
  double first() const { return values.empty() ? 0 : values[0].value; }
};

Quantity ToQuantity(const v1::Number& number);

// Values of `channel`; either record may be null.
Observation ReadChannel(Channel channel, const v1::StepEvent* step,
                        const v1::EvaluationEvent* evaluation);

// Equal to the last bit, or as far as the printed digits go. Both present.
bool Equal(const Observation& a, const Observation& b);

// Largest relative difference of two present readings: |a - b| less their
// resolution, over the larger magnitude. Infinite for tokens that differ, for
// lists of different length and when only one of the two is finite.
double Deviation(const Observation& a, const Observation& b);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_CHANNEL_H_
