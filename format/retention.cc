// Which checkpoints are kept, and how the others go.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/checkpoint_store_rep.h"
#include "format/commit.h"
#include "format/manifest_file.h"
#include "format/refusal.h"
#include "format/version.h"

namespace reprise {
namespace {

// A newer program's checkpoint is nobody else's to delete.
bool IsOfNewerFormat(FileSystem* file_system, const std::string& path) {
  absl::StatusOr<Envelope> envelope =
      ReadEnvelope(file_system, JoinPath(path, kManifestName));
  return envelope.ok() && envelope->major > kNewestMajor;
}

// Out of sight in one step, so that no interruption leaves half a checkpoint
// under a checkpoint's name; then removed.
absl::Status RemoveThroughTrash(FileSystem* file_system,
                                const std::string& run_folder,
                                const std::vector<std::string>& names) {
  std::vector<std::string> trash;
  for (const std::string& name : names) {
    trash.push_back(JoinPath(run_folder, absl::StrCat(kTrashPrefix, name)));
    // Left by a prune of this process that failed.
    absl::Status status = RemoveRecursively(file_system, trash.back());
    if (status.ok()) {
      status = RenameFolderNoReplace(file_system, JoinPath(run_folder, name),
                                     trash.back());
    }
    if (!status.ok()) return status;
  }
  absl::Status status = file_system->SyncFolder(run_folder);
  if (!status.ok()) return status;
  for (const std::string& path : trash) {
    status.Update(RemoveRecursively(file_system, path));
  }
  return status;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> CheckpointStore::Rep::Prune() {
  absl::StatusOr<std::vector<NamedEntry>> entries = Entries();
  if (!entries.ok()) return Annotate(entries.status(), "prune");
  std::vector<std::string> remove;
  int kept = 0;
  for (const NamedEntry& entry : *entries) {
    if (!entry.position.has_value()) continue;
    if (kept < options.keep_last) {
      // Damaged ones above the last that is kept stay, as evidence, and do not
      // count.
      if (verified.count(entry.name) > 0 || Read(entry.name).ok()) {
        ++kept;
      }
      continue;
    }
    if (!IsOfNewerFormat(files(), PathOf(entry.name))) {
      remove.push_back(entry.name);
    }
  }
  if (remove.empty()) return remove;
  absl::Status status = RemoveThroughTrash(files(), run_folder, remove);
  if (!status.ok()) return Annotate(status, "prune");
  for (const std::string& name : remove) verified.erase(name);
  return remove;
}

absl::StatusOr<std::vector<std::string>> CheckpointStore::Prune() {
  absl::Status status = rep_->Settle();
  if (!status.ok()) return status;
  return rep_->Prune();
}

}  // namespace reprise
