// The loss curve of a run as a picture, RUN/loss.svg, with the places where one
// attempt ended and the next went on.
//
//   absl::Status status = reprise::WriteLossCurve("/tmp/run");
//
//   loss |\   .                  line: training loss, a colour an attempt
//        | \__|.  attempt 2      dashes: where an attempt went on
//        |    \____.___          dots: evaluations
//        +-------------- step
#ifndef REPRISE_TRAINER_METRICS_LOSS_CURVE_H_
#define REPRISE_TRAINER_METRICS_LOSS_CURVE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainer/metrics/event.h"

namespace reprise {

inline constexpr char kLossCurveFile[] = "loss.svg";

// The events of metrics.jsonl, in order. Losses that are not finite are left
// out; of more than a thousand steps neighbours are drawn as their mean. Pure.
std::string LossCurveSvg(const std::vector<MetricsEvent>& events);

// Draws the metrics.jsonl of the run folder into its loss.svg, in one piece or
// not at all. Errors: those of ReadMetricsFile; UNAVAILABLE naming the file.
absl::Status WriteLossCurve(const std::string& run_folder);

}  // namespace reprise

#endif  // REPRISE_TRAINER_METRICS_LOSS_CURVE_H_
