#include "format/read_checkpoint.h"

#include <errno.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/io/io_error.h"
#include "format/manifest_file.h"
#include "format/migrate/in_memory_v2.h"
#include "format/migrate/unknown_v1.h"
#include "format/migrate/v1_to_v2.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/v1/codec.h"
#include "format/v2/checkpoint_reader.h"
#include "format/version.h"

namespace reprise {
namespace {

absl::Status CheckFolder(const std::string& path, FileSystem* file_system) {
  absl::StatusOr<FileInfo> info = file_system->LinkStat(path);
  if (!info.ok()) return info.status();
  switch (info->kind) {
    case FileKind::kFolder:
      return absl::OkStatus();
    case FileKind::kSymbolicLink:
      return MakeRefusal(Refusal::NOT_A_CHECKPOINT,
                         absl::StrCat(path,
                                      ": a symbolic link; they are "
                                      "refused, name the real folder"));
    default:
      return MakeRefusal(Refusal::NOT_A_CHECKPOINT,
                         absl::StrCat(path,
                                      ": not a folder; a checkpoint is "
                                      "a folder with a ",
                                      kManifestName));
  }
}

// A folder that was renamed would be chosen at the wrong place.
absl::Status CheckName(const std::string& path, const Snapshot& snapshot) {
  const std::string name = BaseName(path);
  if (!ParseCheckpointName(name).has_value()) return absl::OkStatus();
  const std::string expected =
      CheckpointName(snapshot.step, snapshot.micro_step());
  if (name == expected) return absl::OkStatus();
  return MakeRefusal(
      Refusal::MISMATCH,
      absl::StrCat(
          path, ": the manifest is of step ", snapshot.step,
          snapshot.micro_step() > 0
              ? absl::StrCat(" and ", snapshot.micro_step(), " micro-steps")
              : "",
          ", expected the folder ", expected));
}

// Folder and manifest, of any version.
absl::StatusOr<ManifestFile> ReadManifestOf(const std::string& path,
                                            FileSystem* file_system) {
  absl::Status status = CheckFolder(path, file_system);
  if (!status.ok()) return status;
  const std::string manifest_path = JoinPath(path, kManifestName);
  absl::StatusOr<ManifestFile> file =
      ReadManifestFile(file_system, manifest_path);
  if (!file.ok()) {
    if (ErrnoOf(file.status()) != ENOENT) return file.status();
    return MakeRefusal(Refusal::CORRUPT,
                       absl::StrCat(path, ": no ", kManifestName,
                                    " in it; an incomplete copy, or a run "
                                    "folder whose step-* folders are meant"));
  }
  return file;
}

// Whether what an older version wrote is handed out as the newest has it.
enum class Form { kNewest, kAsStored };

absl::StatusOr<LoadedCheckpoint> AsNewest(Snapshot v1, const V1Source& source,
                                          int threads) {
  absl::StatusOr<Snapshot> v2 = MigrateV1ToV2(v1, source);
  if (!v2.ok()) return v2.status();
  SaveV2Options options;
  options.threads = threads;
  absl::StatusOr<InMemoryV2> in_memory = ToV2InMemory(*std::move(v2), options);
  if (!in_memory.ok()) return in_memory.status();
  absl::StatusOr<Snapshot> read = in_memory->Read();
  if (!read.ok()) return read.status();
  LoadedCheckpoint checkpoint;
  checkpoint.value_digest = in_memory->value_digest;
  checkpoint.snapshot = *std::move(read);
  return checkpoint;
}

absl::StatusOr<LoadedCheckpoint> ReadV1(const std::string& path,
                                        ManifestFile file, Form form,
                                        int threads) {
  V1Source source;
  source.manifest_digest = file.envelope.manifest_digest;
  if (form == Form::kNewest) {
    source.unknown = UnknownContentOfV1(file.manifest, file.envelope.minor);
  }
  const std::string where = JoinPath(path, kManifestName);
  absl::StatusOr<Snapshot> snapshot =
      DecodeV1(std::move(file.manifest), file.envelope.minor);
  if (!snapshot.ok()) return Annotate(snapshot.status(), where);
  if (form == Form::kNewest) {
    absl::StatusOr<LoadedCheckpoint> migrated =
        AsNewest(*std::move(snapshot), source, threads);
    if (migrated.ok()) return migrated;
    return Annotate(migrated.status(),
                    absl::StrCat(where, ": reading version 1 as version 2"));
  }
  LoadedCheckpoint checkpoint;
  checkpoint.snapshot = *std::move(snapshot);
  return checkpoint;
}

absl::StatusOr<LoadedCheckpoint> ReadV2(const std::string& path,
                                        ManifestFile file,
                                        FileSystem* file_system, int threads) {
  absl::StatusOr<std::unique_ptr<CheckpointReader>> reader =
      CheckpointReader::OpenShards(path, std::move(file), file_system);
  if (!reader.ok()) return reader.status();
  // Before any tensor is read.
  absl::Status status = CheckName(path, (*reader)->manifest().snapshot);
  if (!status.ok()) return status;
  ReadV2Options options;
  options.threads = threads;
  absl::StatusOr<Snapshot> snapshot = (*reader)->ReadAll(options);
  if (!snapshot.ok()) return snapshot.status();
  LoadedCheckpoint checkpoint;
  checkpoint.value_digest = (*reader)->manifest().value_digest;
  checkpoint.snapshot = *std::move(snapshot);
  return checkpoint;
}

absl::StatusOr<LoadedCheckpoint> Read(const std::string& given_path, Form form,
                                      FileSystem* file_system, int threads) {
  const std::string path = WithoutTrailingSlashes(given_path);
  absl::StatusOr<ManifestFile> file = ReadManifestOf(path, file_system);
  if (!file.ok()) return file.status();
  const uint32_t major = file->envelope.major;
  const std::string digest = file->envelope.manifest_digest;
  // Reading the manifest has refused every other major.
  absl::StatusOr<LoadedCheckpoint> checkpoint =
      major == kV1Major ? ReadV1(path, *std::move(file), form, threads)
                        : ReadV2(path, *std::move(file), file_system, threads);
  if (!checkpoint.ok()) return checkpoint.status();
  absl::Status status = CheckName(path, checkpoint->snapshot);
  if (!status.ok()) return status;
  checkpoint->path = path;
  checkpoint->format_major = major;
  checkpoint->manifest_digest = digest;
  return checkpoint;
}

}  // namespace

absl::StatusOr<LoadedCheckpoint> ReadCheckpoint(const std::string& path,
                                                FileSystem* file_system,
                                                int threads) {
  return Read(path, Form::kNewest, file_system, threads);
}

absl::StatusOr<LoadedCheckpoint> ReadAsStored(const std::string& path,
                                              FileSystem* file_system,
                                              int threads) {
  return Read(path, Form::kAsStored, file_system, threads);
}

absl::Status VerifyCheckpoint(const std::string& path, FileSystem* file_system,
                              int threads) {
  FindDamageOptions options;
  options.threads = threads;
  const std::vector<absl::Status> damage =
      FindDamage(path, options, file_system);
  return damage.empty() ? absl::OkStatus() : damage.front();
}

std::vector<absl::Status> FindDamage(const std::string& given_path,
                                     const FindDamageOptions& options,
                                     FileSystem* file_system) {
  const std::string path = WithoutTrailingSlashes(given_path);
  absl::StatusOr<ManifestFile> file = ReadManifestOf(path, file_system);
  if (!file.ok()) return {file.status()};
  if (file->envelope.major == kV1Major) {
    // One digest covers everything.
    absl::Status status =
        ReadAsStored(path, file_system, options.threads).status();
    if (status.ok()) return {};
    return {status};
  }
  absl::StatusOr<std::unique_ptr<CheckpointReader>> reader =
      CheckpointReader::OpenShards(path, *std::move(file), file_system);
  if (!reader.ok()) return {reader.status()};
  absl::Status status = CheckName(path, (*reader)->manifest().snapshot);
  if (!status.ok()) return {status};
  return (*reader)->FindDamage(options.threads, options.progress);
}

}  // namespace reprise
