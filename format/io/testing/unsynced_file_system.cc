#include "format/io/testing/unsynced_file_system.h"

#include <errno.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_split.h"
#include "format/io/io_error.h"

namespace reprise {
namespace {

constexpr uint64_t kRoot = 1;

}  // namespace

class UnsyncedFile : public File {
 public:
  UnsyncedFile(UnsyncedFileSystem* files, uint64_t node, std::string path)
      : files_(files), node_(node), path_(std::move(path)) {}
  ~UnsyncedFile() override { Release(); }

  absl::StatusOr<size_t> ReadAt(uint64_t offset, void* buffer,
                                size_t size) override {
    const std::string& data = files_->live_[node_].data;
    if (offset >= data.size()) return size_t{0};
    return data.copy(static_cast<char*>(buffer), size, offset);
  }
  absl::StatusOr<size_t> WriteAt(uint64_t offset, const void* data,
                                 size_t size) override {
    UnsyncedFileSystem::Change change;
    change.kind = UnsyncedFileSystem::Change::kWrite;
    change.node = node_;
    change.offset = offset;
    change.data.assign(static_cast<const char*>(data), size);
    files_->Do(std::move(change));
    return size;
  }
  absl::Status Truncate(uint64_t size) override {
    UnsyncedFileSystem::Change change;
    change.kind = UnsyncedFileSystem::Change::kTruncate;
    change.node = node_;
    change.offset = size;
    files_->Do(std::move(change));
    return absl::OkStatus();
  }
  absl::Status SyncData() override {
    files_->Settle([this](const UnsyncedFileSystem::Change& change) {
      return (change.kind == UnsyncedFileSystem::Change::kWrite ||
              change.kind == UnsyncedFileSystem::Change::kTruncate) &&
             change.node == node_;
    });
    return absl::OkStatus();
  }
  absl::StatusOr<FileInfo> Stat() override {
    const UnsyncedFileSystem::Node& node = files_->live_[node_];
    return FileInfo{node.kind, node.data.size(), node.mode, 1, node_};
  }
  absl::StatusOr<bool> TryLock() override {
    const File*& holder = files_->locks_[node_];
    if (holder != nullptr && holder != this) return false;
    holder = this;
    return true;
  }
  absl::Status Close() override {
    Release();
    return absl::OkStatus();
  }

 private:
  void Release() {
    auto lock = files_->locks_.find(node_);
    if (lock != files_->locks_.end() && lock->second == this) {
      files_->locks_.erase(lock);
    }
  }

  UnsyncedFileSystem* const files_;
  const uint64_t node_;
  const std::string path_;
};

UnsyncedFileSystem::UnsyncedFileSystem() {
  NewNode(FileKind::kFolder, 0755);
  durable_ = live_;
}

UnsyncedFileSystem::~UnsyncedFileSystem() = default;

uint64_t UnsyncedFileSystem::NewNode(FileKind kind, uint32_t mode) {
  const uint64_t id = next_node_++;
  Node& node = live_[id];
  node.kind = kind;
  node.mode = mode;
  // A name that survives alone stands for an empty file or folder.
  durable_[id] = node;
  return id;
}

absl::StatusOr<UnsyncedFileSystem::Located> UnsyncedFileSystem::Locate(
    const std::string& path, absl::string_view operation) const {
  Located located;
  located.node = kRoot;
  for (absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part == ".") continue;
    if (located.node == 0) return IoError(ENOENT, operation, path);
    const Node& folder = live_.at(located.node);
    if (folder.kind != FileKind::kFolder) {
      return IoError(ENOTDIR, operation, path);
    }
    located.folder = located.node;
    located.name = std::string(part);
    auto found = folder.names.find(located.name);
    located.node = found == folder.names.end() ? 0 : found->second;
  }
  return located;
}

absl::StatusOr<UnsyncedFileSystem::Located> UnsyncedFileSystem::LocateExisting(
    const std::string& path, absl::string_view operation) const {
  absl::StatusOr<Located> located = Locate(path, operation);
  if (located.ok() && located->node == 0) {
    return IoError(ENOENT, operation, path);
  }
  return located;
}

void UnsyncedFileSystem::Do(Change change) {
  Apply(change, Fate::kKept, &live_);
  pending_.push_back(std::move(change));
  if (after_change_) after_change_();
}

void UnsyncedFileSystem::Settle(
    const std::function<bool(const Change&)>& concerns) {
  std::vector<Change> rest;
  for (Change& change : pending_) {
    if (concerns(change)) {
      Apply(change, Fate::kKept, &durable_);
    } else {
      rest.push_back(std::move(change));
    }
  }
  pending_ = std::move(rest);
  if (after_change_) after_change_();
}

