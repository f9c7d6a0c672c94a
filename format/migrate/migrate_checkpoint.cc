#include "format/migrate/migrate_checkpoint.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_folder.h"
#include "format/commit.h"
#include "format/envelope.h"
#include "format/migrate/rename_v2.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/v2/checkpoint_reader.h"
#include "format/v2/digest_file.h"
#include "format/v2/shard_writer.h"
#include "format/v2/share_files.h"

namespace reprise {
namespace {

std::string Version(uint32_t major) { return absl::StrCat("v", major); }

// Steps from the source's major to the one asked for, renaming on the way.
absl::StatusOr<std::vector<MigrationStep>> StepsFrom(
    uint32_t major, const MigrateOptions& options) {
  if (options.to_major < kV2Major) {
    return absl::InvalidArgumentError(absl::StrCat(
        "migrations lead to v2 and later, not to ", Version(options.to_major)));
  }
  if (major > options.to_major) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it is ", Version(major), " already; migrations go forward, not to ",
        Version(options.to_major)));
  }
  std::vector<MigrationStep> known = ReleasedMigrations(options.threads);
  known.insert(known.end(), options.further_steps.begin(),
               options.further_steps.end());
  std::vector<MigrationStep> steps;
  const bool rename = options.rename != nullptr;
  if (rename && major == kV2Major) {
    steps.push_back(RenameMigration(*options.rename));
  }
  for (uint32_t at = major; at < options.to_major; ++at) {
    const MigrationStep* next = nullptr;
    for (const MigrationStep& step : known) {
      if (step.from_major == at) next = &step;
    }
    if (next == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "no step leads from ", Version(at), " to ", Version(options.to_major),
          "; this program knows up to ", Version(at)));
    }
    steps.push_back(*next);
    if (rename && next->to_major == kV2Major) {
      steps.push_back(RenameMigration(*options.rename));
    }
  }
  return steps;
}

// The source before any step. Of version 2 its shards are looked at too.
absl::StatusOr<MigratingCheckpoint> Load(const CheckpointFolder& folder,
                                         ManifestFile file,
                                         const MigrateOptions& options) {
  MigratingCheckpoint checkpoint;
  checkpoint.major = file.envelope.major;
  checkpoint.minor = file.envelope.minor;
  checkpoint.manifest_digest = file.envelope.manifest_digest;
  checkpoint.manifest = file.manifest;
  if (checkpoint.major == kV1Major) return checkpoint;
  absl::StatusOr<std::unique_ptr<CheckpointReader>> reader =
      CheckpointReader::OpenShards(folder, std::move(file));
  if (!reader.ok()) return reader.status();
  absl::Status status = options.verify || options.copy
                            ? (*reader)->Verify(options.threads)
                            : (*reader)->VerifyAllButTensors();
  if (!status.ok()) return status;
  checkpoint.v2 = std::make_shared<const ManifestV2>((*reader)->manifest());
  checkpoint.v2_minor = checkpoint.minor;
  return checkpoint;
}

// What must be the same before and after, by the name that a tensor has after.
std::vector<std::string> Identities(const std::vector<TableEntry>& tensors,
                                    const RenameRules* rename) {
  std::vector<std::string> identities;
  identities.reserve(tensors.size());
  for (TableEntry entry : tensors) {
    if (rename != nullptr && entry.item != Item::USER) {
      entry.name = rename->Renamed(entry.name);
    }
    // Names have no NUL.
    std::string identity = absl::StrCat(static_cast<int>(entry.item), " ",
                                        entry.name, absl::string_view("\0", 1),
                                        entry.part, absl::string_view("\0", 1),
                                        static_cast<int>(entry.dtype), " ");
    for (uint64_t extent : entry.shape) absl::StrAppend(&identity, extent, ",");
    for (uint32_t dimension : entry.order) {
      absl::StrAppend(&identity, " ", dimension);
    }
    identities.push_back(absl::StrCat(identity, " ", entry.root));
  }
  std::sort(identities.begin(), identities.end());
  return identities;
}

absl::Status CheckNoTensorChanged(const std::vector<TableEntry>& before,
                                  const std::vector<TableEntry>& after,
                                  const RenameRules* rename) {
  if (Identities(before, rename) == Identities(after, nullptr)) {
    return absl::OkStatus();
  }
  return MakeRefusal(Refusal::CORRUPT,
                     "a tensor would change in the migration; this is an error "
                     "of this program, and nothing was written");
}

// The tensors as they were before the first step, with digests of their bytes.
// Of version 1 they are known after the step that reads it, from memory that it
// read and did not touch.
const std::vector<TableEntry>& TensorsBefore(
    const MigratingCheckpoint& source, const MigratingCheckpoint& result) {
  return result.bytes != nullptr ? result.bytes->plan.draft.tensors
                                 : source.v2->tensors;
}

absl::Status WriteFromMemory(const PlannedMigration& plan,
                             const std::string& folder,
                             const MigrateOptions& options,
                             WrittenMigration* written) {
  const PlannedV2& v2 = plan.result.bytes->plan;
  absl::StatusOr<std::vector<Chunks>> chunks =
      WriteShards(options.file_system, folder, options.threads, v2.tensors,
                  v2.draft.tensors, v2.shards);
  if (!chunks.ok()) return chunks.status();
  for (uint32_t s = 0; s < v2.shards.size(); ++s) {
    absl::Status status = WriteDurably(
        options.file_system, JoinPath(folder, DigestFileName(v2.shards[s])),
        EncodeDigestFile(v2.draft.tensors, s, *chunks));
    if (!status.ok()) return status;
    written->written += 2;
  }
  return absl::OkStatus();
}

