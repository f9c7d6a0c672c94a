#include "format/checkpoint_store.h"

#include <errno.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store_rep.h"
#include "format/commit.h"
#include "format/io/io_error.h"
#include "format/refusal.h"
#include "format/v1/codec.h"

namespace reprise {
namespace {

// Removes what interrupted saves and prunes left. A leftover that cannot be
// removed does not keep anybody from training.
absl::Status Sweep(FileSystem* file_system, const std::string& run_folder,
                   std::vector<std::string>* notices) {
  absl::StatusOr<std::vector<FolderEntry>> entries =
      file_system->List(run_folder);
  if (!entries.ok()) return entries.status();
  for (const FolderEntry& entry : *entries) {
    if (!IsLeftover(entry.name)) continue;
    absl::Status status =
        RemoveRecursively(file_system, JoinPath(run_folder, entry.name));
    notices->push_back(status.ok()
                           ? absl::StrCat("removed the leftover ", entry.name)
                           : absl::StrCat("could not remove the leftover ",
                                          entry.name, ": ", status.message()));
  }
  return absl::OkStatus();
}

}  // namespace

CheckpointStore::CheckpointStore(std::unique_ptr<Rep> rep)
    : rep_(std::move(rep)) {}

CheckpointStore::~CheckpointStore() = default;

const std::string& CheckpointStore::run_folder() const {
  return rep_->run_folder;
}

void CheckpointStore::set_keep_last(int keep_last) {
  rep_->options.keep_last = keep_last;
}

absl::StatusOr<std::unique_ptr<CheckpointStore>> CheckpointStore::Open(
    const std::string& run_folder, Options options) {
  if (options.keep_last < 1) {
    return MakeRefusal(Refusal::INVALID_VALUE,
                       absl::StrCat("keep_last: expected at least 1, found ",
                                    options.keep_last));
  }
  auto rep = std::make_unique<Rep>();
  rep->run_folder = run_folder;
  rep->options = options;
  absl::Status status = CreateFoldersDurably(rep->files(), run_folder);
  if (!status.ok()) return Annotate(status, "run folder");
  // An earlier process may have made the folder and died before its name was
  // durable. A parent that may not be read was not made by one.
  status = rep->files()->SyncFolder(ParentFolder(run_folder));
  if (!status.ok() && ErrnoOf(status) != EACCES) {
    return Annotate(status, "run folder");
  }
  absl::StatusOr<std::unique_ptr<RunLock>> lock =
      RunLock::Take(rep->files(), run_folder, options.take_foreign_lock);
  if (!lock.ok()) return lock.status();
  rep->lock = *std::move(lock);
  rep->notices = rep->lock->notices();
  status = Sweep(rep->files(), run_folder, &rep->notices);
  if (!status.ok()) return Annotate(status, "run folder");
  return std::unique_ptr<CheckpointStore>(new CheckpointStore(std::move(rep)));
}

std::vector<std::string> CheckpointStore::TakeNotices() {
  return std::exchange(rep_->notices, {});
}

absl::StatusOr<std::vector<uint64_t>> CheckpointStore::List() {
  absl::StatusOr<std::vector<NamedEntry>> entries = rep_->Entries();
  if (!entries.ok()) return entries.status();
  std::vector<uint64_t> steps;
  for (const NamedEntry& entry : *entries) {
    if (entry.position.has_value()) steps.push_back(entry.position->step);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

absl::StatusOr<std::string> CheckpointStore::Save(const Snapshot& snapshot) {
  const std::string name = CheckpointName(snapshot.step);
  const std::string context = absl::StrCat("save of step ", snapshot.step);
  if (!rep_->run_id.empty() && snapshot.run_id != rep_->run_id) {
    return MakeRefusal(Refusal::MISMATCH,
                       absl::StrCat(context, ": run id: expected ",
                                    rep_->run_id, ", found ", snapshot.run_id));
  }
  absl::StatusOr<std::vector<NamedEntry>> entries = rep_->Entries();
  if (!entries.ok()) return Annotate(entries.status(), context);
  const CheckpointPosition position{snapshot.step, std::nullopt};
  for (const NamedEntry& entry : *entries) {
    if (entry.position.has_value() && !(*entry.position < position)) {
      return MakeRefusal(
          Refusal::INVALID_VALUE,
          absl::StrCat(context, ": ", rep_->PathOf(entry.name),
                       " is there already; ResumeFrom moves away what lies "
                       "beyond the checkpoint that training goes on from"));
    }
  }
  absl::StatusOr<std::string> manifest = EncodeV1(snapshot);
  if (!manifest.ok()) return Annotate(manifest.status(), context);
  absl::StatusOr<std::string> digest =
      CommitCheckpoint(rep_->files(), rep_->run_folder, name, *manifest);
  if (!digest.ok()) return Annotate(digest.status(), context);
  rep_->run_id = snapshot.run_id;
  rep_->Hint(name);
  return digest;
}

absl::StatusOr<std::vector<NamedEntry>> CheckpointStore::Rep::Entries() const {
  absl::StatusOr<std::vector<FolderEntry>> found = files()->List(run_folder);
  if (!found.ok()) return found.status();
  std::vector<NamedEntry> entries;
  for (const FolderEntry& entry : *found) {
    if (!IsCheckpointNamed(entry.name)) continue;
    entries.push_back({entry.name, ParseCheckpointName(entry.name)});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const NamedEntry& a, const NamedEntry& b) {
                     return b.position < a.position;
                   });
  return entries;
}

absl::StatusOr<LoadedCheckpoint> CheckpointStore::Rep::Read(
    const std::string& name) {
  absl::StatusOr<LoadedCheckpoint> checkpoint =
      ReadCheckpoint(PathOf(name), files());
  if (checkpoint.ok()) verified.insert(name);
  return checkpoint;
}

void CheckpointStore::Rep::Hint(const std::string& name) {
  absl::Status status = WriteLatestHint(files(), run_folder, name);
  if (!status.ok()) {
    notices.push_back(
        absl::StrCat("could not update latest: ", status.message()));
  }
}

}  // namespace reprise
