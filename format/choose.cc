// Which checkpoint training goes on from, and what happens to the others.
#include <errno.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "format/checkpoint_store.h"
#include "format/checkpoint_store_rep.h"
#include "format/commit.h"
#include "format/io/io_error.h"
#include "format/refusal.h"

namespace reprise {
namespace {

// Errors that say nothing about the checkpoint: passing it over would throw
// away good work because of the reader's own trouble.
bool IsReadersTrouble(const absl::Status& status) {
  switch (ErrnoOf(status)) {
    case EACCES:
    case EPERM:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return true;
    default:
      return false;
  }
}

bool NeedsNewerReader(const absl::Status& status) {
  const Refusal refusal = RefusalOf(status);
  return refusal == Refusal::TOO_NEW || refusal == Refusal::UNKNOWN_FEATURE;
}

absl::Status CheckAttempt(uint64_t attempt) {
  if (attempt > 0) return absl::OkStatus();
  return MakeRefusal(Refusal::INVALID_VALUE,
                     "attempt: expected at least 1, found 0");
}

bool IsPlainName(absl::string_view name) {
  return !name.empty() && name != "." && name != ".." && name != kLockName &&
         name != kAbandonedName && name.find('/') == absl::string_view::npos;
}

}  // namespace

absl::StatusOr<CheckpointStore::Newest> CheckpointStore::NewestVerified() {
  rep_->background.Wait();
  absl::StatusOr<std::vector<RunEntry>> entries = rep_->Entries();
  if (!entries.ok()) return entries.status();
  Newest result;
  for (const RunEntry& entry : *entries) {
    if (!entry.position.has_value()) {
      result.passed_over.push_back(
          {entry.name,
           MakeRefusal(Refusal::NOT_A_CHECKPOINT,
                       absl::StrCat(rep_->PathOf(entry.name),
                                    ": a checkpoint's folder is called step- "
                                    "and twelve digits"))});
      continue;
    }
    if (result.checkpoint.has_value()) continue;
    absl::StatusOr<LoadedCheckpoint> checkpoint = rep_->Read(entry.name);
    if (checkpoint.ok()) {
      result.checkpoint = *std::move(checkpoint);
    } else if (NeedsNewerReader(checkpoint.status())) {
      return Annotate(checkpoint.status(),
                      "the newest checkpoint needs a newer program, and older "
                      "ones are not used instead");
    } else if (IsReadersTrouble(checkpoint.status())) {
      return checkpoint.status();
    } else {
      result.passed_over.push_back({entry.name, checkpoint.status()});
    }
  }
  if (!result.checkpoint.has_value() && !result.passed_over.empty()) {
    return Annotate(
        result.passed_over.front().reason,
        absl::StrCat("none of the ", result.passed_over.size(),
                     " checkpoints in ", rep_->run_folder,
                     " can be read, and no run starts fresh over them (move "
                     "them away to do that); the newest"));
  }
  return result;
}

absl::StatusOr<std::vector<std::string>> CheckpointStore::ResumeFrom(
    const LoadedCheckpoint& checkpoint, uint64_t attempt) {
  rep_->background.Wait();
  absl::Status status = CheckAttempt(attempt);
  if (!status.ok()) return status;
  const std::string chosen = BaseName(checkpoint.path);
  const CheckpointPosition position =
      PositionOf(checkpoint.snapshot.step, checkpoint.snapshot.micro_step());
  absl::StatusOr<std::vector<RunEntry>> entries = rep_->Entries();
  if (!entries.ok()) return entries.status();
  // Newest first: when this is interrupted, what is left is without a gap.
  std::vector<std::string> beyond;
  bool found = false;
  for (const RunEntry& entry : *entries) {
    found |= entry.name == chosen;
    if (entry.position.has_value() && position < *entry.position) {
      beyond.push_back(entry.name);
    }
  }
  if (!found) {
    return MakeRefusal(
        Refusal::ABSENT,
        absl::StrCat("resume from ", checkpoint.path, ": ", rep_->run_folder,
                     " has no checkpoint of that name"));
  }
  status = rep_->Abandon(attempt, beyond);
  if (!status.ok()) return status;
  rep_->resumed_from = chosen;
  rep_->run_id = checkpoint.snapshot.run_id;
  if (!beyond.empty()) rep_->Hint(chosen);
  return beyond;
}

absl::StatusOr<std::vector<std::string>> CheckpointStore::AbandonAll(
    uint64_t attempt, const std::vector<std::string>& also) {
  rep_->background.Wait();
  absl::Status status = CheckAttempt(attempt);
  if (!status.ok()) return status;
  absl::StatusOr<std::vector<RunEntry>> entries = rep_->Entries();
  if (!entries.ok()) return entries.status();
  std::vector<std::string> names;
  for (const RunEntry& entry : *entries) names.push_back(entry.name);
  for (const std::string& name : also) {
    if (!IsPlainName(name)) {
      return MakeRefusal(
          Refusal::INVALID_VALUE,
          absl::StrCat("\"", name, "\" is no name that may be moved"));
    }
    absl::StatusOr<FileInfo> info = rep_->files()->LinkStat(rep_->PathOf(name));
    if (info.ok()) {
      names.push_back(name);
    } else if (ErrnoOf(info.status()) != ENOENT) {
      return info.status();
    }
  }
  status = rep_->Abandon(attempt, names);
  if (!status.ok()) return status;
  rep_->resumed_from.clear();
  rep_->run_id.clear();
  // A hint at what is gone helps nobody; there may be none.
  rep_->files()->Unlink(rep_->PathOf(kLatestName)).IgnoreError();
  return names;
}

absl::StatusOr<uint64_t> CheckpointStore::NextAttempt(
    const std::optional<LoadedCheckpoint>& newest) {
  uint64_t last = newest.has_value() ? newest->snapshot.attempt : 0;
  absl::StatusOr<std::vector<FolderEntry>> entries =
      rep_->files()->List(rep_->PathOf(kAbandonedName));
  if (!entries.ok()) {
    if (ErrnoOf(entries.status()) != ENOENT) return entries.status();
    return last + 1;
  }
  for (const FolderEntry& entry : *entries) {
    uint64_t attempt = 0;
    if (absl::SimpleAtoi(entry.name, &attempt)) last = std::max(last, attempt);
  }
  return last + 1;
}

absl::Status CheckpointStore::Rep::Abandon(
    uint64_t attempt, const std::vector<std::string>& names) {
  if (names.empty()) return absl::OkStatus();
  const std::string target =
      JoinPath(PathOf(kAbandonedName), absl::StrCat(attempt));
  absl::Status status = CreateFoldersDurably(files(), target);
  for (const std::string& name : names) {
    if (!status.ok()) break;
    status =
        RenameFolderNoReplace(files(), PathOf(name), JoinPath(target, name));
    if (status.ok()) verified.erase(name);
  }
  if (status.ok()) status = files()->SyncFolder(target);
  if (status.ok()) status = files()->SyncFolder(run_folder);
  return Annotate(status, absl::StrCat("moving ", absl::StrJoin(names, ", "),
                                       " to ", target));
}

}  // namespace reprise
