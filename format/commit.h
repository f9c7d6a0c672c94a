// Making names and bytes durable in a run folder. Thread-compatible.
#ifndef REPRISE_FORMAT_COMMIT_H_
#define REPRISE_FORMAT_COMMIT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/io/file_system.h"

namespace reprise {

// Commits a version 1 manifest as the checkpoint folder `name` of `run_folder`:
//
//   .tmp-<name>/manifest.ckpt   written, synced
//   .tmp-<name>/                synced
//   .tmp-<name> -> <name>       renamed, never over something
//   run_folder                  synced: from here on it is committed
//
// Returns the manifest's digest. On error nothing of it is left (or what could
// not be removed is named in the message and swept later).
absl::StatusOr<std::string> CommitCheckpoint(FileSystem* file_system,
                                             const std::string& run_folder,
                                             const std::string& name,
                                             absl::string_view manifest);

// Replaces RUN/latest by one that names `name`.
absl::Status WriteLatestHint(FileSystem* file_system,
                             const std::string& run_folder,
                             const std::string& name);

// Renames a folder, never over something. Where the file system cannot promise
// that in one step, looks first: the holder of the run lock is the only one who
// makes such names. Error of errno EEXIST when `to` is there.
absl::Status RenameFolderNoReplace(FileSystem* file_system,
                                   const std::string& from,
                                   const std::string& to);

}  // namespace reprise

#endif  // REPRISE_FORMAT_COMMIT_H_
