#include "trainer/metrics/loss_curve.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trainer/metrics/metrics_log.h"

namespace reprise {
namespace {

constexpr double kWidth = 900, kHeight = 420;
constexpr double kLeft = 70, kRight = 20, kTop = 40, kBottom = 50;
constexpr size_t kMaxPoints = 1000;
constexpr int kTicks = 5;
// Told apart by people who see colours differently, too.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73",
                                    "#cc79a7", "#56b4e9", "#e69f00"};

struct Point {
  double step = 0;
  double loss = 0;
};

// The steps of one attempt that stand.
struct Attempt {
  uint64_t number = 0;
  std::vector<Point> points;
};

struct Curves {
  std::vector<Attempt> attempts;
  std::vector<Point> evaluations;
};

Curves Collect(const std::vector<MetricsEvent>& events) {
  Curves curves;
  for (const MetricsEvent& event : events) {
    if (const auto* step = std::get_if<StepEvent>(&event)) {
      if (curves.attempts.empty() ||
          curves.attempts.back().number != step->attempt) {
        curves.attempts.push_back({step->attempt, {}});
      }
      if (std::isfinite(step->loss)) {
        curves.attempts.back().points.push_back(
            {static_cast<double>(step->step), step->loss});
      }
    } else {
      const auto& evaluation = std::get<EvaluationEvent>(event);
      if (std::isfinite(evaluation.loss)) {
        curves.evaluations.push_back(
            {static_cast<double>(evaluation.step), evaluation.loss});
      }
    }
  }
  return curves;
}

// Means of neighbours, so that a long run is not a large picture.
std::vector<Point> Thinned(const std::vector<Point>& points, size_t each) {
  std::vector<Point> thin;
  for (size_t begin = 0; begin < points.size(); begin += each) {
    const size_t end = std::min(points.size(), begin + each);
    Point mean;
    for (size_t i = begin; i < end; ++i) {
      mean.step += points[i].step / (end - begin);
      mean.loss += points[i].loss / (end - begin);
    }
    thin.push_back(mean);
  }
  return thin;
}

// From steps and losses to the picture's coordinates.
class Frame {
 public:
  explicit Frame(const Curves& curves) {
    bool any = false;
    const auto take = [&](const Point& p) {
      last_ = std::max(last_, p.step);
      low_ = any ? std::min(low_, p.loss) : p.loss;
      high_ = any ? std::max(high_, p.loss) : p.loss;
      any = true;
    };
    for (const Attempt& attempt : curves.attempts) {
      for (const Point& p : attempt.points) take(p);
    }
    for (const Point& p : curves.evaluations) take(p);
    if (high_ <= low_) high_ = low_ + 1;
  }
  double X(double step) const {
    return kLeft + (kWidth - kLeft - kRight) * step / last_;
  }
  double Y(double loss) const {
    return kTop + (kHeight - kTop - kBottom) * (high_ - loss) / (high_ - low_);
  }
  double last() const { return last_; }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  double last_ = 1, low_ = 0, high_ = 1;
};

void AppendAxes(const Frame& frame, std::string* svg) {
  absl::StrAppendFormat(
      svg, "<path d=\"M%.1f %.1fV%.1fH%.1f\" fill=\"none\" stroke=\"#444\"/>\n",
      kLeft, kTop, kHeight - kBottom, kWidth - kRight);
  for (int i = 0; i <= kTicks; ++i) {
    const double loss = frame.low() + (frame.high() - frame.low()) * i / kTicks;
    absl::StrAppendFormat(svg,
                          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">"
                          "%.4g</text>\n",
                          kLeft - 6, frame.Y(loss) + 4, loss);
    const double step = std::round(frame.last() * i / kTicks);
    absl::StrAppendFormat(svg,
                          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">"
                          "%.0f</text>\n",
                          frame.X(step), kHeight - kBottom + 18, step);
  }
  absl::StrAppendFormat(svg,
                        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">"
                        "attempted step</text>\n",
                        (kLeft + kWidth - kRight) / 2, kHeight - 10);
}

void AppendJoin(const Frame& frame, const Attempt& attempt, std::string* svg) {
  const double x = frame.X(attempt.points.front().step - 1);
  absl::StrAppendFormat(
      svg,
      "<path class=\"join\" d=\"M%.1f %.1fV%.1f\" stroke=\"#888\" "
      "stroke-dasharray=\"4 3\"/>\n<text x=\"%.1f\" y=\"%.1f\" "
      "font-size=\"10\">attempt %d from step %.0f</text>\n",
      x, kTop, kHeight - kBottom, x + 3, kTop + 10, attempt.number,
      attempt.points.front().step - 1);
}

}  // namespace

std::string LossCurveSvg(const std::vector<MetricsEvent>& events) {
  const Curves curves = Collect(events);
  const Frame frame(curves);
  size_t points = 0;
  for (const Attempt& attempt : curves.attempts) {
    points += attempt.points.size();
  }
  const size_t each = points / kMaxPoints + 1;

  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
      "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
      "<text x=\"%.1f\" y=\"20\">training loss (lines), evaluation loss "
      "(dots), joins of attempts (dashes)</text>\n",
      kWidth, kHeight, kLeft);
  AppendAxes(frame, &svg);
  for (size_t i = 0; i < curves.attempts.size(); ++i) {
    const Attempt& attempt = curves.attempts[i];
    if (attempt.points.empty()) continue;
    if (i > 0) AppendJoin(frame, attempt, &svg);
    absl::StrAppendFormat(&svg,
                          "<polyline fill=\"none\" stroke=\"%s\" points=\"",
                          kColours[i % std::size(kColours)]);
    for (const Point& p : Thinned(attempt.points, each)) {
      absl::StrAppendFormat(&svg, "%.1f,%.1f ", frame.X(p.step),
                            frame.Y(p.loss));
    }
    svg += "\"/>\n";
  }
  for (const Point& p : curves.evaluations) {
    absl::StrAppendFormat(&svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n",
                          frame.X(p.step), frame.Y(p.loss));
  }
  svg += "</svg>\n";
  return svg;
}

absl::Status WriteLossCurve(const std::string& run_folder) {
  const auto events =
      ReadMetricsFile(absl::StrCat(run_folder, "/", kMetricsFile));
  if (!events.ok()) return events.status();
  const std::string path = absl::StrCat(run_folder, "/", kLossCurveFile);
  const std::string temporary = path + ".tmp";
  std::ofstream out(temporary);
  out << LossCurveSvg(*events);
  out.close();
  if (!out.good() || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    return absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
  }
  return absl::OkStatus();
}

}  // namespace reprise
