// The events of RUN/metrics.jsonl, one JSON object a line, keys in this order.
//
//   {"type":"step","attempt":1,"step":1,"epoch":0,"batch":0,"samples":128,
//    "ids":"5d6b1c0de2b1a3f4","loss":{"v":2.5,"bits":"40200000"},
//    "lr":[{...}],"scale":{...},"skipped":false,"applied":1,"grad_norm":{...}}
//   {"type":"eval","attempt":1,"step":468,"loss":{...},"accuracy":{...},
//    "samples":10000,"ema_loss":{...},"ema_accuracy":{...},"best":{...},
//    "bad_count":0}
//
// (Broken here; on disk each is one line. The last four are there where the run
// has them.) Floats are as number.h says: loss,
// scale and grad_norm of a step have 32 bits, everything else 64. Keys may be
// added at the end; none is removed or changes its meaning.
#ifndef REPRISE_TRAINER_METRICS_EVENT_H_
#define REPRISE_TRAINER_METRICS_EVENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

// One attempted step.
struct StepEvent {
  uint64_t attempt = 0;        // which process of the run, from 1
  uint64_t step = 0;           // attempted steps completed with this one
  uint64_t epoch = 0;          // of the batch trained on
  uint64_t batch = 0;          // its index in the epoch
  uint64_t samples = 0;        // sampler cursor after the step
  uint64_t ids = 0;            // SampleIdDigest of the batch
  float loss = 0;              // mean over the batch, not scaled
  std::vector<double> lr;      // that the step used, per parameter group
  std::optional<float> scale;  // that the step used; absent: no scaler
  bool skipped = false;        // overflow: the optimizer was not applied
  uint64_t applied = 0;        // applied steps completed
  float gradient_norm = 0;     // global L2, unscaled, before clipping
};

struct EvaluationEvent {
  uint64_t attempt = 0;
  uint64_t step = 0;     // attempted steps completed when it ran
  double loss = 0;       // mean over the samples
  double accuracy = 0;   // fraction in [0, 1]
  uint64_t samples = 0;  // evaluated
  // Of the averaged weights, where an average is kept.
  std::optional<double> ema_loss, ema_accuracy;
  // After this evaluation: the best value so far; evaluations in a row without
  // improvement, where the run may stop early.
  std::optional<double> best;
  std::optional<uint64_t> bad_count;
};

using MetricsEvent = std::variant<StepEvent, EvaluationEvent>;

// The line of an event, without its newline.
std::string FormatEvent(const StepEvent& event);
std::string FormatEvent(const EvaluationEvent& event);

// What FormatEvent wrote, bit for bit; INVALID_ARGUMENT naming the column and
// what was expected there. Any other spelling of JSON is refused: this reader
// is for our own files.
absl::StatusOr<MetricsEvent> ParseEvent(absl::string_view line);

// Type and step of a line, without reading the rest of it.
struct EventKey {
  bool is_evaluation = false;
  uint64_t step = 0;
};
std::optional<EventKey> ParseEventKey(absl::string_view line);

}  // namespace reprise

#endif  // REPRISE_TRAINER_METRICS_EVENT_H_
