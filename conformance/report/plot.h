// A plot of recorded curves as an SVG element: the uninterrupted run and every
// attempt over it, with the kills and the first divergence marked.
#ifndef REPRISE_CONFORMANCE_REPORT_PLOT_H_
#define REPRISE_CONFORMANCE_REPORT_PLOT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance {

struct PlotOptions {
  std::string channel;
  // Steps after which an attempt was killed.
  std::vector<uint64_t> kills;
  // First step at which a finding shows.
  std::optional<uint64_t> divergence;
  // Powers of two, say.
  bool logarithmic = false;
  // Only these steps, inclusive; 0 and 0: all.
  uint64_t from = 0;
  uint64_t to = 0;
  // Pixels of the drawing's own coordinates.
  double width = 760;
};

// Empty when no curve of the channel is in `verdict`. Colours come from the
// page's style: classes "baseline" and "attempt-N".
std::string RenderPlot(const v1::Verdict& verdict, const PlotOptions& options);

// "1.25", "0.001", "1.3e-05": few digits, for an axis.
std::string AxisNumber(double value);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_REPORT_PLOT_H_
