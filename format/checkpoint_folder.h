// A checkpoint's folder and its manifest file, before the manifest is decoded.
// Thread-safe.
#ifndef REPRISE_FORMAT_CHECKPOINT_FOLDER_H_
#define REPRISE_FORMAT_CHECKPOINT_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/io/file_system.h"
#include "format/manifest_file.h"
#include "format/snapshot.h"

namespace reprise {

// The manifest file of the checkpoint folder `path` (without slashes at its
// end), of any major that this program knows. Errors: ABSENT; NOT_A_CHECKPOINT
// (a link, no folder); CORRUPT when there is no manifest in it; those of
// ReadManifestFile.
absl::StatusOr<ManifestFile> ReadManifestOfFolder(const std::string& path,
                                                  FileSystem* file_system);

// A folder that is called step-* has the name that its manifest's step asks
// for: one that was renamed would be chosen at the wrong place. Error MISMATCH.
absl::Status CheckFolderName(const std::string& path, const Snapshot& snapshot);

}  // namespace reprise

#endif  // REPRISE_FORMAT_CHECKPOINT_FOLDER_H_
