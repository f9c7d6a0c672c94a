// FileSystem::Real(): the calls of Linux, each in one place.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/io/file_system.h"
#include "format/io/io_error.h"
#include "format/refusal.h"

namespace reprise {
namespace {

static_assert(sizeof(off_t) == 8, "offsets must reach beyond 2 GiB");

// Linux transfers at most this much in one call anyway.
constexpr size_t kLargestTransfer = size_t{1} << 30;
constexpr uint64_t kLargestOffset = std::numeric_limits<int64_t>::max();

template <typename Call>
auto RepeatWhenInterrupted(Call call) -> decltype(call()) {
  decltype(call()) result;
  do {
    result = call();
  } while (result == -1 && errno == EINTR);
  return result;
}

FileKind KindOfMode(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::kRegular;
  if (S_ISDIR(mode)) return FileKind::kFolder;
  if (S_ISLNK(mode)) return FileKind::kSymbolicLink;
  return FileKind::kOther;
}

FileInfo InfoOf(const struct stat& status) {
  FileInfo info;
  info.kind = KindOfMode(status.st_mode);
  info.size = static_cast<uint64_t>(status.st_size);
  info.mode = status.st_mode & 07777;
  info.device = status.st_dev;
  info.inode = status.st_ino;
  return info;
}

class RealFile : public File {
 public:
  RealFile(int descriptor, std::string path)
      : descriptor_(descriptor), path_(std::move(path)) {}
  ~RealFile() override {
    if (descriptor_ >= 0) close(descriptor_);
  }
  RealFile(const RealFile&) = delete;
  RealFile& operator=(const RealFile&) = delete;

  absl::StatusOr<size_t> ReadAt(uint64_t offset, void* buffer,
                                size_t size) override {
    if (offset > kLargestOffset) return IoError(EOVERFLOW, "read", path_);
    const ssize_t got = RepeatWhenInterrupted([&] {
      return pread(descriptor_, buffer, std::min(size, kLargestTransfer),
                   static_cast<off_t>(offset));
    });
    if (got < 0) return IoError(errno, "read", path_);
    return static_cast<size_t>(got);
  }

  absl::StatusOr<size_t> WriteAt(uint64_t offset, const void* data,
                                 size_t size) override {
    if (offset > kLargestOffset) return IoError(EFBIG, "write", path_);
    const ssize_t written = RepeatWhenInterrupted([&] {
      return pwrite(descriptor_, data, std::min(size, kLargestTransfer),
                    static_cast<off_t>(offset));
    });
    if (written < 0) return IoError(errno, "write", path_);
    return static_cast<size_t>(written);
  }

  void StartWriting(uint64_t offset, uint64_t size) override {
    // Where it is not supported nothing is lost.
    (void)sync_file_range(descriptor_, static_cast<off_t>(offset),
                          static_cast<off_t>(size), SYNC_FILE_RANGE_WRITE);
  }

  absl::StatusOr<std::shared_ptr<const void>> Map(uint64_t size) override {
    if (size == 0 || size > kLargestOffset) {
      return IoError(EINVAL, "map", path_);
    }
    void* const memory =
        mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (memory == MAP_FAILED) return IoError(errno, "map", path_);
    return std::shared_ptr<const void>(memory, [size](const void* mapped) {
      munmap(const_cast<void*>(mapped), size);
    });
  }

  absl::Status Truncate(uint64_t size) override {
    if (size > kLargestOffset) return IoError(EFBIG, "truncate", path_);
    if (RepeatWhenInterrupted([&] {
          return ftruncate(descriptor_, static_cast<off_t>(size));
        }) != 0) {
      return IoError(errno, "truncate", path_);
    }
    return absl::OkStatus();
  }

