#include "trainer/run_summary.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "format/run_layout.h"
#include "trainer/metrics/duration.h"
#include "trainer/metrics/loss_curve.h"
#include "trainer/metrics/metrics_log.h"
#include "trainer/metrics/wrapped.h"

namespace reprise {
namespace {

std::string Steps(uint64_t steps) {
  return steps == 1 ? "1 step" : absl::StrCat(steps, " steps");
}

std::string Headline(const RunSummary& s) {
  const std::string of = absl::StrCat(s.attempted, " of ", s.planned_steps);
  const std::string where = absl::StrCat(
      "step ", of,
      s.micro == 0 ? "" : absl::StrCat(" and ", s.micro, " micro-steps"));
  switch (s.end) {
    case RunSummary::End::kFinished:
      return s.attempted < s.planned_steps
                 ? absl::StrCat("Finished early: ", of,
                                " steps, evaluations no longer improve")
                 : absl::StrCat("Finished: ", of, " steps");
    case RunSummary::End::kNothingToDo:
      return absl::StrCat("The run is finished: ", of,
                          " steps. Nothing to do (--fresh starts again).");
    case RunSummary::End::kStopped:
      return absl::StrCat("Stopped by ", s.stopped_by, " at ", where);
    case RunSummary::End::kFailed:
      break;
  }
  return absl::StrCat("Ended by an error at ", where);
}

std::string StepsText(const RunSummary& s) {
  return absl::StrCat(s.attempted, ": ", s.applied, " applied, ", s.skipped,
                      " skipped by overflow");
}

std::string AttemptsText(const RunSummary& s) {
  if (!s.resumed) return absl::StrCat(s.attempt, ", from the start");
  std::string text = absl::StrCat(s.attempt, ", ");
  if (s.first_attempt.has_value()) {
    const uint64_t times = s.attempt - *s.first_attempt;
    absl::StrAppend(&text, "resumed ",
                    times == 1 ? "once" : absl::StrCat(times, " times"), ", ");
  }
  return absl::StrCat(text, "the last time from step ", s.first_step);
}

std::string Metric(const std::string& name, double value) {
  return absl::EndsWith(name, "accuracy")
             ? absl::StrFormat("%s %.2f %%", name, 100 * value)
             : absl::StrFormat("%s %.4g", name, value);
}

std::string EvaluationText(const RunSummary& s) {
  std::string text = "none yet";
  if (const auto& last = s.evaluation.last; last.has_value()) {
    text = absl::StrCat(
        "step ", last->step, ": ",
        absl::StrJoin(last->metrics, ", ", [](std::string* out, const auto& m) {
          out->append(Metric(m.name, m.value));
        }));
  }
  if (s.evaluation.pending) {
    absl::StrAppend(&text, "; the one of step ", s.attempted,
                    " is still to be done");
  }
  return text;
}

std::string BestText(const RunSummary& s) {
  if (!s.best.has_value()) return "none yet";
  const std::string folder = CheckpointName(s.best->step);
  const bool kept = std::find(s.checkpoints.begin(), s.checkpoints.end(),
                              folder) != s.checkpoints.end();
  return absl::StrCat(Metric(s.best->metric, s.best->value), " at step ",
                      s.best->step, ", ",
                      kept ? folder : "of which there is no checkpoint");
}

std::string CheckpointsText(const RunSummary& s) {
  if (s.checkpoints.empty()) return "none";
  return absl::StrCat(s.checkpoints.size(), ", the newest ",
                      s.checkpoints.front());
}

}  // namespace

std::string SummaryText(const RunSummary& s, int columns) {
  std::string text = Wrapped("", Headline(s), columns);
  const auto row = [&](const char* label, const std::string& value) {
    absl::StrAppend(&text,
                    Wrapped(absl::StrFormat("  %-13s", label), value, columns));
  };
  row("steps", StepsText(s));
  if (s.end != RunSummary::End::kNothingToDo) row("attempts", AttemptsText(s));
  row("evaluation", EvaluationText(s));
  row("best", BestText(s));
  if (s.end != RunSummary::End::kNothingToDo) {
    row("time", absl::StrCat(FormatDuration(s.seconds), " in this attempt, ",
                             Steps(s.attempted - s.first_step)));
  }
  row("run folder", s.run_folder);
  row("checkpoints", CheckpointsText(s));
  row("records", kMetricsFile);
  row("loss curve", s.no_loss_curve.empty()
                        ? kLossCurveFile
                        : absl::StrCat("none: ", s.no_loss_curve));
  if (!s.go_on.empty()) row("go on with", s.go_on);
  return text;
}

}  // namespace reprise
