#include "format/read_checkpoint.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_folder.h"
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
  absl::Status status = CheckFolderName(path, (*reader)->manifest().snapshot);
  if (!status.ok()) return status;
  ReadV2Options options;
  options.threads = threads;
  LoadedCheckpoint checkpoint;
  options.verify_seconds = &checkpoint.time.verify_seconds;
  absl::StatusOr<Snapshot> snapshot = (*reader)->ReadAll(options);
  if (!snapshot.ok()) return snapshot.status();
  checkpoint.value_digest = (*reader)->manifest().value_digest;
  checkpoint.snapshot = *std::move(snapshot);
  return checkpoint;
}

absl::StatusOr<LoadedCheckpoint> Read(const std::string& given_path, Form form,
                                      FileSystem* file_system, int threads) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string path = WithoutTrailingSlashes(given_path);
  absl::StatusOr<ManifestFile> file = ReadManifestOfFolder(path, file_system);
  if (!file.ok()) return file.status();
  const uint32_t major = file->envelope.major;
  const std::string digest = file->envelope.manifest_digest;
  // Reading the manifest has refused every other major.
  absl::StatusOr<LoadedCheckpoint> checkpoint =
      major == kV1Major ? ReadV1(path, *std::move(file), form, threads)
                        : ReadV2(path, *std::move(file), file_system, threads);
  if (!checkpoint.ok()) return checkpoint.status();
  absl::Status status = CheckFolderName(path, checkpoint->snapshot);
  if (!status.ok()) return status;
  checkpoint->path = path;
  checkpoint->format_major = major;
  checkpoint->manifest_digest = digest;
  checkpoint->time.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
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
  absl::StatusOr<ManifestFile> file = ReadManifestOfFolder(path, file_system);
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
  absl::Status status = CheckFolderName(path, (*reader)->manifest().snapshot);
  if (!status.ok()) return {status};
  return (*reader)->FindDamage(options.threads, options.progress);
}

}  // namespace reprise