absl::Status BringShards(const PlannedMigration& plan,
                         const std::string& folder,
                         const MigrateOptions& options,
                         WrittenMigration* written) {
  if (plan.result.bytes != nullptr) {
    return WriteFromMemory(plan, folder, options, written);
  }
  ShareOptions share;
  share.copy = options.copy;
  share.threads = options.threads;
  // The plan has verified it.
  share.verify_tensors = false;
  absl::StatusOr<SharedFiles> shared =
      ShareFiles(options.file_system, plan.source, folder, share);
  if (!shared.ok()) return shared.status();
  written->linked = shared->linked.size();
  written->copied = shared->copied.size();
  written->notice = shared->notice;
  written->why_copied = shared->why_copied;
  return absl::OkStatus();
}

// A file of `folder` is one with that of the source.
absl::Status CheckSameFile(const std::string& source, const std::string& folder,
                           const std::string& name, FileSystem* files) {
  absl::StatusOr<FileInfo> theirs = files->LinkStat(JoinPath(source, name));
  if (!theirs.ok()) return theirs.status();
  absl::StatusOr<FileInfo> ours = files->LinkStat(JoinPath(folder, name));
  if (!ours.ok()) return ours.status();
  if (ours->device == theirs->device && ours->inode == theirs->inode) {
    return absl::OkStatus();
  }
  return MakeRefusal(
      Refusal::CORRUPT,
      absl::StrCat(JoinPath(folder, name), ": expected one file with that in ",
                   source, ", found another"));
}

// What lies in `folder` has the digests of the source: it is the same files, or
// what was written is digested once more.
absl::Status ReadBack(const PlannedMigration& plan, const std::string& folder,
                      const MigrateOptions& options,
                      const WrittenMigration& written) {
  absl::Status status;
  if (written.copied + written.written == 0) {
    for (const ShardInfo& shard : plan.result.v2->shards) {
      for (const std::string& name :
           {ShardName(shard), DigestFileName(shard)}) {
        status = CheckSameFile(plan.source, folder, name, options.file_system);
        if (!status.ok()) return Annotate(status, "after linking");
      }
    }
    return status;
  }
  // As version 2 sees the shards, whatever the manifest's major is.
  ManifestFile as_v2;
  as_v2.manifest = plan.result.v2->message.SerializeAsString();
  as_v2.envelope.major = kV2Major;
  as_v2.envelope.minor = plan.result.v2_minor;
  absl::StatusOr<CheckpointFolder> result =
      OpenCheckpointFolder(folder, options.file_system);
  if (!result.ok()) return result.status();
  absl::StatusOr<std::unique_ptr<CheckpointReader>> reader =
      CheckpointReader::OpenShards(*result, std::move(as_v2));
  status = reader.ok() ? (*reader)->Verify(options.threads) : reader.status();
  return Annotate(status, "reading back what was written");
}

}  // namespace

absl::StatusOr<PlannedMigration> PlanMigration(const std::string& given_path,
                                               const MigrateOptions& options) {
  absl::StatusOr<CheckpointFolder> folder =
      OpenCheckpointFolder(given_path, options.file_system);
  if (!folder.ok()) return folder.status();
  const std::string& path = folder->path;
  absl::StatusOr<ManifestFile> file = ReadManifestOfFolder(*folder);
  if (!file.ok()) return file.status();
  absl::StatusOr<std::vector<MigrationStep>> steps =
      StepsFrom(file->envelope.major, options);
  if (!steps.ok()) return Annotate(steps.status(), path);
  PlannedMigration plan;
  plan.source = path;
  plan.from_major = file->envelope.major;
  plan.source_manifest_digest = file->envelope.manifest_digest;
  absl::StatusOr<MigratingCheckpoint> source =
      Load(*folder, *std::move(file), options);
  if (!source.ok()) return source.status();
  plan.result = *source;
  for (const MigrationStep& step : *steps) {
    absl::StatusOr<std::vector<std::string>> notes = step.run(&plan.result);
    if (!notes.ok()) {
      return Annotate(
          notes.status(),
          absl::StrCat(JoinPath(path, kManifestName), ": ", step.program));
    }
    plan.steps.push_back(
        {step.from_major, step.to_major, step.program, *std::move(notes)});
  }
  const ManifestV2& v2 = *plan.result.v2;
  const std::vector<TableEntry>& before = TensorsBefore(*source, plan.result);
  absl::Status status =
      CheckNoTensorChanged(before, v2.tensors, options.rename.get());
  if (status.ok()) status = CheckFolderName(path, v2.snapshot);
  if (!status.ok()) return Annotate(status, path);
  plan.run_id = v2.snapshot.run_id;
  plan.step = v2.snapshot.step;
  plan.micro_step = v2.snapshot.micro_step();
  plan.name = CheckpointName(plan.step, plan.micro_step);
  plan.tensors = v2.tensors.size();
  for (const TableEntry& entry : v2.tensors) {
    if (entry.alias == 0) plan.tensor_bytes += entry.num_bytes();
  }
  return plan;
}

absl::StatusOr<WrittenMigration> WriteMigration(const PlannedMigration& plan,
                                                const std::string& run_folder,
                                                const MigrateOptions& options) {
  WrittenMigration written;
  absl::Status status = CommitCheckpoint(
      options.file_system, run_folder, plan.name,
      [&](const std::string& folder) {
        absl::Status done = BringShards(plan, folder, options, &written);
        if (!done.ok()) return done;
        done = WriteManifestFile(
                   options.file_system, JoinPath(folder, kManifestName),
                   plan.result.major, plan.result.minor, plan.result.manifest)
                   .status();
        if (done.ok()) done = options.file_system->SyncFolder(folder);
        return done.ok() ? ReadBack(plan, folder, options, written) : done;
      });
  if (!status.ok()) return Annotate(status, plan.name);
  return written;
}

}  // namespace reprise
