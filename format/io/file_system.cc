#include "format/io/file_system.h"

#include <errno.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "format/io/io_error.h"
#include "format/refusal.h"

namespace reprise {

absl::StatusOr<std::shared_ptr<FileSystem>> FileSystem::Within(
    const std::string& folder) {
  return std::shared_ptr<FileSystem>(std::shared_ptr<void>(), this);
}

absl::Status FileSystem::Link(const std::string& from, const std::string& to) {
  return IoError(EOPNOTSUPP, absl::StrCat("link ", from, " to"), to);
}

absl::StatusOr<std::shared_ptr<const void>> File::Map(uint64_t size) {
  return IoError(EOPNOTSUPP, "map", "a file");
}

absl::Status WriteAll(File* file, uint64_t offset, absl::string_view data) {
  while (!data.empty()) {
    absl::StatusOr<size_t> written =
        file->WriteAt(offset, data.data(), data.size());
    if (!written.ok()) {
      return Annotate(written.status(), absl::StrCat("at offset ", offset));
    }
    // A write of nothing would be repeated for ever.
    if (*written == 0 || *written > data.size()) {
      return MakeRefusal(
          Refusal::IO, absl::StrCat("at offset ", offset, ": write of ",
                                    data.size(), " bytes returned ", *written));
    }
    offset += *written;
    data.remove_prefix(*written);
  }
  return absl::OkStatus();
}

absl::Status ReadExactly(File* file, uint64_t offset, void* buffer,
                         size_t size) {
  char* out = static_cast<char*>(buffer);
  size_t done = 0;
  while (done < size) {
    absl::StatusOr<size_t> got =
        file->ReadAt(offset + done, out + done, size - done);
    if (!got.ok()) {
      return Annotate(got.status(), absl::StrCat("at offset ", offset + done));
    }
    if (*got == 0) {
      return MakeRefusal(
          Refusal::TRUNCATED,
          absl::StrCat("expected ", size, " bytes at offset ", offset,
                       ", the file ends after ", done, " of them"));
    }
    done += *got;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadSmallFile(FileSystem* file_system,
                                          const std::string& path,
                                          size_t limit) {
  absl::StatusOr<std::unique_ptr<File>> file =
      file_system->OpenForReading(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<FileInfo> info = (*file)->Stat();
  if (!info.ok()) return info.status();
  if (info->size > limit) {
    return MakeRefusal(Refusal::LIMIT,
                       absl::StrCat(path, ": ", info->size, " bytes, at most ",
                                    limit, " expected"));
  }
  std::string content(info->size, '\0');
  absl::Status status =
      ReadExactly(file->get(), 0, &content[0], content.size());
  if (!status.ok()) return Annotate(status, path);
  return content;
}

absl::Status RemoveRecursively(FileSystem* file_system,
                               const std::string& path) {
  absl::StatusOr<FileInfo> info = file_system->LinkStat(path);
  if (!info.ok()) {
    return ErrnoOf(info.status()) == ENOENT ? absl::OkStatus() : info.status();
  }
  if (info->kind != FileKind::kFolder) return file_system->Unlink(path);
  absl::Status first;
  absl::StatusOr<std::vector<FolderEntry>> entries = file_system->List(path);
  if (!entries.ok()) return entries.status();
  for (const FolderEntry& entry : *entries) {
    first.Update(RemoveRecursively(file_system, JoinPath(path, entry.name)));
  }
  if (!first.ok()) return first;
  return file_system->RemoveFolder(path);
}

absl::Status CreateFoldersDurably(FileSystem* file_system,
                                  const std::string& path) {
  absl::StatusOr<FileInfo> info = file_system->Stat(path);
  if (info.ok()) {
    if (info->kind == FileKind::kFolder) return absl::OkStatus();
    return IoError(ENOTDIR, "create folder", path);
  }
  if (ErrnoOf(info.status()) != ENOENT) return info.status();
  const std::string parent = ParentFolder(path);
  // "." and "/" are there, or nothing can be done about it.
  if (parent == path) return info.status();
  absl::Status status = CreateFoldersDurably(file_system, parent);
  if (!status.ok()) return status;
  status = file_system->CreateFolder(path);
  // Somebody else may have created it meanwhile.
  if (!status.ok() && ErrnoOf(status) != EEXIST) return status;
  return file_system->SyncFolder(parent);
}

std::string JoinPath(absl::string_view folder, absl::string_view name) {
  if (folder.empty()) return std::string(name);
  if (folder.back() == '/') return absl::StrCat(folder, name);
  return absl::StrCat(folder, "/", name);
}

std::string WithoutTrailingSlashes(absl::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return std::string(path);
}

std::string ParentFolder(absl::string_view path) {
  const std::string whole = WithoutTrailingSlashes(path);
  const size_t slash = whole.rfind('/');
  if (slash == std::string::npos) return ".";
  if (slash == 0) return "/";
  return WithoutTrailingSlashes(absl::string_view(whole).substr(0, slash));
}

std::string BaseName(absl::string_view path) {
  const std::string whole = WithoutTrailingSlashes(path);
  const size_t slash = whole.rfind('/');
  if (slash == std::string::npos || whole.size() == 1) return whole;
  return whole.substr(slash + 1);
}

}  // namespace reprise
