// All access to files goes through this interface, so that a test can fail any
// operation, forget what was not synced, or stop the world at a point.
//
// FileSystem::Real() is the operating system's. Test doubles and a forwarding
// base class are in format/io/testing/.
//
// Example (a test as well):
//
//   FileSystem* files = FileSystem::Real();
//   auto file = files->CreateExclusive("run/.tmp-1", 0444);
//   if (!file.ok()) return file.status();
//   absl::Status status = WriteAll(file->get(), 0, "bytes");
//   if (status.ok()) status = (*file)->SyncData();
//   if (status.ok()) status = (*file)->Close();
//
// The same in one folder, however it may be renamed meanwhile (a test as well):
//
//   auto run = FileSystem::Real()->Within("run");
//   if (!run.ok()) return run.status();
//   auto file = (*run)->CreateExclusive("run/.tmp-1", 0444);
//
// Errors are refusals that remember errno (format/io/io_error.h): ABSENT for
// what is not there, NOT_A_CHECKPOINT for symbolic links and for what is not a
// regular file, IO for the rest. Interrupted calls (EINTR) are repeated inside.
// Every descriptor is opened close-on-exec. Offsets and sizes go up to 2^63
// - 1.
//
// A FileSystem is thread-safe; a File is thread-compatible, but of the real one
// several threads may call ReadAt and WriteAt at the same time.
#ifndef REPRISE_FORMAT_IO_FILE_SYSTEM_H_
#define REPRISE_FORMAT_IO_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

enum class FileKind { kRegular, kFolder, kSymbolicLink, kOther };

struct FileInfo {
  FileKind kind = FileKind::kOther;
  uint64_t size = 0;    // bytes
  uint32_t mode = 0;    // permission bits
  uint64_t device = 0;  // with inode: identity of the file
  uint64_t inode = 0;
};

struct FolderEntry {
  std::string name;
  FileKind kind = FileKind::kOther;
  uint64_t size = 0;  // bytes, of a regular file
};

// An open regular file.
class File {
 public:
  virtual ~File() = default;  // closes; errors of that are lost

  // Reads up to `size` bytes at `offset`; returns how many were read, 0 only at
  // the end of the file. May be short.
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset, void* buffer,
                                        size_t size) = 0;
  // Writes up to `size` (> 0) bytes at `offset`; returns how many were
  // written. May be short.
  virtual absl::StatusOr<size_t> WriteAt(uint64_t offset, const void* data,
                                         size_t size) = 0;
  // Asks the system to begin writing these bytes to the device now, so that
  // SyncData has less left to do. A hint: it promises nothing and cannot fail.
  virtual void StartWriting(uint64_t offset, uint64_t size) {}
  // The first `size` bytes, which the file has, as memory that is only read and
  // that lasts as long as what is returned, whatever happens to the names of
  // the file. A file that is cut while it is mapped ends the process (SIGBUS).
  // Not every file system has it: the default says EOPNOTSUPP.
  virtual absl::StatusOr<std::shared_ptr<const void>> Map(uint64_t size);
  // Cuts or extends (with zeros) to `size`.
  virtual absl::Status Truncate(uint64_t size) = 0;
  // Makes bytes and size durable (fdatasync).
  virtual absl::Status SyncData() = 0;
  virtual absl::StatusOr<FileInfo> Stat() = 0;
  // Takes the exclusive lock (flock) without waiting: false when another open
  // file description holds it. Held until the file is closed.
  virtual absl::StatusOr<bool> TryLock() = 0;
  // Closes; late write errors surface here. At most once.
  virtual absl::Status Close() = 0;
};

class FileSystem {
 public:
  // The operating system's; lives for ever.
  static FileSystem* Real();

  virtual ~FileSystem() = default;

  // What lies beneath `folder`, and nothing else: it takes the same paths,
  // those that begin with `folder`, and errors name them. The real one holds
  // the folder by a descriptor: whatever is renamed, or put in its place, files
  // and names go where it is now, and no symbolic link beneath it is followed
  // (`folder` itself may be reached through one). Paths that lead elsewhere, by
  // ".." too, are INVALID_VALUE. The default is this file system itself, so
  // that a double sees every operation. Keep what is returned as long as it is
  // used; files live on without it. Errors: ABSENT; IO.
  virtual absl::StatusOr<std::shared_ptr<FileSystem>> Within(
      const std::string& folder);

