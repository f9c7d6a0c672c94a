#include "format/io/testing/forwarding_file_system.h"

#include <utility>

namespace reprise {
namespace {

using Operation = ForwardingFileSystem::Operation;

class ForwardingFile : public File {
 public:
  ForwardingFile(ForwardingFileSystem* owner, std::string path,
                 std::unique_ptr<File> target)
      : owner_(owner), path_(std::move(path)), target_(std::move(target)) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, void* buffer,
                                size_t size) override {
    absl::Status status = owner_->Before({"ReadAt", path_, "", size, nullptr});
    if (!status.ok()) return status;
    return target_->ReadAt(offset, buffer, size);
  }
  absl::StatusOr<size_t> WriteAt(uint64_t offset, const void* data,
                                 size_t size) override {
    size_t allowed = size;
    absl::Status status =
        owner_->Before({"WriteAt", path_, "", size, &allowed});
    if (!status.ok()) return status;
    return target_->WriteAt(offset, data, allowed);
  }
  void StartWriting(uint64_t offset, uint64_t size) override {
    target_->StartWriting(offset, size);
  }
  absl::StatusOr<std::shared_ptr<const void>> Map(uint64_t size) override {
    absl::Status status = owner_->Before({"Map", path_, "", size, nullptr});
    if (!status.ok()) return status;
    return target_->Map(size);
  }
  absl::Status Truncate(uint64_t size) override {
    absl::Status status = owner_->Before({"Truncate", path_, "", 0, nullptr});
    if (!status.ok()) return status;
    return target_->Truncate(size);
  }
  absl::Status SyncData() override {
    absl::Status status = owner_->Before({"SyncData", path_, "", 0, nullptr});
    if (!status.ok()) return status;
    return target_->SyncData();
  }
  absl::StatusOr<FileInfo> Stat() override {
    absl::Status status = owner_->Before({"FileStat", path_, "", 0, nullptr});
    if (!status.ok()) return status;
    return target_->Stat();
  }
  absl::StatusOr<bool> TryLock() override {
    absl::Status status = owner_->Before({"TryLock", path_, "", 0, nullptr});
    if (!status.ok()) return status;
    return target_->TryLock();
  }
  absl::Status Close() override {
    absl::Status status = owner_->Before({"Close", path_, "", 0, nullptr});
    // The descriptor goes away even when closing reports an error.
    absl::Status closed = target_->Close();
    return status.ok() ? closed : status;
  }

 private:
  ForwardingFileSystem* const owner_;
  const std::string path_;
  const std::unique_ptr<File> target_;
};

absl::StatusOr<std::unique_ptr<File>> Wrap(
    ForwardingFileSystem* owner, const std::string& path,
    absl::StatusOr<std::unique_ptr<File>> file) {
  if (!file.ok()) return file.status();
  return std::unique_ptr<File>(
      std::make_unique<ForwardingFile>(owner, path, *std::move(file)));
}

}  // namespace

absl::Status ForwardingFileSystem::Before(const Operation&) {
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<File>> ForwardingFileSystem::OpenForReading(
    const std::string& path) {
  absl::Status status = Before({"OpenForReading", path, "", 0, nullptr});
  if (!status.ok()) return status;
  return Wrap(this, path, target_->OpenForReading(path));
}

absl::StatusOr<std::unique_ptr<File>> ForwardingFileSystem::CreateExclusive(
    const std::string& path, uint32_t mode) {
  absl::Status status = Before({"CreateExclusive", path, "", 0, nullptr});
  if (!status.ok()) return status;
  return Wrap(this, path, target_->CreateExclusive(path, mode));
}

absl::StatusOr<std::unique_ptr<File>> ForwardingFileSystem::OpenOrCreate(
    const std::string& path) {
  absl::Status status = Before({"OpenOrCreate", path, "", 0, nullptr});
  if (!status.ok()) return status;
  return Wrap(this, path, target_->OpenOrCreate(path));
}

absl::Status ForwardingFileSystem::CreateFolder(const std::string& path) {
  absl::Status status = Before({"CreateFolder", path, "", 0, nullptr});
  return status.ok() ? target_->CreateFolder(path) : status;
}

absl::Status ForwardingFileSystem::SyncFolder(const std::string& path) {
  absl::Status status = Before({"SyncFolder", path, "", 0, nullptr});
  return status.ok() ? target_->SyncFolder(path) : status;
}

absl::StatusOr<std::vector<FolderEntry>> ForwardingFileSystem::List(
    const std::string& path) {
  absl::Status status = Before({"List", path, "", 0, nullptr});
  if (!status.ok()) return status;
  return target_->List(path);
}

absl::Status ForwardingFileSystem::RenameNoReplace(const std::string& from,
                                                   const std::string& to) {
  absl::Status status = Before({"RenameNoReplace", from, to, 0, nullptr});
  return status.ok() ? target_->RenameNoReplace(from, to) : status;
}

absl::Status ForwardingFileSystem::Rename(const std::string& from,
                                          const std::string& to) {
  absl::Status status = Before({"Rename", from, to, 0, nullptr});
  return status.ok() ? target_->Rename(from, to) : status;
}

absl::Status ForwardingFileSystem::Link(const std::string& from,
                                        const std::string& to) {
  absl::Status status = Before({"Link", from, to, 0, nullptr});
  return status.ok() ? target_->Link(from, to) : status;
}

absl::Status ForwardingFileSystem::Unlink(const std::string& path) {
  absl::Status status = Before({"Unlink", path, "", 0, nullptr});
  return status.ok() ? target_->Unlink(path) : status;
}

absl::Status ForwardingFileSystem::RemoveFolder(const std::string& path) {
  absl::Status status = Before({"RemoveFolder", path, "", 0, nullptr});
  return status.ok() ? target_->RemoveFolder(path) : status;
}

absl::StatusOr<FileInfo> ForwardingFileSystem::Stat(const std::string& path) {
  absl::Status status = Before({"Stat", path, "", 0, nullptr});
  if (!status.ok()) return status;
  return target_->Stat(path);
}

absl::StatusOr<FileInfo> ForwardingFileSystem::LinkStat(
    const std::string& path) {
  absl::Status status = Before({"LinkStat", path, "", 0, nullptr});
  if (!status.ok()) return status;
  return target_->LinkStat(path);
}

}  // namespace reprise
