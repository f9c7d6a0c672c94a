// FileSystem::Real(): the calls of Linux, each in one place. All of them take a
// folder's descriptor and a name in it.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "format/io/file_system.h"
#include "format/io/folder_descriptor.h"
#include "format/io/io_error.h"
#include "format/io/real_file.h"
#include "format/refusal.h"

namespace reprise {
namespace {

// Where a path leads.
struct Place {
  int folder = AT_FDCWD;
  std::string name;
  Descriptor opened;  // keeps `folder` open where it was opened for this
};

absl::Status DoneOrError(int result, absl::string_view operation,
                         absl::string_view path) {
  return result == 0 ? absl::OkStatus() : IoError(errno, operation, path);
}

// The whole tree of the system.
class RealFileSystem : public FileSystem {
 public:
  RealFileSystem() = default;

  absl::StatusOr<std::shared_ptr<FileSystem>> Within(
      const std::string& folder) override;

  absl::StatusOr<std::unique_ptr<File>> OpenForReading(
      const std::string& path) override {
    return Open(path, O_RDONLY, 0, "open");
  }

  absl::StatusOr<std::unique_ptr<File>> CreateExclusive(
      const std::string& path, uint32_t mode) override {
    return Open(path, O_WRONLY | O_CREAT | O_EXCL, mode, "create");
  }

  absl::StatusOr<std::unique_ptr<File>> OpenOrCreate(
      const std::string& path) override {
    return Open(path, O_RDWR | O_CREAT, 0644, "open");
  }

  absl::Status CreateFolder(const std::string& path) override {
    absl::StatusOr<Place> place = Find(path);
    if (!place.ok()) return place.status();
    return DoneOrError(mkdirat(place->folder, place->name.c_str(), 0777),
                       "create folder", path);
  }

  absl::Status SyncFolder(const std::string& path) override {
    absl::StatusOr<Descriptor> folder =
        OpenFolder(path, O_RDONLY, "open folder");
    if (!folder.ok()) return folder.status();
    int result;
    do {
      result = fsync(folder->get());
    } while (result != 0 && errno == EINTR);
    return DoneOrError(result, "fsync folder", path);
  }

  absl::StatusOr<std::vector<FolderEntry>> List(
      const std::string& path) override {
    absl::StatusOr<Descriptor> opened = OpenFolder(path, O_RDONLY, "list");
    if (!opened.ok()) return opened.status();
    DIR* folder = fdopendir(opened->get());
    if (folder == nullptr) return IoError(errno, "list", path);
    opened->Release();
    std::vector<FolderEntry> entries;
    absl::Status status;
    while (status.ok()) {
      errno = 0;
      const struct dirent* found = readdir(folder);
      if (found == nullptr) {
        if (errno != 0) status = IoError(errno, "list", path);
        break;
      }
      FolderEntry entry;
      entry.name = found->d_name;
      if (entry.name == "." || entry.name == "..") continue;
      struct stat info;
      // d_type is not filled in by every file system.
      if (fstatat(dirfd(folder), found->d_name, &info, AT_SYMLINK_NOFOLLOW) !=
          0) {
        if (errno == ENOENT) continue;  // gone since
        status = IoError(errno, "stat", JoinPath(path, entry.name));
        break;
      }
      entry.kind = KindOfMode(info.st_mode);
      if (entry.kind == FileKind::kRegular) entry.size = info.st_size;
      entries.push_back(std::move(entry));
    }
    closedir(folder);
    if (!status.ok()) return status;
    std::sort(entries.begin(), entries.end(),
              [](const FolderEntry& a, const FolderEntry& b) {
                return a.name < b.name;
              });
    return entries;
  }

  absl::Status RenameNoReplace(const std::string& from,
                               const std::string& to) override {
    return Move(from, to, RENAME_NOREPLACE);
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    return Move(from, to, 0);
  }

  absl::Status Link(const std::string& from, const std::string& to) override {
    absl::StatusOr<Place> source = Find(from);
    if (!source.ok()) return source.status();
    absl::StatusOr<Place> target = Find(to);
    if (!target.ok()) return target.status();
    // Symbolic links are not followed.
    return DoneOrError(linkat(source->folder, source->name.c_str(),
                              target->folder, target->name.c_str(), 0),
                       absl::StrCat("link ", from, " to"), to);
  }

  absl::Status Unlink(const std::string& path) override {
    return Remove(path, 0, "remove");
  }

  absl::Status RemoveFolder(const std::string& path) override {
    return Remove(path, AT_REMOVEDIR, "remove folder");
  }

  absl::StatusOr<FileInfo> Stat(const std::string& path) override {
    absl::StatusOr<FileInfo> info =
        StatWith(links_ == Links::kFollow ? 0 : AT_SYMLINK_NOFOLLOW, path);
    if (!info.ok() || info->kind != FileKind::kSymbolicLink) return info;
    return IoError(ELOOP, "stat", path);
  }

