#include <errno.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/io/io_error.h"
#include "format/manifest_file.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/v1/codec.h"

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
  std::optional<CheckpointPosition> position =
      ParseCheckpointName(BaseName(path));
  if (!position.has_value()) return absl::OkStatus();
  if (position->step == snapshot.step && !position->micro.has_value()) {
    return absl::OkStatus();
  }
  return MakeRefusal(
      Refusal::MISMATCH,
      absl::StrCat(path, ": the manifest is of step ", snapshot.step,
                   ", expected the folder ", CheckpointName(snapshot.step)));
}

}  // namespace

absl::StatusOr<LoadedCheckpoint> ReadCheckpoint(const std::string& given_path,
                                                FileSystem* file_system) {
  const std::string path = WithoutTrailingSlashes(given_path);
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
  // ReadManifestFile has refused every major but this one.
  absl::StatusOr<Snapshot> snapshot =
      DecodeV1(std::move(file->manifest), file->envelope.minor);
  if (!snapshot.ok()) return Annotate(snapshot.status(), manifest_path);
  status = CheckName(path, *snapshot);
  if (!status.ok()) return status;
  LoadedCheckpoint checkpoint;
  checkpoint.path = path;
  checkpoint.format_major = file->envelope.major;
  checkpoint.manifest_digest = file->envelope.manifest_digest;
  checkpoint.snapshot = *std::move(snapshot);
  return checkpoint;
}

}  // namespace reprise
