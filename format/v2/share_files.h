// Sharing the bytes of a checkpoint with another one by hard links.
//
// Example (a test as well): a folder with the shards of a checkpoint, which the
// caller completes by a manifest.
//
//   auto shared = reprise::ShareFiles(reprise::FileSystem::Real(),
//                                     "run/step-000000000060", "branch", {});
//   if (!shared.ok()) return shared.status();
//   std::cout << shared->notice << "\n";
//
// Thread-safe for different folders `to`.
#ifndef REPRISE_FORMAT_V2_SHARE_FILES_H_
#define REPRISE_FORMAT_V2_SHARE_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "format/io/file_system.h"

namespace reprise {

struct ShareOptions {
  // Copies always, so that damage to one file cannot reach two checkpoints.
  bool copy = false;
  // Reads every byte of the source first. Without it (and without `copy`) only
  // its manifest, digest files and sizes are checked: what is linked is the
  // same file whatever is in it, and the cost does not depend on its size.
  bool verify_tensors = true;
  int threads = 2;
};

struct SharedFiles {
  // Names that are one file with the source's, and names that were copied.
  std::vector<std::string> linked, copied;
  // Why something was copied that was to be linked; empty: nothing was.
  std::string why_copied;
  // "shares storage with run/step-000000000060"; empty when nothing is shared.
  std::string notice;
};

// Gives the folder `to`, which exists, every shard and digest file of the
// version 2 checkpoint `from`. First `from` is verified, and its files
// and folder are synced: what is linked must be durable before it is named
// again. Where a link is not possible (another file system, no such thing) the
// file is copied and synced. The caller writes a manifest and syncs `to`. On
// error files may be left for the caller to remove. Errors: those of a
// verification; IO.
absl::StatusOr<SharedFiles> ShareFiles(FileSystem* file_system,
                                       const std::string& from,
                                       const std::string& to,
                                       const ShareOptions& options);

// Copies a regular file to a new one of that mode, and syncs it. Errors: those
// of the file system (errno EEXIST when `to` is there); IO.
absl::Status CopyFileDurably(FileSystem* file_system, const std::string& from,
                             const std::string& to, uint32_t mode);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_SHARE_FILES_H_