  // Opens a regular file for reading; symbolic links are not followed.
  virtual absl::StatusOr<std::unique_ptr<File>> OpenForReading(
      const std::string& path) = 0;
  // Creates a file for writing; errno EEXIST when anything of that name is
  // there. `mode` is subject to the umask and may lack the write bit.
  virtual absl::StatusOr<std::unique_ptr<File>> CreateExclusive(
      const std::string& path, uint32_t mode) = 0;
  // Opens for reading and writing, creating it (0644, umask) when absent;
  // symbolic links are not followed.
  virtual absl::StatusOr<std::unique_ptr<File>> OpenOrCreate(
      const std::string& path) = 0;

  // Creates one folder (0777, umask); errno EEXIST when there is something.
  virtual absl::Status CreateFolder(const std::string& path) = 0;
  // Makes the names in the folder durable (fsync).
  virtual absl::Status SyncFolder(const std::string& path) = 0;
  // Names in the folder, sorted, without "." and "..".
  virtual absl::StatusOr<std::vector<FolderEntry>> List(
      const std::string& path) = 0;

  // Renames; errno EEXIST when `to` exists, EINVAL or ENOSYS when the file
  // system cannot promise that (renameat2 with RENAME_NOREPLACE).
  virtual absl::Status RenameNoReplace(const std::string& from,
                                       const std::string& to) = 0;
  // Renames, replacing a file (or an empty folder) of that name.
  virtual absl::Status Rename(const std::string& from,
                              const std::string& to) = 0;
  // Gives the regular file `from` the second name `to`; errno EEXIST when there
  // is something, EXDEV on another file system, EMLINK, EPERM or EOPNOTSUPP
  // where that is impossible. Not every file system has it: the default says
  // EOPNOTSUPP.
  virtual absl::Status Link(const std::string& from, const std::string& to);
  // Removes a name that is not a folder's.
  virtual absl::Status Unlink(const std::string& path) = 0;
  // Removes an empty folder.
  virtual absl::Status RemoveFolder(const std::string& path) = 0;

  // What `path` is, following symbolic links (Stat) or not (LinkStat).
  virtual absl::StatusOr<FileInfo> Stat(const std::string& path) = 0;
  virtual absl::StatusOr<FileInfo> LinkStat(const std::string& path) = 0;
};

// Writes all of `data` at `offset`, going on after short writes.
absl::Status WriteAll(File* file, uint64_t offset, absl::string_view data);

// Reads exactly `size` bytes at `offset`. Error TRUNCATED when the file ends
// before; it says where.
absl::Status ReadExactly(File* file, uint64_t offset, void* buffer,
                         size_t size);

// The whole of a small file. Error LIMIT when it is larger than `limit` bytes.
absl::StatusOr<std::string> ReadSmallFile(FileSystem* file_system,
                                          const std::string& path,
                                          size_t limit);

// Removes `path` and, when it is a folder, everything below it; symbolic links
// are removed and not followed. Nothing there is success. Goes on after an
// error and returns the first.
absl::Status RemoveRecursively(FileSystem* file_system,
                               const std::string& path);

// Creates `path` and every folder above it that is not there, and syncs the
// parent of each one created.
absl::Status CreateFoldersDurably(FileSystem* file_system,
                                  const std::string& path);

// "folder/name"; `folder` may be empty (the current one) or end in a slash.
std::string JoinPath(absl::string_view folder, absl::string_view name);
// `path` without slashes at its end: with them, even calls that do not follow
// symbolic links follow a last one.
std::string WithoutTrailingSlashes(absl::string_view path);
// What `path` lies in: "a" of "a/b", "." of "b", "/" of "/b".
std::string ParentFolder(absl::string_view path);
// The last component: "b" of "a/b" and of "a/b/".
std::string BaseName(absl::string_view path);

}  // namespace reprise

#endif  // REPRISE_FORMAT_IO_FILE_SYSTEM_H_
