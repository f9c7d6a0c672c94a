// How checkpoints that are not kept go.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/checkpoint_store_rep.h"
#include "format/commit.h"
#include "format/refusal.h"

namespace reprise {
namespace {

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
  absl::StatusOr<std::vector<RunEntry>> entries = Entries();
  if (!entries.ok()) return Annotate(entries.status(), "prune");
  RetentionPolicy policy;
  policy.keep_last = options.keep_last;
  policy.keep_every = options.keep_every;
  policy.keep_best = options.keep_best;
  absl::StatusOr<std::vector<RetentionDecision>> plan = DecideRetention(
      *entries, policy,
      [&](const std::string& name) {
        auto known = verified.find(name);
        if (known != verified.end()) return known->second;
        const CheckpointProbe found =
            ProbeCheckpoint(PathOf(name), files(), options.threads);
        if (found.verified) verified[name] = found;
        return found;
      },
      [&](const std::string& name) {
        return IsOfNewerFormat(PathOf(name), files());
      });
  if (!plan.ok()) return Annotate(plan.status(), "prune");
  std::vector<std::string> remove;
  for (const RetentionDecision& decision : *plan) {
    if (!decision.keep) remove.push_back(decision.name);
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