  absl::StatusOr<FileInfo> LinkStat(const std::string& path) override {
    return StatWith(AT_SYMLINK_NOFOLLOW, path);
  }

 protected:
  explicit RealFileSystem(Links links) : links_(links) {}

  virtual absl::StatusOr<Place> Find(const std::string& path) {
    Place place;
    place.name = path;
    return place;
  }

  absl::StatusOr<Descriptor> OpenFolder(const std::string& path, int flags,
                                        absl::string_view operation) {
    absl::StatusOr<Place> place = Find(path);
    if (!place.ok()) return place.status();
    return OpenFolderAt(place->folder, place->name, flags, links_, operation,
                        path);
  }

 private:
  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path, int flags,
                                             mode_t mode,
                                             absl::string_view operation) {
    absl::StatusOr<Place> place = Find(path);
    if (!place.ok()) return place.status();
    return OpenRegularFile(place->folder, place->name, flags, mode, operation,
                           path);
  }

  absl::Status Move(const std::string& from, const std::string& to,
                    unsigned flags) {
    absl::StatusOr<Place> source = Find(from);
    if (!source.ok()) return source.status();
    absl::StatusOr<Place> target = Find(to);
    if (!target.ok()) return target.status();
    // Without flags, as old kernels and some file systems know nothing else.
    const int result =
        flags == 0 ? renameat(source->folder, source->name.c_str(),
                              target->folder, target->name.c_str())
                   : renameat2(source->folder, source->name.c_str(),
                               target->folder, target->name.c_str(), flags);
    return DoneOrError(result, absl::StrCat("rename ", from, " to"), to);
  }

  absl::Status Remove(const std::string& path, int flags,
                      absl::string_view operation) {
    absl::StatusOr<Place> place = Find(path);
    if (!place.ok()) return place.status();
    return DoneOrError(unlinkat(place->folder, place->name.c_str(), flags),
                       operation, path);
  }

  absl::StatusOr<FileInfo> StatWith(int flags, const std::string& path) {
    absl::StatusOr<Place> place = Find(path);
    if (!place.ok()) return place.status();
    struct stat status;
    if (fstatat(place->folder, place->name.c_str(), &status, flags) != 0) {
      return IoError(errno, "stat", path);
    }
    return InfoOf(status);
  }

  // What List, SyncFolder, Stat and Within do with a link at the end of a path.
  const Links links_ = Links::kFollow;
};

// What lies beneath one folder, whatever its name leads to meanwhile.
class FolderFileSystem : public RealFileSystem {
 public:
  // `path` is what callers call the folder.
  FolderFileSystem(Descriptor folder, std::string path)
      : RealFileSystem(Links::kRefuse),
        folder_(std::move(folder)),
        path_(std::move(path)) {}

 protected:
  absl::StatusOr<Place> Find(const std::string& path) override {
    absl::string_view rest = path;
    const bool beneath =
        absl::ConsumePrefix(&rest, path_) &&
        (path_.empty() ? !absl::StartsWith(rest, "/")
                       : rest.empty() || path_ == "/" || rest[0] == '/');
    std::vector<absl::string_view> names = absl::StrSplit(
        rest, '/',
        [](absl::string_view name) { return !name.empty() && name != "."; });
    if (!beneath || std::count(names.begin(), names.end(), "..") > 0) {
      return MakeRefusal(Refusal::INVALID_VALUE,
                         absl::StrCat(path, ": does not lie beneath ", path_));
    }
    Place place;
    place.folder = folder_.get();
    place.name = ".";  // the folder itself
    if (names.empty()) return place;
    place.name = std::string(names.back());
    names.pop_back();
    if (names.empty()) return place;
    absl::StatusOr<Descriptor> parent =
        OpenFolderBeneath(folder_.get(), path_, absl::StrJoin(names, "/"));
    if (!parent.ok()) return parent.status();
    place.opened = *std::move(parent);
    place.folder = place.opened.get();
    return place;
  }

 private:
  const Descriptor folder_;
  const std::string path_;
};

absl::StatusOr<std::shared_ptr<FileSystem>> RealFileSystem::Within(
    const std::string& folder) {
  const std::string path = WithoutTrailingSlashes(folder);
  absl::StatusOr<Descriptor> opened = OpenFolder(path, O_PATH, "open folder");
  if (!opened.ok()) return opened.status();
  return std::shared_ptr<FileSystem>(
      std::make_shared<FolderFileSystem>(*std::move(opened), path));
}

}  // namespace

FileSystem* FileSystem::Real() {
  static FileSystem* const real = new RealFileSystem;
  return real;
}

}  // namespace reprise
