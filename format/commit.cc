#include "format/commit.h"

#include <errno.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "format/io/io_error.h"
#include "format/manifest_file.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/version.h"

namespace reprise {
namespace {

// `cause`, with a word about a temporary that could not be removed.
absl::Status AfterRemoving(FileSystem* file_system,
                           const std::string& temporary, absl::Status cause) {
  absl::Status removed = RemoveRecursively(file_system, temporary);
  if (removed.ok()) return cause;
  return Annotate(cause, absl::StrCat("(left behind: ", temporary,
                                      ", swept at the next start)"));
}

std::string TemporaryPath(const std::string& run_folder,
                          const std::string& name) {
  return JoinPath(run_folder, absl::StrCat(kTemporaryPrefix, name));
}

absl::Status WriteHintFile(FileSystem* file_system, const std::string& path,
                           absl::string_view text) {
  absl::StatusOr<std::unique_ptr<File>> file =
      file_system->CreateExclusive(path, 0644);
  if (!file.ok()) return file.status();
  absl::Status status = WriteAll(file->get(), 0, text);
  if (status.ok()) status = (*file)->SyncData();
  status.Update((*file)->Close());
  return status;
}

}  // namespace

absl::StatusOr<std::string> MakeTemporary(FileSystem* file_system,
                                          const std::string& run_folder,
                                          const std::string& name) {
  const std::string temporary = TemporaryPath(run_folder, name);
  absl::Status status = file_system->CreateFolder(temporary);
  if (ErrnoOf(status) == EEXIST) {
    // A save of this step failed before and could not clean up.
    status = RemoveRecursively(file_system, temporary);
    if (status.ok()) status = file_system->CreateFolder(temporary);
  }
  if (!status.ok())
    return RemoveTemporary(file_system, run_folder, name, status);
  return temporary;
}

absl::Status RemoveTemporary(FileSystem* file_system,
                             const std::string& run_folder,
                             const std::string& name,
                             const absl::Status& cause) {
  return AfterRemoving(file_system, TemporaryPath(run_folder, name), cause);
}

absl::StatusOr<std::string> WriteV1(FileSystem* file_system,
                                    const std::string& folder,
                                    absl::string_view manifest) {
  absl::StatusOr<std::string> digest =
      WriteManifestFile(file_system, JoinPath(folder, kManifestName), kV1Major,
                        kV1Minor, manifest);
  if (!digest.ok()) return digest.status();
  absl::Status status = file_system->SyncFolder(folder);
  if (!status.ok()) return status;
  return digest;
}

absl::Status PublishTemporary(FileSystem* file_system,
                              const std::string& run_folder,
                              const std::string& name) {
  const std::string temporary = TemporaryPath(run_folder, name);
  const std::string final_path = JoinPath(run_folder, name);
  absl::Status status =
      RenameFolderNoReplace(file_system, temporary, final_path);
  if (status.ok()) {
    status = file_system->SyncFolder(run_folder);
    if (status.ok()) return status;
    // Visible and not known to be durable: taken back, so that nobody builds
    // on it.
    absl::Status undone =
        RenameFolderNoReplace(file_system, final_path, temporary);
    if (!undone.ok()) {
      return Annotate(status,
                      absl::StrCat("(and ", final_path,
                                   " could not be taken back: it is whole, "
                                   "but may not survive a power failure)"));
    }
  }
  return AfterRemoving(file_system, temporary, status);
}

absl::Status CommitCheckpoint(
    FileSystem* file_system, const std::string& run_folder,
    const std::string& name,
    const std::function<absl::Status(const std::string& folder)>& fill) {
  absl::StatusOr<std::string> temporary =
      MakeTemporary(file_system, run_folder, name);
  if (!temporary.ok()) return temporary.status();
  absl::Status status = fill(*temporary);
  if (!status.ok()) {
    return RemoveTemporary(file_system, run_folder, name, status);
  }
  return PublishTemporary(file_system, run_folder, name);
}

absl::Status WriteLatestHint(FileSystem* file_system,
                             const std::string& run_folder,
                             const std::string& name) {
  const std::string temporary =
      JoinPath(run_folder, absl::StrCat(kTemporaryPrefix, kLatestName));
  absl::Status status = RemoveRecursively(file_system, temporary);
  if (status.ok()) {
    status = WriteHintFile(file_system, temporary, absl::StrCat(name, "\n"));
  }
  if (status.ok()) {
    status = file_system->Rename(temporary, JoinPath(run_folder, kLatestName));
  }
  if (status.ok()) return file_system->SyncFolder(run_folder);
  return AfterRemoving(file_system, temporary, status);
}

absl::Status RenameFolderNoReplace(FileSystem* file_system,
                                   const std::string& from,
                                   const std::string& to) {
  absl::Status status = file_system->RenameNoReplace(from, to);
  const int error_number = ErrnoOf(status);
  if (error_number != EINVAL && error_number != ENOSYS &&
      error_number != EOPNOTSUPP) {
    return status;
  }
  absl::StatusOr<FileInfo> there = file_system->LinkStat(to);
  if (there.ok())
    return IoError(EEXIST, absl::StrCat("rename ", from, " to"), to);
  if (ErrnoOf(there.status()) != ENOENT) return there.status();
  return file_system->Rename(from, to);
}

}  // namespace reprise
