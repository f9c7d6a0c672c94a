#include "conformance/report/plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "conformance/report/junit.h"

namespace reprise::conformance {
namespace {

constexpr double kHeight = 250;
constexpr double kLeft = 64;
constexpr double kRight = 16;
constexpr double kTop = 46;
constexpr double kBottom = 34;
// Points of a curve that are drawn at most.
constexpr int kPoints = 500;

struct Axes {
  double x0 = std::numeric_limits<double>::infinity();
  double x1 = -std::numeric_limits<double>::infinity();
  double y0 = std::numeric_limits<double>::infinity();
  double y1 = -std::numeric_limits<double>::infinity();
  bool logarithmic = false;
  double width = 760;

  double Scaled(double y) const {
    return logarithmic ? std::log2(std::max(y, 1e-300)) : y;
  }
  double X(double x) const {
    return kLeft + (x - x0) / (x1 - x0) * (width - kLeft - kRight);
  }
  double Y(double scaled) const {
    return kHeight - kBottom -
           (scaled - y0) / (y1 - y0) * (kHeight - kTop - kBottom);
  }
};

// A round distance between axis lines.
double NiceStep(double range, int lines) {
  const double raw = range / lines;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (double factor : {1.0, 2.0, 2.5, 5.0, 10.0}) {
    if (raw <= factor * power * 1.0001) return factor * power;
  }
  return 10 * power;
}

// Lines with gaps where values are not finite; every k-th point when there are
// too many, the extreme ones kept.
std::string Path(const v1::Curve& curve, const Axes& axes) {
  std::string path;
  bool pen = false;
  // Few steps are drawn one by one.
  const int stride = axes.x1 - axes.x0 < kPoints
                         ? 1
                         : std::max(1, 2 * curve.step_size() / kPoints);
  for (int i = 0; i < curve.step_size(); i += stride) {
    const double step = static_cast<double>(curve.step(i));
    if (step < axes.x0 || step > axes.x1) continue;
    const int end = std::min(i + stride, curve.step_size());
    int low = i, high = i;
    for (int j = i; j < end; ++j) {
      if (curve.value(j) < curve.value(low)) low = j;
      if (curve.value(j) > curve.value(high)) high = j;
    }
    for (int j : {std::min(low, high), std::max(low, high)}) {
      if (!std::isfinite(curve.value(j))) {
        pen = false;
        continue;
      }
      absl::StrAppend(
          &path, pen ? "L" : "M",
          absl::StrFormat("%.1f %.1f",
                          axes.X(static_cast<double>(curve.step(j))),
                          axes.Y(axes.Scaled(curve.value(j)))));
      pen = true;
      if (low == high) break;
    }
  }
  return path;
}

void AppendAxes(const Axes& axes, std::string* out) {
  const double ystep = NiceStep(axes.y1 - axes.y0, 4);
  for (double y = std::ceil(axes.y0 / ystep) * ystep; y <= axes.y1 + 1e-12;
       y += ystep) {
    absl::StrAppendFormat(
        out,
        "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
        "y2=\"%.1f\"/><text class=\"tick\" x=\"%.1f\" y=\"%.1f\" "
        "text-anchor=\"end\">%s</text>",
        kLeft, axes.Y(y), axes.width - kRight, axes.Y(y), kLeft - 6,
        axes.Y(y) + 3.5,
        AxisNumber(axes.logarithmic ? std::exp2(y)
                                    : (std::abs(y) < ystep / 1e6 ? 0 : y)));
  }
  const double xstep =
      std::max(1.0, NiceStep(axes.x1 - axes.x0, axes.width > 500 ? 8 : 4));
  for (double x = std::ceil(axes.x0 / xstep) * xstep; x <= axes.x1;
       x += xstep) {
    absl::StrAppendFormat(out,
                          "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" "
                          "text-anchor=\"middle\">%s</text>",
                          axes.X(x), kHeight - kBottom + 15, AxisNumber(x));
  }
  absl::StrAppendFormat(
      out,
      "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>",
      kLeft, kHeight - kBottom, axes.width - kRight, kHeight - kBottom);
  absl::StrAppendFormat(out,
                        "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" "
                        "text-anchor=\"end\">attempted step</text>",
                        axes.width - kRight, kHeight - 6.0);
}

void AppendMark(const Axes& axes, const std::string& kind, double step,
                const std::string& label, double row, std::string* out) {
  if (step < axes.x0 || step > axes.x1) return;
  const double x = axes.X(step);
  // A label near the right edge goes to the left of its line.
  const bool left = x > axes.width - 110;
  absl::StrAppendFormat(
      out,
      "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
      "<text class=\"%s-text\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s"
      "</text>",
      kind, x, kTop - 4, x, kHeight - kBottom, kind, left ? x - 4 : x + 4,
      kTop - 8 - row, left ? "end" : "start", label);
}

}  // namespace

std::string AxisNumber(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 1e-3 && size < 1e7) {
    return absl::StrFormat("%.7g", std::round(value * 1e6) / 1e6);
  }
  return absl::StrFormat("%.3g", value);
}

