#include "format/checkpoint_folder.h"

#include <errno.h>

#include "absl/strings/str_cat.h"
#include "format/io/io_error.h"
#include "format/refusal.h"
#include "format/run_layout.h"

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

}  // namespace

absl::StatusOr<ManifestFile> ReadManifestOfFolder(const std::string& path,
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

absl::Status CheckFolderName(const std::string& path,
                             const Snapshot& snapshot) {
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

}  // namespace reprise
