#include "tools/ckpt/locate.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/foreign_file.h"
#include "format/refusal.h"
#include "format/run_entries.h"
#include "format/run_layout.h"

namespace reprise::ckpt {
namespace {

// Enough to tell a kind of file.
constexpr size_t kHeadBytes = 512;

}  // namespace

absl::Status CheckIsNoFile(const std::string& path) {
  FileSystem* files = FileSystem::Real();
  const absl::StatusOr<FileInfo> info = files->Stat(path);
  if (!info.ok() || info->kind == FileKind::kFolder) return absl::OkStatus();
  constexpr char kExpected[] =
      ": expected the folder of a checkpoint or of a run, found ";
  if (BaseName(path) == kManifestName) {
    return MakeRefusal(
        Refusal::NOT_A_CHECKPOINT,
        absl::StrCat(path, kExpected,
                     "a manifest; name the folder that it lies in"));
  }
  absl::StatusOr<std::unique_ptr<File>> file = files->OpenForReading(path);
  if (!file.ok()) return file.status();
  std::string head(kHeadBytes, '\0');
  absl::StatusOr<size_t> read = (*file)->ReadAt(0, head.data(), head.size());
  if (!read.ok()) return read.status();
  head.resize(*read);
  return MakeRefusal(
      Refusal::NOT_A_CHECKPOINT,
      absl::StrCat(path, kExpected, "a file, which seems to be ",
                   DescribeForeignFile(head),
                   "; ckpt import takes files of torch.save and safetensors"));
}

absl::StatusOr<std::string> Locate(
    const std::string& given,
    const std::function<absl::Status(const std::string& folder)>& usable,
    std::vector<std::string>* passed_over) {
  FileSystem* files = FileSystem::Real();
  const std::string path = WithoutTrailingSlashes(given);
  if (absl::Status status = CheckIsNoFile(path); !status.ok()) return status;
  if (files->LinkStat(JoinPath(path, kManifestName)).ok() ||
      IsCheckpointNamed(BaseName(path))) {
    absl::Status status = usable(path);
    if (!status.ok()) return status;
    return path;
  }
  absl::StatusOr<std::vector<RunEntry>> entries = ListRunEntries(path);
  if (!entries.ok()) return entries.status();
  absl::Status first;
  for (const RunEntry& entry : *entries) {
    const std::string folder = JoinPath(path, entry.name);
    absl::Status status = usable(folder);
    if (status.ok()) return folder;
    const Refusal refusal = RefusalOf(status);
    if (refusal == Refusal::TOO_NEW || refusal == Refusal::UNKNOWN_FEATURE) {
      return status;
    }
    if (first.ok()) first = status;
    passed_over->push_back(
        absl::StrCat("passed over ", entry.name, ": ", status.message()));
  }
  if (!first.ok()) return first;
  return MakeRefusal(
      Refusal::ABSENT,
      absl::StrCat(path, ": expected a checkpoint (", kManifestName,
                   " in it) or a run folder (step-... in it), found neither"));
}

absl::StatusOr<LoadedCheckpoint> ReadMeant(
    const std::string& path, std::vector<std::string>* passed_over) {
  LoadedCheckpoint checkpoint;
  absl::StatusOr<std::string> folder = Locate(
      path,
      [&](const std::string& candidate) {
        absl::StatusOr<LoadedCheckpoint> read = ReadCheckpoint(candidate);
        if (read.ok()) checkpoint = *std::move(read);
        return read.status();
      },
      passed_over);
  if (!folder.ok()) return folder.status();
  return checkpoint;
}

}  // namespace reprise::ckpt