std::string RenderPlot(const v1::Verdict& verdict, const PlotOptions& options) {
  Axes axes;
  axes.logarithmic = options.logarithmic;
  axes.width = options.width;
  std::vector<const v1::Curve*> curves;
  for (const v1::Curve& curve : verdict.curves()) {
    if (curve.channel() != options.channel) continue;
    curves.push_back(&curve);
    for (int i = 0; i < curve.step_size(); ++i) {
      if (options.to != 0 &&
          (curve.step(i) < options.from || curve.step(i) > options.to)) {
        continue;
      }
      axes.x0 = std::min(axes.x0, static_cast<double>(curve.step(i)));
      axes.x1 = std::max(axes.x1, static_cast<double>(curve.step(i)));
      if (!std::isfinite(curve.value(i))) continue;
      axes.y0 = std::min(axes.y0, axes.Scaled(curve.value(i)));
      axes.y1 = std::max(axes.y1, axes.Scaled(curve.value(i)));
    }
  }
  if (curves.empty() || !std::isfinite(axes.y0)) return "";
  if (axes.x1 <= axes.x0) axes.x1 = axes.x0 + 1;
  if (axes.y1 <= axes.y0) {
    const double margin = std::max(std::abs(axes.y0) * 0.1, 1e-12);
    axes.y0 -= margin;
    axes.y1 += margin;
  }
  const double padding = 0.06 * (axes.y1 - axes.y0);
  axes.y0 -= padding;
  axes.y1 += padding;

  std::string out = absl::StrFormat(
      "<svg class=\"plot\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
      "aria-label=\"%s over attempted steps\">",
      axes.width, kHeight, EscapeXml(options.channel));
  absl::StrAppendFormat(
      &out, "<text class=\"plot-title\" x=\"8\" y=\"14\">%s</text>",
      EscapeXml(options.to == 0 ? options.channel : "around it"));
  AppendAxes(axes, &out);
  // Uninterrupted run below, attempts over it in order.
  std::stable_sort(curves.begin(), curves.end(),
                   [](const v1::Curve* a, const v1::Curve* b) {
                     return a->attempt() < b->attempt();
                   });
  for (const v1::Curve* curve : curves) {
    absl::StrAppend(
        &out, "<path class=\"curve ",
        curve->attempt() == 0
            ? "baseline"
            : absl::StrCat("attempt-", 1 + (curve->attempt() - 1) % 5),
        "\" d=\"", Path(*curve, axes), "\"/>");
  }
  for (size_t i = 0; i < options.kills.size(); ++i) {
    AppendMark(axes, "kill", static_cast<double>(options.kills[i]),
               absl::StrCat("killed at ", options.kills[i]), 0, &out);
  }
  if (options.divergence.has_value()) {
    AppendMark(axes, "divergence", static_cast<double>(*options.divergence),
               absl::StrCat("differs from ", *options.divergence), 13, &out);
  }
  return out + "</svg>";
}

}  // namespace reprise::conformance