void UnsyncedFileSystem::Apply(const Change& change, Fate fate, Nodes* nodes) {
  if (fate == Fate::kLost) return;
  Node& node = (*nodes)[change.node];
  switch (change.kind) {
    case Change::kWrite: {
      std::string data = change.data;
      if (fate == Fate::kFirstHalf) data.resize(data.size() / 2);
      if (fate == Fate::kZeros) std::fill(data.begin(), data.end(), '\0');
      if (node.data.size() < change.offset + data.size()) {
        node.data.resize(change.offset + data.size());
      }
      node.data.replace(change.offset, data.size(), data);
      return;
    }
    case Change::kTruncate:
      node.data.resize(change.offset);
      return;
    case Change::kLink:
      (*nodes)[change.folder].names[change.name] = change.node;
      return;
    case Change::kUnlink:
    case Change::kRename: {
      auto& names = (*nodes)[change.folder].names;
      auto found = names.find(change.name);
      // The name may not have survived, or stand for something else.
      if (found != names.end() && found->second == change.node) {
        names.erase(found);
      }
      if (change.kind == Change::kRename) {
        (*nodes)[change.to_folder].names[change.to_name] = change.node;
      }
      return;
    }
  }
}

std::vector<UnsyncedFileSystem::Fate> UnsyncedFileSystem::FatesOf(
    const Change& change) {
  if (change.kind != Change::kWrite) return {Fate::kLost, Fate::kKept};
  return {Fate::kLost, Fate::kKept, Fate::kFirstHalf, Fate::kZeros};
}

uint64_t UnsyncedFileSystem::ForEachCrashState(
    const std::function<bool(UnsyncedFileSystem*)>& visit) const {
  std::vector<size_t> choice(pending_.size(), 0);
  for (uint64_t states = 1;; ++states) {
    UnsyncedFileSystem survived;
    survived.next_node_ = next_node_;
    survived.durable_ = durable_;
    for (size_t i = 0; i < pending_.size(); ++i) {
      Apply(pending_[i], FatesOf(pending_[i])[choice[i]], &survived.durable_);
    }
    survived.live_ = survived.durable_;
    if (!visit(&survived)) return states;
    // The next combination, as an odometer counts.
    size_t digit = 0;
    while (digit < choice.size() &&
           ++choice[digit] == FatesOf(pending_[digit]).size()) {
      choice[digit++] = 0;
    }
    if (digit == choice.size()) return states;
  }
}

absl::StatusOr<std::unique_ptr<File>> UnsyncedFileSystem::OpenForReading(
    const std::string& path) {
  absl::StatusOr<Located> located = LocateExisting(path, "open");
  if (!located.ok()) return located.status();
  if (live_[located->node].kind != FileKind::kRegular) {
    return IoError(ELOOP, "open", path);
  }
  return std::unique_ptr<File>(
      std::make_unique<UnsyncedFile>(this, located->node, path));
}

absl::StatusOr<std::unique_ptr<File>> UnsyncedFileSystem::CreateExclusive(
    const std::string& path, uint32_t mode) {
  absl::StatusOr<Located> located = Locate(path, "create");
  if (!located.ok()) return located.status();
  if (located->node != 0) return IoError(EEXIST, "create", path);
  Change change;
  change.kind = Change::kLink;
  change.node = NewNode(FileKind::kRegular, mode);
  change.folder = located->folder;
  change.name = located->name;
  const uint64_t node = change.node;
  Do(std::move(change));
  return std::unique_ptr<File>(
      std::make_unique<UnsyncedFile>(this, node, path));
}

absl::StatusOr<std::unique_ptr<File>> UnsyncedFileSystem::OpenOrCreate(
    const std::string& path) {
  absl::StatusOr<Located> located = Locate(path, "open");
  if (!located.ok()) return located.status();
  if (located->node == 0) return CreateExclusive(path, 0644);
  return OpenForReading(path);
}

absl::Status UnsyncedFileSystem::CreateFolder(const std::string& path) {
  absl::StatusOr<Located> located = Locate(path, "create folder");
  if (!located.ok()) return located.status();
  if (located->node != 0) return IoError(EEXIST, "create folder", path);
  Change change;
  change.kind = Change::kLink;
  change.node = NewNode(FileKind::kFolder, 0755);
  change.folder = located->folder;
  change.name = located->name;
  Do(std::move(change));
  return absl::OkStatus();
}

