// A file system in memory that remembers which bytes and names were made
// durable, and can show every state that a power failure may leave behind.
//
// Until a file is synced, each write to it may survive whole, by half, as zeros
// of the right length, or not at all. Until a folder is synced, each name made,
// removed or renamed in it may survive or not, in any combination: POSIX
// promises no more. A rename is one step.
//
// Example:
//
//   UnsyncedFileSystem files;
//   files.SetAfterChange([&] {
//     states += files.ForEachCrashState([](UnsyncedFileSystem* survived) {
//       ... what a new process finds ...
//       return true;
//     });
//   });
//   ... save ...
//
// The root folder "/" is there from the start. Symbolic links do not exist.
// Not thread-safe.
#ifndef REPRISE_FORMAT_IO_TESTING_UNSYNCED_FILE_SYSTEM_H_
#define REPRISE_FORMAT_IO_TESTING_UNSYNCED_FILE_SYSTEM_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "format/io/file_system.h"

namespace reprise {

class UnsyncedFileSystem : public FileSystem {
 public:
  UnsyncedFileSystem();
  ~UnsyncedFileSystem() override;

  // Called after each operation that changed something.
  void SetAfterChange(std::function<void()> after_change) {
    after_change_ = std::move(after_change);
  }
  // From now on RenameNoReplace fails with this errno (EINVAL, say, as file
  // systems without it do); 0: works.
  void SetRenameNoReplaceError(int error_number) {
    rename_no_replace_error_ = error_number;
  }

  // Changes that are not durable yet.
  size_t pending() const { return pending_.size(); }

  // Calls `visit` with a file system for each state that may be there after a
  // power failure now, until it returns false: everything in it is durable,
  // nothing locked. Returns how many calls there were. The number grows as 2 to
  // 4 to the power of pending().
  uint64_t ForEachCrashState(
      const std::function<bool(UnsyncedFileSystem* survived)>& visit) const;

  absl::StatusOr<std::unique_ptr<File>> OpenForReading(
      const std::string& path) override;
  absl::StatusOr<std::unique_ptr<File>> CreateExclusive(const std::string& path,
                                                        uint32_t mode) override;
  absl::StatusOr<std::unique_ptr<File>> OpenOrCreate(
      const std::string& path) override;
  absl::Status CreateFolder(const std::string& path) override;
  absl::Status SyncFolder(const std::string& path) override;
  absl::StatusOr<std::vector<FolderEntry>> List(
      const std::string& path) override;
  absl::Status RenameNoReplace(const std::string& from,
                               const std::string& to) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Link(const std::string& from, const std::string& to) override;
  absl::Status Unlink(const std::string& path) override;
  absl::Status RemoveFolder(const std::string& path) override;
  absl::StatusOr<FileInfo> Stat(const std::string& path) override;
  absl::StatusOr<FileInfo> LinkStat(const std::string& path) override;

 private:
  friend class UnsyncedFile;

  struct Node {
    FileKind kind = FileKind::kRegular;
    uint32_t mode = 0;
    std::string data;                       // of a file
    std::map<std::string, uint64_t> names;  // of a folder: to nodes
  };
  using Nodes = std::map<uint64_t, Node>;

  // One change that is not durable yet.
  struct Change {
    enum Kind { kWrite, kTruncate, kLink, kUnlink, kRename };
    Kind kind = kWrite;
    uint64_t node = 0;  // the file, or what a name stands for
    uint64_t offset = 0;
    std::string data;
    uint64_t folder = 0;  // where the name is (before a rename)
    std::string name;
    uint64_t to_folder = 0;
    std::string to_name;
  };
  enum class Fate { kLost, kKept, kFirstHalf, kZeros };

  struct Located {
    uint64_t folder = 0;
    std::string name;
    uint64_t node = 0;  // 0: no such name
  };

  static void Apply(const Change& change, Fate fate, Nodes* nodes);
  static std::vector<Fate> FatesOf(const Change& change);

  // Where `path` is; an error when a folder above it is not there.
  absl::StatusOr<Located> Locate(const std::string& path,
                                 absl::string_view operation) const;
  absl::StatusOr<Located> LocateExisting(const std::string& path,
                                         absl::string_view operation) const;
  uint64_t NewNode(FileKind kind, uint32_t mode);
  // Does it now, durably later.
  void Do(Change change);
  // Makes durable what `concerns` picks, in order.
  void Settle(const std::function<bool(const Change&)>& concerns);
  absl::Status Move(const std::string& from, const std::string& to,
                    bool replace);

  Nodes live_;
  Nodes durable_;
  std::vector<Change> pending_;
  std::map<uint64_t, const File*> locks_;
  uint64_t next_node_ = 1;
  int rename_no_replace_error_ = 0;
  std::function<void()> after_change_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_IO_TESTING_UNSYNCED_FILE_SYSTEM_H_
