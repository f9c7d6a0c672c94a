// Brings a built run (trainer/built_run.h) to where it goes on: to the state of
// a checkpoint,
//
//   RestoreRun(&choice, &run);             // its state
//   ApplyChanges(config, changes, run.schedule, &run.state);
//   std::cout << ContinueAs(run_dir, choice, columns, &run);  // whose run
//
// or to its weights alone, in another run.
#ifndef REPRISE_TRAINER_RESTORE_RUN_H_
#define REPRISE_TRAINER_RESTORE_RUN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/checkpoint_store.h"
#include "trainer/built_run.h"
#include "trainer/resume_choice.h"

namespace reprise {

// Puts what begins anew into the snapshot of choice->from, and makes the state
// of `run` that of the snapshot, whose tensors keep no bytes from then on (two
// states at once are more than a fresh run ever holds). Errors begin with the
// checkpoint's folder and carry a Refusal; `run` is unusable then. REQUIRES:
// choice->from.
absl::Status RestoreRun(ResumeChoice* choice, BuiltRun* run);

// Makes `run`, restored, the same run as that of choice.from: its id, history
// and what it carries along, and the level at which it resumes. Returns the
// lines to tell the person, each with its newline: what was restored, what
// began anew or was not recorded, the level and why. `run_dir` is for messages;
// `columns` as of RestoredTable.
std::string ContinueAs(const std::string& run_dir, const ResumeChoice& choice,
                       int columns, BuiltRun* run);

// Begins with the weights of another run's checkpoint alone. Returns the line
// to tell the person, which says that this is no resume. Errors: as RestoreRun.
absl::StatusOr<std::string> StartFromWeights(const LoadedCheckpoint& weights,
                                             BuiltRun* run);

}  // namespace reprise

#endif  // REPRISE_TRAINER_RESTORE_RUN_H_
