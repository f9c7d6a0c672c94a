#include "format/migrate/migrate_run.h"

#include <errno.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/checkpoint_folder.h"
#include "format/checkpoint_store.h"
#include "format/commit.h"
#include "format/io/io_error.h"
#include "format/migrate/migration_source.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/run_lock.h"
#include "format/v2/share_files.h"

namespace reprise {
namespace {

constexpr char kStagingPrefix[] = "migrate-";

class RunMigration {
 public:
  RunMigration(const MigrateRunOptions& options, bool* writing)
      : options_(options),
        files_(options.checkpoint.file_system),
        out_(WithoutTrailingSlashes(options.out)),
        staging_(JoinPath(
            ParentFolder(out_),
            absl::StrCat(kTemporaryPrefix, kStagingPrefix, BaseName(out_)))),
        writing_(writing) {}

  absl::StatusOr<MigratedRun> Run(const std::string& source) {
    absl::StatusOr<MigrationSource> found = FindMigrationSource(source, files_);
    if (!found.ok()) return found.status();
    source_ = *std::move(found);
    absl::Status status = CheckOut(source);
    if (status.ok()) status = PlanAll();
    if (!status.ok()) return status;
    run_.out = out_;
    if (NothingToDo()) {
      run_.outcome = MigrationOutcome::kNothingToDo;
      return std::move(run_);
    }
    absl::StatusOr<bool> done = IsDone();
    if (!done.ok()) return done.status();
    if (*done) {
      run_.outcome = MigrationOutcome::kWasDoneBefore;
      return std::move(run_);
    }
    run_.carried = source_.files;
    run_.not_carried = source_.left;
    if (options_.dry_run) {
      run_.outcome = MigrationOutcome::kPlanned;
      return std::move(run_);
    }
    if (writing_ != nullptr) *writing_ = true;
    status = Write();
    if (!status.ok()) return status;
    return std::move(run_);
  }

 private:
  void Say(const std::string& line) {
    if (options_.progress) options_.progress(line);
  }

  // Never in place, nor where a reader of the source would find it.
  absl::Status CheckOut(const std::string& source) {
    const std::string from = WithoutTrailingSlashes(source);
    if (out_.empty()) {
      return absl::InvalidArgumentError("expected a folder to write to");
    }
    absl::StatusOr<FileInfo> parent = files_->Stat(ParentFolder(out_));
    if (!parent.ok() && ErrnoOf(parent.status()) != ENOENT) {
      return parent.status();
    }
    if (!parent.ok() || parent->kind != FileKind::kFolder) {
      return absl::InvalidArgumentError(
          absl::StrCat(out_, ": the folder that it is to lie in is not there"));
    }
    if (out_ == from || absl::StartsWith(out_, absl::StrCat(from, "/"))) {
      return absl::InvalidArgumentError(
          absl::StrCat("a migration is never in place: ", out_, " lies in ",
                       from, "; choose another --out"));
    }
    return absl::OkStatus();
  }

  // Everything that can be refused is refused here. Where tensors are in
  // memory, what the steps made is thrown away again: memory for one at a time.
  absl::Status PlanAll() {
    std::string run_id;
    for (const std::string& path : source_.checkpoints) {
      Say(absl::StrCat("checking ", path));
      absl::StatusOr<PlannedMigration> plan =
          PlanMigration(path, options_.checkpoint);
      if (!plan.ok()) return WithAdvice(plan.status());
      if (!run_id.empty() && plan->run_id != run_id) {
        return MakeRefusal(
            Refusal::MISMATCH,
            absl::StrCat(path, ": expected a checkpoint of run ", run_id,
                         " like the others in this folder, found run ",
                         plan->run_id));
      }
      run_id = plan->run_id;
      run_.checkpoints.push_back(ReportOf(*plan));
      plans_.emplace_back();
      if (plan->result.bytes == nullptr) plans_.back() = *std::move(plan);
    }
    return absl::OkStatus();
  }

  // What a person can do when one checkpoint of many is in the way.
  absl::Status WithAdvice(const absl::Status& status) const {
    const size_t checkpoints = source_.checkpoints.size();
    if (checkpoints == 1 || RefusalOf(status) == Refusal::REFUSAL_UNSPECIFIED) {
      return status;
    }
    return Annotate(status,
                    absl::StrCat("one of ", checkpoints,
                                 " checkpoints (move it away, or migrate the "
                                 "others one by one)"));
  }