absl::Status UnsyncedFileSystem::SyncFolder(const std::string& path) {
  absl::StatusOr<Located> located = LocateExisting(path, "fsync folder");
  if (!located.ok()) return located.status();
  const uint64_t folder = located->node;
  Settle([folder](const Change& change) {
    const bool is_name = change.kind == Change::kLink ||
                         change.kind == Change::kUnlink ||
                         change.kind == Change::kRename;
    return is_name &&
           (change.folder == folder ||
            (change.kind == Change::kRename && change.to_folder == folder));
  });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FolderEntry>> UnsyncedFileSystem::List(
    const std::string& path) {
  absl::StatusOr<Located> located = LocateExisting(path, "list");
  if (!located.ok()) return located.status();
  const Node& folder = live_[located->node];
  if (folder.kind != FileKind::kFolder) return IoError(ENOTDIR, "list", path);
  std::vector<FolderEntry> entries;
  for (const auto& [name, node] : folder.names) {
    const Node& entry = live_[node];
    entries.push_back({name, entry.kind, entry.data.size()});
  }
  return entries;
}

absl::Status UnsyncedFileSystem::Move(const std::string& from,
                                      const std::string& to, bool replace) {
  absl::StatusOr<Located> source = LocateExisting(from, "rename");
  if (!source.ok()) return source.status();
  absl::StatusOr<Located> target = Locate(to, "rename to");
  if (!target.ok()) return target.status();
  if (target->node != 0) {
    if (!replace) return IoError(EEXIST, "rename to", to);
    const Node& there = live_[target->node];
    if (there.kind == FileKind::kFolder && !there.names.empty()) {
      return IoError(ENOTEMPTY, "rename to", to);
    }
  }
  Change change;
  change.kind = Change::kRename;
  change.node = source->node;
  change.folder = source->folder;
  change.name = source->name;
  change.to_folder = target->folder;
  change.to_name = target->name;
  Do(std::move(change));
  return absl::OkStatus();
}

absl::Status UnsyncedFileSystem::RenameNoReplace(const std::string& from,
                                                 const std::string& to) {
  if (rename_no_replace_error_ != 0) {
    return IoError(rename_no_replace_error_, "rename", from);
  }
  return Move(from, to, /*replace=*/false);
}

absl::Status UnsyncedFileSystem::Rename(const std::string& from,
                                        const std::string& to) {
  return Move(from, to, /*replace=*/true);
}

absl::Status UnsyncedFileSystem::Link(const std::string& from,
                                      const std::string& to) {
  absl::StatusOr<Located> source = LocateExisting(from, "link");
  if (!source.ok()) return source.status();
  if (live_[source->node].kind != FileKind::kRegular) {
    return IoError(EPERM, "link", from);
  }
  absl::StatusOr<Located> target = Locate(to, "link to");
  if (!target.ok()) return target.status();
  if (target->node != 0) return IoError(EEXIST, "link to", to);
  Change change;
  change.kind = Change::kLink;
  change.node = source->node;
  change.folder = target->folder;
  change.name = target->name;
  Do(std::move(change));
  return absl::OkStatus();
}

absl::Status UnsyncedFileSystem::Unlink(const std::string& path) {
  absl::StatusOr<Located> located = LocateExisting(path, "remove");
  if (!located.ok()) return located.status();
  if (live_[located->node].kind == FileKind::kFolder) {
    return IoError(EISDIR, "remove", path);
  }
  Change change;
  change.kind = Change::kUnlink;
  change.node = located->node;
  change.folder = located->folder;
  change.name = located->name;
  Do(std::move(change));
  return absl::OkStatus();
}

absl::Status UnsyncedFileSystem::RemoveFolder(const std::string& path) {
  absl::StatusOr<Located> located = LocateExisting(path, "remove folder");
  if (!located.ok()) return located.status();
  const Node& node = live_[located->node];
  if (node.kind != FileKind::kFolder) {
    return IoError(ENOTDIR, "remove folder", path);
  }
  if (!node.names.empty()) return IoError(ENOTEMPTY, "remove folder", path);
  Change change;
  change.kind = Change::kUnlink;
  change.node = located->node;
  change.folder = located->folder;
  change.name = located->name;
  Do(std::move(change));
  return absl::OkStatus();
}

absl::StatusOr<FileInfo> UnsyncedFileSystem::Stat(const std::string& path) {
  return LinkStat(path);
}

absl::StatusOr<FileInfo> UnsyncedFileSystem::LinkStat(const std::string& path) {
  absl::StatusOr<Located> located = LocateExisting(path, "stat");
  if (!located.ok()) return located.status();
  const Node& node = live_[located->node];
  return FileInfo{node.kind, node.data.size(), node.mode, 1, located->node};
}

}  // namespace reprise