  absl::Status SyncData() override {
    if (RepeatWhenInterrupted([&] { return fdatasync(descriptor_); }) != 0) {
      return IoError(errno, "fdatasync", path_);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<FileInfo> Stat() override {
    struct stat status;
    if (fstat(descriptor_, &status) != 0) return IoError(errno, "stat", path_);
    return InfoOf(status);
  }

  absl::StatusOr<bool> TryLock() override {
    if (RepeatWhenInterrupted(
            [&] { return flock(descriptor_, LOCK_EX | LOCK_NB); }) != 0) {
      if (errno == EWOULDBLOCK) return false;
      return IoError(errno, "lock", path_);
    }
    return true;
  }

  absl::Status Close() override {
    const int descriptor = std::exchange(descriptor_, -1);
    // Linux frees the descriptor whatever close() returns; an interrupted one
    // must not be repeated.
    if (close(descriptor) != 0 && errno != EINTR) {
      return IoError(errno, "close", path_);
    }
    return absl::OkStatus();
  }

 private:
  int descriptor_;
  const std::string path_;
};

class RealFileSystem : public FileSystem {
 public:
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
    if (mkdir(path.c_str(), 0777) != 0) {
      return IoError(errno, "create folder", path);
    }
    return absl::OkStatus();
  }

  absl::Status SyncFolder(const std::string& path) override {
    const int descriptor = RepeatWhenInterrupted(
        [&] { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (descriptor < 0) return IoError(errno, "open folder", path);
    absl::Status status;
    if (RepeatWhenInterrupted([&] { return fsync(descriptor); }) != 0) {
      status = IoError(errno, "fsync folder", path);
    }
    close(descriptor);
    return status;
  }

  absl::StatusOr<std::vector<FolderEntry>> List(
      const std::string& path) override {
    DIR* folder = opendir(path.c_str());
    if (folder == nullptr) return IoError(errno, "list", path);
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
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                  RENAME_NOREPLACE) != 0) {
      return IoError(errno, absl::StrCat("rename ", from, " to"), to);
    }
    return absl::OkStatus();
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    if (rename(from.c_str(), to.c_str()) != 0) {
      return IoError(errno, absl::StrCat("rename ", from, " to"), to);
    }
    return absl::OkStatus();
  }

  absl::Status Link(const std::string& from, const std::string& to) override {
    // Symbolic links are not followed.
    if (linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0) != 0) {
      return IoError(errno, absl::StrCat("link ", from, " to"), to);
    }
    return absl::OkStatus();
  }

  absl::Status Unlink(const std::string& path) override {
    if (unlink(path.c_str()) != 0) return IoError(errno, "remove", path);
    return absl::OkStatus();
  }

  absl::Status RemoveFolder(const std::string& path) override {
    if (rmdir(path.c_str()) != 0) return IoError(errno, "remove folder", path);
    return absl::OkStatus();
  }

  absl::StatusOr<FileInfo> Stat(const std::string& path) override {
    struct stat status;
    if (stat(path.c_str(), &status) != 0) return IoError(errno, "stat", path);
    return InfoOf(status);
  }

  absl::StatusOr<FileInfo> LinkStat(const std::string& path) override {
    struct stat status;
    if (lstat(path.c_str(), &status) != 0) return IoError(errno, "stat", path);
    return InfoOf(status);
  }

 private:
  static absl::StatusOr<std::unique_ptr<File>> Open(
      const std::string& path, int flags, mode_t mode,
      absl::string_view operation) {
    // O_NONBLOCK keeps a pipe of that name from stopping the process; regular
    // files do not mind it.
    const int descriptor = RepeatWhenInterrupted([&] {
      return open(path.c_str(),
                  flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);
    });
    if (descriptor < 0) return IoError(errno, operation, path);
    auto file = std::make_unique<RealFile>(descriptor, path);
    absl::StatusOr<FileInfo> info = file->Stat();
    if (!info.ok()) return info.status();
    if (info->kind != FileKind::kRegular) {
      return MakeRefusal(
          Refusal::NOT_A_CHECKPOINT,
          absl::StrCat(operation, " ", path, ": not a regular file"));
    }
    return std::unique_ptr<File>(std::move(file));
  }
};

}  // namespace

FileSystem* FileSystem::Real() {
  static FileSystem* const real = new RealFileSystem;
  return real;
}

}  // namespace reprise
