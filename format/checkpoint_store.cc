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
#include "format/v2/save.h"
#include "format/v2/shared_save.h"
#include "format/version.h"

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
  const std::string name = CheckpointName(snapshot.step, snapshot.micro_step());
  const std::string context = absl::StrCat("save of step ", snapshot.step);
  absl::Status status = rep_->CheckMaySave(snapshot);
  if (!status.ok()) return Annotate(status, context);
  absl::StatusOr<std::string> digest = rep_->options.format_major == kV1Major
                                           ? rep_->SaveV1(name, snapshot)
                                           : rep_->SaveV2(name, snapshot);
  if (!digest.ok()) return Annotate(digest.status(), context);
  rep_->run_id = snapshot.run_id;
  rep_->Hint(name);
  return digest;
}

absl::StatusOr<std::string> CheckpointStore::BeginShared(uint64_t step,
                                                         uint32_t micro) {
  return MakeTemporary(rep_->files(), rep_->run_folder,
                       CheckpointName(step, micro));
}

absl::StatusOr<std::string> CheckpointStore::CommitShared(
    const Snapshot& snapshot, const std::vector<std::string>& reports) {
  const std::string name = CheckpointName(snapshot.step, snapshot.micro_step());
  const std::string context = absl::StrCat("save of step ", snapshot.step);
  const std::string folder = rep_->PathOf(absl::StrCat(kTemporaryPrefix, name));
  absl::StatusOr<WrittenV2> written;
  absl::Status status = rep_->CheckMaySave(snapshot);
  if (status.ok()) {
    written = FinishShared(rep_->files(), folder, snapshot, reports);
    status = written.status();
  }
  if (!status.ok()) {
    status = RemoveTemporary(rep_->files(), rep_->run_folder, name, status);
    return Annotate(status, context);
  }
  status = PublishTemporary(rep_->files(), rep_->run_folder, name);
  if (!status.ok()) return Annotate(status, context);
  rep_->run_id = snapshot.run_id;
  rep_->Hint(name);
  return written->manifest_digest;
}

absl::Status CheckpointStore::Rep::CheckMaySave(
    const Snapshot& snapshot) const {
  if (!run_id.empty() && snapshot.run_id != run_id) {
    return MakeRefusal(
        Refusal::MISMATCH,
        absl::StrCat("run id: expected ", run_id, ", found ", snapshot.run_id));
  }
  absl::StatusOr<std::vector<NamedEntry>> entries = Entries();
  if (!entries.ok()) return entries.status();
  const CheckpointPosition position =
      PositionOf(snapshot.step, snapshot.micro_step());
  for (const NamedEntry& entry : *entries) {
    if (entry.position.has_value() && !(*entry.position < position)) {
      return MakeRefusal(
          Refusal::INVALID_VALUE,
          absl::StrCat(PathOf(entry.name),
                       " is there already; ResumeFrom moves away what lies "
                       "beyond the checkpoint that training goes on from"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> CheckpointStore::Rep::SaveV1(
    const std::string& name, const Snapshot& snapshot) {
  absl::StatusOr<std::string> manifest = EncodeV1(snapshot);
  if (!manifest.ok()) return manifest.status();
  absl::StatusOr<std::string> digest;
  absl::Status status = CommitCheckpoint(
      files(), run_folder, name, [&](const std::string& folder) {
        digest = WriteV1(files(), folder, *manifest);
        return digest.status();
      });
  if (!status.ok()) return status;
  return digest;
}

absl::StatusOr<std::string> CheckpointStore::Rep::SaveV2(
    const std::string& name, const Snapshot& snapshot) {
  SaveV2Options save;
  save.threads = options.threads;
  save.shard_bytes = options.shard_bytes;
  absl::StatusOr<PlannedV2> plan = PlanV2(snapshot, save);
  if (!plan.ok()) return plan.status();
  absl::StatusOr<WrittenV2> written;
  absl::Status status = CommitCheckpoint(
      files(), run_folder, name, [&](const std::string& folder) {
        written = WriteV2(files(), folder, *std::move(plan), save);
        return written.status();
      });
  if (!status.ok()) return status;
  return written->manifest_digest;
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
      ReadCheckpoint(PathOf(name), files(), options.threads);
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
