// A checkpoint's folder and its manifest file, before the manifest is decoded.
// Thread-safe.
#ifndef REPRISE_FORMAT_CHECKPOINT_FOLDER_H_
#define REPRISE_FORMAT_CHECKPOINT_FOLDER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/io/file_system.h"
#include "format/manifest_file.h"
#include "format/snapshot.h"

namespace reprise {

// A checkpoint's folder, held: what is opened through `files` lies in this very
// folder, whatever its name leads to meanwhile.
struct CheckpointFolder {
  std::string path;  // without slashes at its end
  std::shared_ptr<FileSystem> files;
  // Where `path` was opened; outlives no call that it was given to.
  FileSystem* outer = nullptr;
};

// Errors: ABSENT; NOT_A_CHECKPOINT (a link, no folder); IO.
absl::StatusOr<CheckpointFolder> OpenCheckpointFolder(const std::string& path,
                                                      FileSystem* file_system);

// What it means that `name` is not in the folder: ABSENT when the checkpoint
// went away meanwhile (a prune), else CORRUPT.
absl::Status MissingFile(const CheckpointFolder& folder, absl::string_view name,
                         absl::string_view meaning);

// The manifest file of the checkpoint, of any major that this program knows.
// Errors: MissingFile; those of ReadManifestFile.
absl::StatusOr<ManifestFile> ReadManifestOfFolder(
    const CheckpointFolder& folder);

// A folder that is called step-* has the name that its manifest's step asks
// for: one that was renamed would be chosen at the wrong place. Error MISMATCH.
absl::Status CheckFolderName(const std::string& path, const Snapshot& snapshot);

}  // namespace reprise

#endif  // REPRISE_FORMAT_CHECKPOINT_FOLDER_H_
