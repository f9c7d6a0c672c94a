#include "conformance/judge/channel.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "conformance/protocol/number.h"

namespace reprise::conformance {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Quantity Token(std::string token) {
  Quantity quantity;
  quantity.exact = std::move(token);
  quantity.token = true;
  return quantity;
}

Quantity Count(uint64_t count) {
  Quantity quantity;
  quantity.value = static_cast<double>(count);
  quantity.exact = absl::StrCat(count);
  return quantity;
}

void Add(bool has, const v1::Number& number, Observation* reading) {
  if (has) reading->values.push_back(ToQuantity(number));
}

bool Same(const Quantity& a, const Quantity& b) {
  if (a.resolution == 0 && b.resolution == 0) return a.exact == b.exact;
  if (!a.finite || !b.finite) return a.finite == b.finite;
  // A hair more than the digits say: decimal halves are not binary ones.
  return std::abs(a.value - b.value) <=
         (a.resolution + b.resolution) * (1 + 1e-9);
}

}  // namespace

std::string ChannelText(Channel channel) {
  switch (channel) {
    case Channel::kRng:
      return "generator digests";
    case Channel::kIds:
      return "sample ids";
    case Channel::kLoss:
      return "loss";
    case Channel::kScale:
      return "loss scale";
    case Channel::kSkipped:
      return "skipped";
    case Channel::kLr:
      return "learning rate";
    case Channel::kGradNorm:
      return "gradient norm";
    case Channel::kUpdateNorm:
      return "update norm";
    case Channel::kUpdateNorms:
      return "update norm per parameter";
    case Channel::kParameters:
      return "digest of the parameters";
    case Channel::kApplied:
      return "applied steps";
    case Channel::kSamples:
      return "samples";
    case Channel::kEpoch:
      return "epoch";
    case Channel::kEvalLoss:
      return "evaluation loss";
    case Channel::kEmaLoss:
      return "evaluation loss of the averaged weights";
    case Channel::kMetric:
      return "metric";
    case Channel::kBest:
      return "best";
    case Channel::kBadCount:
      return "evaluations without improvement";
  }
  return "?";
}

bool IsToken(Channel channel) {
  return channel == Channel::kRng || channel == Channel::kIds ||
         channel == Channel::kParameters || channel == Channel::kSkipped;
}

bool IsEvaluation(Channel channel) {
  return channel == Channel::kEvalLoss || channel == Channel::kEmaLoss ||
         channel == Channel::kMetric || channel == Channel::kBest ||
         channel == Channel::kBadCount;
}

Quantity ToQuantity(const v1::Number& number) {
  Quantity quantity;
  absl::StatusOr<Reading> reading = Read(number);
  if (!reading.ok()) {
    // Nothing can be concluded from it but that it is the same text again.
    quantity.token = true;
    quantity.exact = absl::StrCat(number.bits(), " ", number.text());
    quantity.finite = false;
    return quantity;
  }
  quantity.value = reading->value;
  quantity.finite = reading->finite();
  quantity.resolution = reading->resolution;
  if (reading->exact()) {
    quantity.exact =
        quantity.finite ? absl::StrFormat("%a", reading->value) : "non-finite";
  }
  return quantity;
}

Observation ReadChannel(Channel channel, const v1::StepEvent* step,
                        const v1::EvaluationEvent* evaluation) {
  Observation reading;
  if (IsEvaluation(channel)) {
    if (evaluation == nullptr) return reading;
    switch (channel) {
      case Channel::kEvalLoss:
        Add(evaluation->has_loss(), evaluation->loss(), &reading);
        break;
      case Channel::kEmaLoss:
        Add(evaluation->has_ema_loss(), evaluation->ema_loss(), &reading);
        break;
      case Channel::kMetric:
        Add(evaluation->has_metric(), evaluation->metric(), &reading);
        break;
      case Channel::kBest:
        Add(evaluation->has_best(), evaluation->best(), &reading);
        break;
      default:
        if (evaluation->has_bad_count()) {
          reading.values.push_back(Count(evaluation->bad_count()));
        }
    }
    return reading;
  }
  if (step == nullptr) return reading;
  switch (channel) {
    case Channel::kRng:
      for (const std::string& rng : step->rng()) {
        reading.values.push_back(Token(rng));
      }
      break;
    case Channel::kIds:
      if (step->id_list_size() > 0) {
        reading.values.push_back(Token(absl::StrJoin(step->id_list(), ",")));
      } else if (!step->ids().empty()) {
        reading.values.push_back(Token(step->ids()));
      }
      break;
    case Channel::kLoss:
      Add(step->has_loss(), step->loss(), &reading);
      break;
    case Channel::kScale:
      Add(step->has_scale(), step->scale(), &reading);
      break;
    case Channel::kSkipped:
      if (step->has_skipped()) {
        reading.values.push_back(Token(step->skipped() ? "yes" : "no"));
        reading.values[0].value = step->skipped() ? 1 : 0;
      }
      break;
    case Channel::kLr:
      for (const v1::Number& lr : step->lr()) Add(true, lr, &reading);
      break;
    case Channel::kGradNorm:
      Add(step->has_grad_norm(), step->grad_norm(), &reading);
      break;
    case Channel::kUpdateNorm:
      Add(step->has_update_norm(), step->update_norm(), &reading);
      break;
    case Channel::kUpdateNorms:
      for (const v1::Number& norm : step->update_norms()) {
        Add(true, norm, &reading);
      }
      break;
    case Channel::kParameters:
      if (!step->parameters().empty()) {
        reading.values.push_back(Token(step->parameters()));
      }
      break;
    case Channel::kApplied:
      if (step->has_applied()) {
        reading.values.push_back(Count(step->applied()));
      }
      break;
    case Channel::kSamples:
      if (step->has_samples()) {
        reading.values.push_back(Count(step->samples()));
      }
      break;
    case Channel::kEpoch:
      if (step->has_epoch()) reading.values.push_back(Count(step->epoch()));
      break;
    default:
      break;
  }
  return reading;
}

bool Equal(const Observation& a, const Observation& b) {
  if (a.values.size() != b.values.size()) return false;
  for (size_t i = 0; i < a.values.size(); ++i) {
    if (!Same(a.values[i], b.values[i])) return false;
  }
  return true;
}

double Deviation(const Observation& a, const Observation& b) {
  if (a.values.size() != b.values.size()) return kInfinity;
  double largest = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    const Quantity& x = a.values[i];
    const Quantity& y = b.values[i];
    if (Same(x, y)) continue;
    if (x.token || x.finite != y.finite) return kInfinity;
    const double scale = std::max(std::abs(x.value), std::abs(y.value));
    const double difference = std::max(
        0.0, std::abs(x.value - y.value) - x.resolution - y.resolution);
    if (scale > 0) largest = std::max(largest, difference / scale);
  }
  return largest;
}

}  // namespace reprise::conformance
