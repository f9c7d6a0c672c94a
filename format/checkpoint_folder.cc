#include "format/checkpoint_folder.h"

#include <errno.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "format/io/io_error.h"
#include "format/refusal.h"
#include "format/run_layout.h"

namespace reprise {
namespace {

absl::Status CheckKind(FileKind kind, const std::string& path) {
  switch (kind) {
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

bool SameFile(const FileInfo& a, const FileInfo& b) {
  return a.device == b.device && a.inode == b.inode;
}

}  // namespace

absl::StatusOr<CheckpointFolder> OpenCheckpointFolder(
    const std::string& given_path, FileSystem* file_system) {
  CheckpointFolder folder;
  folder.path = WithoutTrailingSlashes(given_path);
  folder.outer = file_system;
  absl::StatusOr<FileInfo> named = file_system->LinkStat(folder.path);
  if (!named.ok()) return named.status();
  absl::Status status = CheckKind(named->kind, folder.path);
  if (!status.ok()) return status;
  absl::StatusOr<std::shared_ptr<FileSystem>> files =
      file_system->Within(folder.path);
  if (!files.ok()) return files.status();
  folder.files = *std::move(files);
  // A link may have been put there between the look and the opening.
  absl::StatusOr<FileInfo> opened = folder.files->LinkStat(folder.path);
  if (!opened.ok()) return opened.status();
  if (SameFile(*named, *opened)) return folder;
  return MakeRefusal(
      Refusal::NOT_A_CHECKPOINT,
      absl::StrCat(folder.path, ": replaced by another while it was opened"));
}

absl::Status MissingFile(const CheckpointFolder& folder, absl::string_view name,
                         absl::string_view meaning) {
  absl::StatusOr<FileInfo> named = folder.outer->LinkStat(folder.path);
  if (!named.ok()) return named.status();
  return MakeRefusal(Refusal::CORRUPT, absl::StrCat(JoinPath(folder.path, name),
                                                    ": not there; ", meaning));
}

absl::StatusOr<ManifestFile> ReadManifestOfFolder(
    const CheckpointFolder& folder) {
  absl::StatusOr<ManifestFile> file = ReadManifestFile(
      folder.files.get(), JoinPath(folder.path, kManifestName));
  if (file.ok() || ErrnoOf(file.status()) != ENOENT) return file;
  return MissingFile(
      folder, kManifestName,
      absl::StrCat("a folder with no ", kManifestName,
                   " is an incomplete copy, or a run folder whose step-* "
                   "folders are meant"));
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
