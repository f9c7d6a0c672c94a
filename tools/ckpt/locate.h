// Finds the checkpoint that a path means. Thread-safe.
#ifndef REPRISE_TOOLS_CKPT_LOCATE_H_
#define REPRISE_TOOLS_CKPT_LOCATE_H_

#include <string>

#include "absl/status/statusor.h"
#include "format/checkpoint_store.h"

namespace reprise::ckpt {

// Reads the checkpoint folder `path`, or the newest checkpoint of the run
// folder `path` that verifies. Takes no lock and changes nothing; a checkpoint
// that is committed meanwhile may or may not be seen. Damaged ones that were
// passed over are named in `passed_over`, one line each. Errors: ABSENT when
// there is no checkpoint; TOO_NEW or UNKNOWN_FEATURE when a newer one needs a
// newer program; else the newest one's own.
absl::StatusOr<LoadedCheckpoint> ReadMeant(
    const std::string& path, std::vector<std::string>* passed_over);

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_LOCATE_H_
