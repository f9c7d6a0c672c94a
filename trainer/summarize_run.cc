#include "trainer/summarize_run.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "format/run_entries.h"
#include "trainer/metrics/loss_curve.h"
#include "trainer/metrics/metrics_log.h"

namespace reprise {
namespace {

// The attempt that trained step 1, where its record is there.
std::optional<uint64_t> FirstAttempt(const std::string& run_folder) {
  const auto events =
      ReadMetricsFile(absl::StrCat(run_folder, "/", kMetricsFile));
  if (!events.ok() || events->empty()) return std::nullopt;
  const auto* first = std::get_if<StepEvent>(&events->front());
  if (first == nullptr || first->step != 1) return std::nullopt;
  return first->attempt;
}

}  // namespace

RunSummary SummarizeRun(const TrainerConfig& config, const BuiltRun& run,
                        uint64_t first_step, bool resumed,
                        const std::string& run_folder) {
  RunSummary summary;
  summary.planned_steps = config.run().steps();
  summary.attempted = run.state.attempted;
  summary.applied = run.state.applied;
  summary.skipped = run.state.skipped;
  summary.micro = run.state.accumulation.count;
  summary.first_step = first_step;
  summary.attempt = run.info.attempt;
  summary.first_attempt = FirstAttempt(run_folder);
  summary.resumed = resumed;
  summary.evaluation = run.state.evaluation;
  summary.best = run.state.best;
  summary.run_folder = run_folder;
  if (const auto entries = ListRunEntries(run_folder); entries.ok()) {
    for (const RunEntry& entry : *entries) {
      if (entry.position.has_value()) summary.checkpoints.push_back(entry.name);
    }
  }
  if (auto s = WriteLossCurve(run_folder); !s.ok()) {
    summary.no_loss_curve = std::string(s.message());
  }
  return summary;
}

}  // namespace reprise
