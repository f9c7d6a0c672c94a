// Finds the checkpoint that a path means. Thread-safe.
#ifndef REPRISE_TOOLS_CKPT_LOCATE_H_
#define REPRISE_TOOLS_CKPT_LOCATE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/checkpoint_store.h"

namespace reprise::ckpt {

// Refuses a path that is a file: NOT_A_CHECKPOINT, saying what kind of file it
// seems to be and what takes it. OK for folders, and for what is not there,
// which others refuse.
absl::Status CheckIsNoFile(const std::string& path);

// The checkpoint folder that `path` means: itself when it is one, else the
// newest of the run folder `path` for which `usable` says OK. Takes no lock and
// changes nothing; a checkpoint that is committed meanwhile may or may not be
// seen. Those that were passed over are named in `passed_over`, one line each.
// Errors: of CheckIsNoFile; ABSENT when there is no checkpoint; TOO_NEW or
// UNKNOWN_FEATURE when a newer one needs a newer program; else the newest one's
// own.
absl::StatusOr<std::string> Locate(
    const std::string& path,
    const std::function<absl::Status(const std::string& folder)>& usable,
    std::vector<std::string>* passed_over);

// Reads and verifies it whole.
absl::StatusOr<LoadedCheckpoint> ReadMeant(
    const std::string& path, std::vector<std::string>* passed_over);

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_LOCATE_H_
