#include "format/v2/share_files.h"

#include <errno.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "format/io/io_error.h"
#include "format/refusal.h"
#include "format/v2/checkpoint_reader.h"

namespace reprise {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{1} << 22;

// Errors after which a copy does what a link cannot.
bool CannotLink(const absl::Status& status) {
  switch (ErrnoOf(status)) {
    case EXDEV:
    case EMLINK:
    case EPERM:
    case EOPNOTSUPP:
    case ENOSYS:
      return true;
    default:
      return false;
  }
}

absl::Status SyncFile(FileSystem* file_system, const std::string& path) {
  absl::StatusOr<std::unique_ptr<File>> file =
      file_system->OpenForReading(path);
  if (!file.ok()) return file.status();
  return (*file)->SyncData();
}

}  // namespace

absl::Status CopyFileDurably(FileSystem* file_system, const std::string& from,
                             const std::string& to, uint32_t mode) {
  absl::StatusOr<std::unique_ptr<File>> source =
      file_system->OpenForReading(from);
  if (!source.ok()) return source.status();
  absl::StatusOr<FileInfo> info = (*source)->Stat();
  if (!info.ok()) return info.status();
  absl::StatusOr<std::unique_ptr<File>> target =
      file_system->CreateExclusive(to, mode);
  if (!target.ok()) return target.status();
  absl::Status status;
  std::string block;
  for (uint64_t at = 0; status.ok() && at < info->size; at += kBlockBytes) {
    block.resize(std::min(kBlockBytes, info->size - at));
    status = ReadExactly(source->get(), at, &block[0], block.size());
    if (status.ok()) status = WriteAll(target->get(), at, block);
  }
  if (status.ok()) status = (*target)->SyncData();
  status.Update((*target)->Close());
  return status;
}

absl::StatusOr<SharedFiles> ShareFiles(FileSystem* file_system,
                                       const std::string& from,
                                       const std::string& to,
                                       const ShareOptions& options) {
  absl::StatusOr<std::unique_ptr<CheckpointReader>> reader =
      CheckpointReader::Open(from, file_system);
  if (!reader.ok()) return reader.status();
  absl::Status status = options.verify_tensors || options.copy
                            ? (*reader)->Verify(options.threads)
                            : (*reader)->VerifyAllButTensors();
  if (!status.ok()) return Annotate(status, "sharing its bytes");
  std::vector<std::string> names;
  for (const ShardInfo& shard : (*reader)->manifest().shards) {
    names.push_back(ShardName(shard));
    names.push_back(DigestFileName(shard));
  }
  SharedFiles shared;
  for (const std::string& name : names) {
    status = SyncFile(file_system, JoinPath(from, name));
    if (!status.ok()) return status;
  }
  status = file_system->SyncFolder(from);
  if (!status.ok()) return status;
  for (const std::string& name : names) {
    const std::string source = JoinPath(from, name);
    const std::string target = JoinPath(to, name);
    if (!options.copy) {
      status = file_system->Link(source, target);
      if (status.ok()) {
        shared.linked.push_back(name);
        continue;
      }
      if (!CannotLink(status)) return status;
      shared.why_copied = std::string(status.message());
    }
    status = CopyFileDurably(file_system, source, target, 0444);
    if (!status.ok()) return status;
    shared.copied.push_back(name);
  }
  if (!shared.linked.empty()) {
    shared.notice = absl::StrCat("shares storage with ", from);
  }
  return shared;
}

}  // namespace reprise
