// The lines that a run of the trainer ends with:
//
//   Stopped by SIGTERM at step 43 of 60
//     steps        43: 40 applied, 3 skipped by overflow
//     attempts     2, resumed once, the last time from step 40
//     evaluation   step 40: accuracy 84.12 %, loss 0.4321
//     best         accuracy 84.12 % at step 40, step-000000000040
//     time         0:07 in this attempt, 3 steps
//     run folder   /home/anna/runs/a
//     checkpoints  3, the newest step-000000000043
//     records      metrics.jsonl
//     loss curve   loss.svg
//     go on with   bazel run //trainer -- --run_dir=/home/anna/runs/a
//
// What has no folder before it lies in the run folder.
#ifndef REPRISE_TRAINER_RUN_SUMMARY_H_
#define REPRISE_TRAINER_RUN_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/snapshot.h"

namespace reprise {

struct RunSummary {
  enum class End {
    kFinished,     // all steps, or early: without improvement
    kNothingToDo,  // was finished before this process began
    kStopped,      // a signal or the time budget
    kFailed,       // an error, said elsewhere
  };
  End end = End::kFinished;
  std::string stopped_by;  // of kStopped: "SIGTERM", "run.max_seconds"

  uint64_t planned_steps = 0;
  uint64_t attempted = 0, applied = 0, skipped = 0;  // since step 0
  uint32_t micro = 0;       // micro-steps of the next step that are done
  uint64_t first_step = 0;  // attempted steps when this attempt began

  uint64_t attempt = 1;
  // The attempt that began the run (another than 1 after --fresh); absent where
  // the records of step 1 are not in the run folder.
  std::optional<uint64_t> first_attempt;
  bool resumed = false;

  EvaluationState evaluation;
  std::optional<BestState> best;

  double seconds = 0;  // of this process
  std::string run_folder;
  // Names of the checkpoints in it, newest first.
  std::vector<std::string> checkpoints;
  // Why there is no loss curve; empty: there is one.
  std::string no_loss_curve;
  // What to type to go on; empty: nothing is left to do.
  std::string go_on;
};

// Of at most `columns` (0: as wide as need be, for a file); each line with its
// newline. Pure, thread-safe.
std::string SummaryText(const RunSummary& summary, int columns);

}  // namespace reprise

#endif  // REPRISE_TRAINER_RUN_SUMMARY_H_
