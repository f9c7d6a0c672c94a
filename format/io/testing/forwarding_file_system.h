// Base class of file systems that wrap another one: every operation first asks
// Before() and then goes through. Derived classes fail operations, count them,
// or block at one until they are told to go on.
//
// Example:
//
//   class Traced : public ForwardingFileSystem {
//    public:
//     using ForwardingFileSystem::ForwardingFileSystem;
//     absl::Status Before(const Operation& operation) override {
//       std::cerr << operation.name << " " << operation.path << "\n";
//       return absl::OkStatus();
//     }
//   };
//
// Thread-safe when Before() is.
#ifndef REPRISE_FORMAT_IO_TESTING_FORWARDING_FILE_SYSTEM_H_
#define REPRISE_FORMAT_IO_TESTING_FORWARDING_FILE_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "format/io/file_system.h"

namespace reprise {

class ForwardingFileSystem : public FileSystem {
 public:
  struct Operation {
    // Name of the method: "WriteAt", "RenameNoReplace", ...
    absl::string_view name;
    // The file's or folder's path; for a rename the one from which.
    std::string path;
    // Where a rename or link goes; empty otherwise.
    std::string to;
    // Bytes to read or write; 0 otherwise.
    size_t size = 0;
    // Of WriteAt only: Before() may lower it for a short write.
    size_t* allowed = nullptr;
  };

  // `target` must outlive this object and every file opened through it.
  explicit ForwardingFileSystem(FileSystem* target) : target_(target) {}

  // Called before each operation; an error is returned instead of doing it.
  virtual absl::Status Before(const Operation& operation);

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
  FileSystem* const target_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_IO_TESTING_FORWARDING_FILE_SYSTEM_H_
