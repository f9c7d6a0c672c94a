// Making names and bytes durable in a run folder. Thread-compatible.
#ifndef REPRISE_FORMAT_COMMIT_H_
#define REPRISE_FORMAT_COMMIT_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/io/file_system.h"

namespace reprise {

// Commits a folder as the checkpoint `name` of `run_folder`:
//
//   .tmp-<name>/                made; `fill` writes and syncs its files and it
//   .tmp-<name> -> <name>       renamed, never over something
//   run_folder                  synced: from here on it is committed
//
// `fill` gets the path of the temporary folder. On error nothing of it is left
// (or what could not be removed is named in the message and swept later).
absl::Status CommitCheckpoint(
    FileSystem* file_system, const std::string& run_folder,
    const std::string& name,
    const std::function<absl::Status(const std::string& folder)>& fill);

// The two halves of it, for a save that several processes take part in.
// Makes .tmp-<name>, in place of one that an earlier save left; returns its
// path.
absl::StatusOr<std::string> MakeTemporary(FileSystem* file_system,
                                          const std::string& run_folder,
                                          const std::string& name);
// Renames a filled and synced .tmp-<name>. On error it is removed.
absl::Status PublishTemporary(FileSystem* file_system,
                              const std::string& run_folder,
                              const std::string& name);
// Removes .tmp-<name> after `cause`, which is returned.
absl::Status RemoveTemporary(FileSystem* file_system,
                             const std::string& run_folder,
                             const std::string& name,
                             const absl::Status& cause);

// A version 1 manifest as the only file of `folder`: written, synced, and the
// folder synced. Returns the manifest's digest.
absl::StatusOr<std::string> WriteV1(FileSystem* file_system,
                                    const std::string& folder,
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