  static MigratedCheckpoint ReportOf(const PlannedMigration& plan) {
    const ManifestV2& v2 = *plan.result.v2;
    MigratedCheckpoint report;
    report.source = plan.source;
    report.name = plan.name;
    report.step = plan.step;
    report.micro_step = plan.micro_step;
    report.from_major = plan.from_major;
    report.to_major = plan.result.major;
    report.steps = plan.steps;
    report.manifest_digest = plan.result.manifest_digest;
    report.value_digest = v2.value_digest;
    report.tensors = plan.tensors;
    report.tensor_bytes = plan.tensor_bytes;
    report.lacking = LackingFor(v2.snapshot, ResumeLevel::BITWISE);
    report.highest_level = HighestLevel(v2.snapshot);
    return report;
  }

  bool NothingToDo() const {
    return std::all_of(
        run_.checkpoints.begin(), run_.checkpoints.end(),
        [](const MigratedCheckpoint& c) { return c.steps.empty(); });
  }

  // Whether `out` has all of it from an earlier call. Error when something else
  // is there.
  absl::StatusOr<bool> IsDone() {
    absl::StatusOr<FileInfo> info = files_->LinkStat(out_);
    if (!info.ok()) {
      if (ErrnoOf(info.status()) == ENOENT) return false;
      return info.status();
    }
    absl::Status in_use = absl::InvalidArgumentError(absl::StrCat(
        out_,
        ": is there already and is not this migration; choose another "
        "--out, or move it away"));
    if (info->kind != FileKind::kFolder) return in_use;
    absl::StatusOr<std::vector<FolderEntry>> entries = files_->List(out_);
    if (!entries.ok()) return entries.status();
    if (entries->empty()) return false;
    for (const MigratedCheckpoint& checkpoint : run_.checkpoints) {
      absl::StatusOr<Envelope> envelope = ReadEnvelope(
          files_, JoinPath(JoinPath(out_, checkpoint.name), kManifestName));
      if (!envelope.ok() ||
          envelope->manifest_digest != checkpoint.manifest_digest) {
        return in_use;
      }
    }
    return true;
  }

  absl::Status Write() {
    absl::Status status = files_->CreateFolder(staging_);
    if (!status.ok() && ErrnoOf(status) != EEXIST) return status;
    // After a power failure, too, it is found and used or removed.
    status = files_->SyncFolder(ParentFolder(out_));
    if (status.ok()) {
      absl::StatusOr<std::unique_ptr<RunLock>> lock =
          RunLock::Take(files_, staging_);
      // Somebody else's work is not removed.
      if (RefusalOf(lock.status()) == Refusal::LOCKED) return lock.status();
      status = lock.status();
      if (status.ok()) status = Fill();
    }
    if (status.ok()) status = Publish();
    if (status.ok()) return status;
    absl::Status removed = RemoveRecursively(files_, staging_);
    if (removed.ok()) return status;
    return Annotate(status, absl::StrCat("(left behind: ", staging_,
                                         ", used by the next try)"));
  }

  // Puts everything into the staging folder, going on where a killed process
  // ended.
  absl::Status Fill() {
    absl::Status status = RemoveStrangers();
    for (size_t i = 0; i < plans_.size(); ++i) {
      if (status.ok()) status = WriteOne(&run_.checkpoints[i], &plans_[i]);
    }
    for (const std::string& folder : source_.folders) {
      if (status.ok()) {
        status = CreateFoldersDurably(files_, JoinPath(staging_, folder));
      }
    }
    for (const std::string& file : source_.files) {
      if (!status.ok()) break;
      const std::string to = JoinPath(staging_, file);
      status = RemoveRecursively(files_, to);
      if (status.ok()) {
        status = CopyFileDurably(files_, JoinPath(source_.run_folder, file), to,
                                 0644);
      }
    }
    for (const std::string& folder : source_.folders) {
      if (status.ok()) status = files_->SyncFolder(JoinPath(staging_, folder));
    }
    if (status.ok()) {
      status = WriteLatestHint(files_, staging_, run_.checkpoints.back().name);
    }
    return status.ok() ? files_->SyncFolder(staging_) : status;
  }

