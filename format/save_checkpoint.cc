// Saves: in the foreground, behind, and of several processes.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/checkpoint_store_rep.h"
#include "format/commit.h"
#include "format/refusal.h"
#include "format/v1/codec.h"
#include "format/v2/save.h"
#include "format/v2/shared_save.h"
#include "format/version.h"

namespace reprise {
namespace {

std::string ContextOf(uint64_t step) {
  return absl::StrCat("save of step ", step);
}

}  // namespace

absl::Status CheckpointStore::Rep::Settle() {
  background.Wait();
  return std::exchange(late_error, absl::OkStatus());
}

absl::Status CheckpointStore::Rep::CheckMaySave(
    const Snapshot& snapshot) const {
  if (!run_id.empty() && snapshot.run_id != run_id) {
    return MakeRefusal(
        Refusal::MISMATCH,
        absl::StrCat("run id: expected ", run_id, ", found ", snapshot.run_id));
  }
  absl::StatusOr<std::vector<RunEntry>> entries = Entries();
  if (!entries.ok()) return entries.status();
  const CheckpointPosition position =
      PositionOf(snapshot.step, snapshot.micro_step());
  for (const RunEntry& entry : *entries) {
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

absl::StatusOr<CheckpointStore::Rep::PreparedSave>
CheckpointStore::Rep::Prepare(const Snapshot& snapshot, StagingMemory* copy) {
  absl::Status status = CheckMaySave(snapshot);
  if (!status.ok()) return status;
  PreparedSave prepared;
  prepared.committed.name =
      CheckpointName(snapshot.step, snapshot.micro_step());
  prepared.committed.step = snapshot.step;
  prepared.committed.micro = snapshot.micro_step();
  prepared.run_id = snapshot.run_id;
  if (options.format_major == kV1Major) {
    absl::StatusOr<std::string> manifest = EncodeV1(snapshot);
    if (!manifest.ok()) return manifest.status();
    // The manifest is a copy of everything.
    prepared.fill =
        [this, bytes = std::make_shared<std::string>(*std::move(manifest))](
            const std::string& folder, CommittedSave* committed) {
          absl::StatusOr<std::string> digest = WriteV1(files(), folder, *bytes);
          if (digest.ok()) committed->manifest_digest = *std::move(digest);
          return digest.status();
        };
    return prepared;
  }
  SaveV2Options save;
  save.threads = options.threads;
  save.shard_bytes = options.shard_bytes;
  absl::StatusOr<PlannedV2> planned = PlanV2(snapshot, save);
  if (!planned.ok()) return planned.status();
  auto plan = std::make_shared<PlannedV2>(*std::move(planned));
  if (copy != nullptr) {
    status = copy->Stage(options.threads, plan.get());
    if (!status.ok()) return status;
  }
  prepared.fill = [this, plan, save](const std::string& folder,
                                     CommittedSave* committed) {
    absl::StatusOr<WrittenV2> written =
        WriteV2(files(), folder, std::move(*plan), save);
    if (!written.ok()) return written.status();
    committed->manifest_digest = std::move(written->manifest_digest);
    committed->value_digest = std::move(written->value_digest);
    return absl::OkStatus();
  };
  return prepared;
}

absl::Status CheckpointStore::Rep::Commit(PreparedSave* prepared) {
  absl::Status status =
      CommitCheckpoint(files(), run_folder, prepared->committed.name,
                       [&](const std::string& folder) {
                         return prepared->fill(folder, &prepared->committed);
                       });
  if (!status.ok()) return status;
  run_id = prepared->run_id;
  Hint(prepared->committed.name);
  return status;
}

absl::StatusOr<std::string> CheckpointStore::Save(const Snapshot& snapshot) {
  absl::Status status = rep_->Settle();
  if (!status.ok()) return status;
  absl::StatusOr<Rep::PreparedSave> prepared =
      rep_->Prepare(snapshot, /*copy=*/nullptr);
  status = prepared.status();
  if (status.ok()) status = rep_->Commit(&*prepared);
  if (!status.ok()) return Annotate(status, ContextOf(snapshot.step));
  return std::move(prepared->committed.manifest_digest);
}

absl::StatusOr<SaveStarted> CheckpointStore::SaveAsync(
    Snapshot snapshot, const AsyncSaveOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  if (options.when_busy == AsyncSaveOptions::WhenBusy::kSkip &&
      rep_->background.running()) {
    return SaveStarted::kSkipped;
  }
  absl::Status status = rep_->Settle();
  if (!status.ok()) return status;
  // Where the plan, which refers to its tensors, can keep it.
  auto held = std::make_shared<Snapshot>(std::move(snapshot));
  const std::string context = ContextOf(held->step);
  const bool copies = options.tensors == AsyncSaveOptions::Tensors::kCopied;
  absl::StatusOr<Rep::PreparedSave> prepared =
      rep_->Prepare(*held, copies ? &rep_->staging : nullptr);
  if (!prepared.ok()) return Annotate(prepared.status(), context);
  // Nothing refers to what was copied: a device may reuse its memory.
  if (copies) held = nullptr;
  Rep* const rep = rep_.get();
  auto work = [rep, held, context, begin, prune = options.prune,
               prepared =
                   std::make_shared<Rep::PreparedSave>(*std::move(prepared))] {
    absl::Status saved = rep->Commit(prepared.get());
    if (!saved.ok()) {
      rep->late_error = Annotate(saved, absl::StrCat("background ", context));
      return;
    }
    CommittedSave& committed = prepared->committed;
    committed.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    if (prune) {
      absl::StatusOr<std::vector<std::string>> removed = rep->Prune();
      if (removed.ok()) {
        committed.pruned = *std::move(removed);
      } else {
        rep->late_error =
            Annotate(removed.status(), absl::StrCat("after the ", context));
      }
    }
    rep->committed.push_back(std::move(committed));
  };
  if (!rep->background.Start(work)) {
    return MakeRefusal(Refusal::IO,
                       absl::StrCat(context,
                                    ": the system gives no thread for a "
                                    "save behind; save in the foreground"));
  }
  return SaveStarted::kStarted;
}

bool CheckpointStore::IsSaving() const { return rep_->background.running(); }

std::vector<CommittedSave> CheckpointStore::TakeCommitted() {
  if (IsSaving()) return {};
  rep_->background.Wait();
  return std::exchange(rep_->committed, {});
}

absl::Status CheckpointStore::Wait() { return rep_->Settle(); }

absl::Status CheckpointStore::Close() {
  absl::Status status = rep_->Settle();
  rep_->staging.Release();
  rep_->lock = nullptr;
  return status;
}

absl::StatusOr<std::string> CheckpointStore::BeginShared(uint64_t step,
                                                         uint32_t micro) {
  absl::Status status = rep_->Settle();
  if (!status.ok()) return status;
  return MakeTemporary(rep_->files(), rep_->run_folder,
                       CheckpointName(step, micro));
}

absl::StatusOr<std::string> CheckpointStore::CommitShared(
    const Snapshot& snapshot, const std::vector<std::string>& reports) {
  absl::Status status = rep_->Settle();
  if (!status.ok()) return status;
  const std::string name = CheckpointName(snapshot.step, snapshot.micro_step());
  const std::string context = ContextOf(snapshot.step);
  const std::string folder = rep_->PathOf(absl::StrCat(kTemporaryPrefix, name));
  absl::StatusOr<WrittenV2> written;
  status = rep_->CheckMaySave(snapshot);
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

}  // namespace reprise
