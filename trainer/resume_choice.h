// Which checkpoint a process goes on from (--resume).
#ifndef REPRISE_TRAINER_RESUME_CHOICE_H_
#define REPRISE_TRAINER_RESUME_CHOICE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "format/checkpoint_store.h"
#include "format/io/file_system.h"
#include "format/vocabulary.h"

namespace reprise {

struct ResumeChoice {
  std::optional<LoadedCheckpoint> from;  // none: a fresh run
  bool in_run_folder = true;             // where `from` lies
  std::vector<std::string> notices;      // what was passed over, for people
  // What `from` lacks and the person accepts (trainer/begin_anew.h).
  std::vector<Item> begin_anew;

  bool BeginsAnew(Item item) const;
};

// Whether `resume` (below) is a folder, neither a word nor a step.
bool NamesFolder(const std::string& resume);

// `resume` is one of
//   newest     the newest that verifies; a fresh run where there is none
//   required   the newest that verifies; there must be one
//   never      nothing; there must be none
//   STEP       decimal: the boundary of that step, in the run folder
//   a folder   that checkpoint; outside the run folder only when that has none
//
// `store` is that of `run_folder`; null where there is no such folder.
// `accept_missing` names the items that the checkpoint lacks, exactly.
//
// A checkpoint that is not finite is refused. Errors carry a Refusal, or are
// InvalidArgument: `resume` or `accept_missing` and what is there do not go
// together.
absl::StatusOr<ResumeChoice> ChooseCheckpoint(
    const std::string& resume, const std::vector<std::string>& accept_missing,
    const std::string& run_folder, CheckpointStore* store,
    FileSystem* file_system);

}  // namespace reprise

#endif  // REPRISE_TRAINER_RESUME_CHOICE_H_