  // What an earlier call for another source left.
  absl::Status RemoveStrangers() {
    std::set<std::string> expected = {kLockName, kLockClaimName};
    for (const MigratedCheckpoint& checkpoint : run_.checkpoints) {
      expected.insert(checkpoint.name);
    }
    absl::StatusOr<std::vector<FolderEntry>> entries = files_->List(staging_);
    if (!entries.ok()) return entries.status();
    for (const FolderEntry& entry : *entries) {
      if (expected.count(entry.name) > 0) continue;
      absl::Status status =
          RemoveRecursively(files_, JoinPath(staging_, entry.name));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status WriteOne(MigratedCheckpoint* report,
                        std::optional<PlannedMigration>* kept) {
    const std::string to = JoinPath(staging_, report->name);
    if (IsWritten(*report, to)) {
      report->was_there = true;
      Say(absl::StrCat(report->name, " is there from an interrupted try"));
      return absl::OkStatus();
    }
    absl::Status status = RemoveRecursively(files_, to);
    if (!status.ok()) return status;
    Say(absl::StrCat("writing ", report->name));
    absl::StatusOr<PlannedMigration> plan =
        kept->has_value() ? *std::move(*kept)
                          : PlanMigration(report->source, options_.checkpoint);
    kept->reset();
    if (!plan.ok()) return plan.status();
    if (plan->result.manifest_digest != report->manifest_digest) {
      return MakeRefusal(
          Refusal::MISMATCH,
          absl::StrCat(report->source, ": changed while it was migrated"));
    }
    absl::StatusOr<WrittenMigration> written =
        WriteMigration(*plan, staging_, options_.checkpoint);
    if (!written.ok()) return written.status();
    report->written = *std::move(written);
    return absl::OkStatus();
  }

  // Whether the folder is this very migration, every byte of it. Links are made
  // anew: that is quicker than reading.
  bool IsWritten(const MigratedCheckpoint& report, const std::string& path) {
    const bool linked =
        report.from_major >= kV2Major && !options_.checkpoint.copy;
    if (linked || report.to_major > kNewestMajor) return false;
    absl::StatusOr<Envelope> envelope =
        ReadEnvelope(files_, JoinPath(path, kManifestName));
    return envelope.ok() &&
           envelope->manifest_digest == report.manifest_digest &&
           VerifyCheckpoint(path, files_, options_.checkpoint.threads).ok();
  }

  absl::Status Publish() {
    // An empty folder may be there.
    absl::Status status = files_->RemoveFolder(out_);
    if (!status.ok() && ErrnoOf(status) != ENOENT) return status;
    status = RenameFolderNoReplace(files_, staging_, out_);
    if (!status.ok()) return status;
    status = files_->SyncFolder(ParentFolder(out_));
    if (status.ok()) return status;
    // Not known to be durable: taken back.
    absl::Status undone = RenameFolderNoReplace(files_, out_, staging_);
    if (undone.ok()) return status;
    return Annotate(status,
                    absl::StrCat("(and ", out_,
                                 " could not be taken back: it is whole, but "
                                 "may not survive a power failure)"));
  }

  const MigrateRunOptions& options_;
  FileSystem* const files_;
  const std::string out_;
  const std::string staging_;
  bool* const writing_;
  MigrationSource source_;
  MigratedRun run_;
  // Of each checkpoint, where it is small enough to be kept.
  std::vector<std::optional<PlannedMigration>> plans_;
};

}  // namespace

std::string DefaultMigrationOut(const std::string& source, uint32_t to_major,
                                bool rename_only) {
  std::string base = WithoutTrailingSlashes(source);
  if (ParseCheckpointName(BaseName(base)).has_value()) {
    base = ParentFolder(base);
  }
  return absl::StrCat(base,
                      rename_only ? ".renamed" : absl::StrCat(".v", to_major));
}

absl::StatusOr<MigratedRun> MigrateRun(const std::string& source,
                                       const MigrateRunOptions& options,
                                       bool* writing) {
  return RunMigration(options, writing).Run(source);
}

}  // namespace reprise
