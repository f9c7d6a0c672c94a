#include "format/checkpoint_store.h"

#include <errno.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store_rep.h"
#include "format/commit.h"
#include "format/io/io_error.h"
#include "format/refusal.h"
#include "format/version.h"

namespace reprise {
namespace {

// Bytes of a hint that can be right: a line.
constexpr size_t kLargestHint = 4096;

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

CheckpointStore::~CheckpointStore() { rep_->background.Wait(); }

const std::string& CheckpointStore::run_folder() const {
  return rep_->run_folder;
}

void CheckpointStore::set_retention(const RetentionPolicy& policy) {
  rep_->background.Wait();
  rep_->options.keep_last = policy.keep_last;
  rep_->options.keep_every = policy.keep_every;
  rep_->options.keep_best = policy.keep_best;
}

absl::StatusOr<std::unique_ptr<CheckpointStore>> CheckpointStore::Open(
    const std::string& run_folder, Options options) {
  if (options.keep_last < 1) {
    return MakeRefusal(Refusal::INVALID_VALUE,
                       absl::StrCat("keep_last: expected at least 1, found ",
                                    options.keep_last));
  }
  if (options.format_major < 1 || options.format_major > kNewestMajor) {
    return MakeRefusal(
        Refusal::INVALID_VALUE,
        absl::StrCat("format_major: expected 1 to ", kNewestMajor, ", found ",
                     options.format_major));
  }
  if (options.threads < 1 || options.shard_bytes < 1) {
    return MakeRefusal(
        Refusal::INVALID_VALUE,
        absl::StrCat("threads and shard_bytes: expected at "
                     "least 1, found ",
                     options.threads, " and ", options.shard_bytes));
  }
  auto rep = std::make_unique<Rep>();
  rep->run_folder = run_folder;
  rep->options = options;
  absl::Status status = CreateFoldersDurably(options.file_system, run_folder);
  if (!status.ok()) return Annotate(status, "run folder");
  // An earlier process may have made the folder and died before its name was
  // durable. A parent that may not be read was not made by one.
  status = options.file_system->SyncFolder(ParentFolder(run_folder));
  if (!status.ok() && ErrnoOf(status) != EACCES) {
    return Annotate(status, "run folder");
  }
  absl::StatusOr<std::shared_ptr<FileSystem>> within =
      options.file_system->Within(run_folder);
  if (!within.ok()) return Annotate(within.status(), "run folder");
  rep->within = *std::move(within);
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
  if (IsSaving()) return {};
  rep_->background.Wait();
  return std::exchange(rep_->notices, {});
}

absl::StatusOr<std::vector<uint64_t>> CheckpointStore::List() {
  rep_->background.Wait();
  absl::StatusOr<std::vector<RunEntry>> entries = rep_->Entries();
  if (!entries.ok()) return entries.status();
  std::vector<uint64_t> steps;
  for (const RunEntry& entry : *entries) {
    if (entry.position.has_value()) steps.push_back(entry.position->step);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

absl::StatusOr<LoadedCheckpoint> CheckpointStore::Rep::Read(
    const std::string& name) {
  absl::StatusOr<LoadedCheckpoint> checkpoint =
      ReadCheckpoint(PathOf(name), files(), options.threads);
  if (checkpoint.ok()) {
    CheckpointProbe& probe = verified[name];
    probe.verified = true;
    if (checkpoint->snapshot.best.has_value()) {
      probe.best_step = checkpoint->snapshot.best->step;
    }
  }
  return checkpoint;
}

void CheckpointStore::Rep::Hint(const std::string& name) {
  absl::Status status = WriteLatestHint(files(), run_folder, name);
  if (!status.ok()) {
    notices.push_back(
        absl::StrCat("could not update latest: ", status.message()));
  }
}

absl::StatusOr<bool> CheckpointStore::RepairHint(const std::string& name) {
  rep_->background.Wait();
  const std::string path = rep_->PathOf(kLatestName);
  absl::StatusOr<std::string> hint =
      ReadSmallFile(rep_->files(), path, kLargestHint);
  if (!hint.ok() && ErrnoOf(hint.status()) == ENOENT) {
    if (name.empty()) return false;
  } else if (hint.ok() && *hint == absl::StrCat(name, "\n")) {
    return false;
  }
  absl::Status status =
      name.empty() ? rep_->files()->Unlink(path)
                   : WriteLatestHint(rep_->files(), rep_->run_folder, name);
  if (!status.ok()) return Annotate(status, "latest");
  return true;
}

}  // namespace reprise
