#include "format/io/real_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
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

}  // namespace

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

absl::StatusOr<std::unique_ptr<File>> OpenRegularFile(
    int at, const std::string& name, int flags, mode_t mode,
    absl::string_view operation, const std::string& path) {
  // O_NONBLOCK keeps a pipe of that name from stopping the process; regular
  // files do not mind it.
  const int descriptor = RepeatWhenInterrupted([&] {
    return openat(at, name.c_str(),
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

}  // namespace reprise
