#include "format/migrate/migration_source.h"

#include <errno.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "format/io/io_error.h"
#include "format/lock_claim.h"
#include "format/manifest_file.h"
#include "format/refusal.h"
#include "format/run_layout.h"

namespace reprise {
namespace {

constexpr char kWitnessFolder[] = "witness";
constexpr size_t kLongestLockText = 512;

absl::Status NotACheckpoint(const std::string& path, absl::string_view why) {
  return MakeRefusal(Refusal::NOT_A_CHECKPOINT, absl::StrCat(path, ": ", why));
}

// A file: what it is itself, or that its folder is meant.
absl::Status RefuseFile(const std::string& path, FileSystem* file_system) {
  absl::StatusOr<ManifestFile> file = ReadManifestFile(file_system, path);
  if (!file.ok()) return file.status();
  return NotACheckpoint(path, "a manifest; name the folder that it lies in");
}

std::string ShortText(absl::string_view text) {
  std::string line(text.substr(0, kLongestLockText));
  absl::StripAsciiWhitespace(&line);
  return line;
}

absl::Status Locked(const std::string& run_folder, absl::string_view holder) {
  return MakeRefusal(
      Refusal::LOCKED,
      absl::StrCat(run_folder, ": a program holds this run folder now (",
                   holder.empty() ? "it has not said which" : holder,
                   "); stop it first, or migrate one checkpoint of it"));
}

// Looks, and leaves no trace: a reader writes nothing.
absl::Status CheckNobodyHolds(const std::string& run_folder,
                              FileSystem* file_system) {
  const std::string path = JoinPath(run_folder, kLockName);
  absl::StatusOr<std::unique_ptr<File>> lock =
      file_system->OpenForReading(path);
  if (lock.ok()) {
    absl::StatusOr<bool> free = (*lock)->TryLock();
    std::string text(kLongestLockText, '\0');
    absl::StatusOr<size_t> got = (*lock)->ReadAt(0, &text[0], text.size());
    text.resize(got.ok() ? *got : 0);
    if (free.ok() && !*free) return Locked(run_folder, ShortText(text));
  } else if (ErrnoOf(lock.status()) != ENOENT) {
    return lock.status();
  }
  // Where flock does not work, a claim says who holds it.
  const std::string claim = JoinPath(run_folder, kLockClaimName);
  absl::StatusOr<std::vector<FolderEntry>> claims = file_system->List(claim);
  if (!claims.ok()) return absl::OkStatus();
  for (const FolderEntry& entry : *claims) {
    const std::string file = JoinPath(claim, entry.name);
    absl::StatusOr<std::string> text =
        ReadSmallFile(file_system, file, kLongestLockText);
    if (!text.ok()) continue;  // given up meanwhile
    std::vector<std::string> notices;
    absl::Status gone = JudgeHolder(file, ShortText(*text),
                                    /*take_foreign=*/false, &notices);
    if (!gone.ok()) return Locked(run_folder, ShortText(*text));
  }
  return absl::OkStatus();
}

absl::Status AddFilesOf(const std::string& run_folder,
                        const std::string& folder, FileSystem* file_system,
                        MigrationSource* source) {
  absl::StatusOr<std::vector<FolderEntry>> entries =
      file_system->List(JoinPath(run_folder, folder));
  if (!entries.ok()) return entries.status();
  source->folders.push_back(folder);
  for (const FolderEntry& entry : *entries) {
    const std::string name = JoinPath(folder, entry.name);
    (entry.kind == FileKind::kRegular ? source->files : source->left)
        .push_back(name);
  }
  return absl::OkStatus();
}

// The checkpoints in it are evidence and stay where they are; their attempts'
// numbers go along.
absl::Status AddAbandoned(const std::string& run_folder,
                          FileSystem* file_system, MigrationSource* source) {
  absl::StatusOr<std::vector<FolderEntry>> entries =
      file_system->List(JoinPath(run_folder, kAbandonedName));
  if (!entries.ok()) return entries.status();
  source->folders.push_back(kAbandonedName);
  for (const FolderEntry& entry : *entries) {
    const std::string name = JoinPath(kAbandonedName, entry.name);
    if (entry.kind == FileKind::kFolder) source->folders.push_back(name);
    source->left.push_back(name);
  }
  return absl::OkStatus();
}

absl::Status AddEntry(const std::string& run_folder, const FolderEntry& entry,
                      FileSystem* file_system, MigrationSource* source) {
  const std::string& name = entry.name;
  if (name == kLockName || name == kLockClaimName || name == kLatestName ||
      IsLeftover(name) || IsCheckpointNamed(name)) {
    return absl::OkStatus();
  }
  if (entry.kind == FileKind::kRegular) {
    source->files.push_back(name);
    return absl::OkStatus();
  }
  if (entry.kind == FileKind::kFolder && name == kWitnessFolder) {
    return AddFilesOf(run_folder, name, file_system, source);
  }
  if (entry.kind == FileKind::kFolder && name == kAbandonedName) {
    return AddAbandoned(run_folder, file_system, source);
  }
  source->left.push_back(name);
  return absl::OkStatus();
}

absl::StatusOr<MigrationSource> FindRun(const std::string& path,
                                        std::vector<FolderEntry> entries,
                                        FileSystem* file_system) {
  MigrationSource source;
  source.run_folder = path;
  std::vector<std::pair<CheckpointPosition, std::string>> found;
  for (const FolderEntry& entry : entries) {
    if (!IsCheckpointNamed(entry.name)) continue;
    const std::string checkpoint = JoinPath(path, entry.name);
    std::optional<CheckpointPosition> position =
        ParseCheckpointName(entry.name);
    if (!position.has_value()) {
      return NotACheckpoint(checkpoint,
                            "a checkpoint's folder is called step- and twelve "
                            "digits; move it away or name it so");
    }
    found.emplace_back(*position, checkpoint);
  }
  if (found.empty()) {
    return MakeRefusal(
        Refusal::ABSENT,
        absl::StrCat(path, entries.empty() ? ": an empty folder"
                                           : ": neither a manifest.ckpt nor a "
                                             "step-* folder in it"));
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [position, checkpoint] : found) {
    source.checkpoints.push_back(std::move(checkpoint));
  }
  absl::Status status = CheckNobodyHolds(path, file_system);
  for (const FolderEntry& entry : entries) {
    if (!status.ok()) return status;
    status = AddEntry(path, entry, file_system, &source);
  }
  if (!status.ok()) return status;
  return source;
}

}  // namespace

absl::StatusOr<MigrationSource> FindMigrationSource(
    const std::string& given_path, FileSystem* file_system) {
  const std::string path = WithoutTrailingSlashes(given_path);
  if (IsLeftover(BaseName(path))) {
    return NotACheckpoint(path,
                          "a save, prune or migration that did not finish");
  }
  absl::StatusOr<FileInfo> info = file_system->LinkStat(path);
  if (!info.ok()) return info.status();
  if (info->kind == FileKind::kSymbolicLink) {
    // A run folder may be reached through a link, a checkpoint not.
    absl::StatusOr<FileInfo> target = file_system->Stat(path);
    if (!target.ok()) return target.status();
    info->kind =
        target->kind == FileKind::kFolder && !IsCheckpointNamed(BaseName(path))
            ? FileKind::kFolder
            : FileKind::kSymbolicLink;
  }
  if (info->kind == FileKind::kSymbolicLink) {
    return NotACheckpoint(path, "a symbolic link; name what it leads to");
  }
  if (info->kind == FileKind::kRegular) return RefuseFile(path, file_system);
  if (info->kind != FileKind::kFolder) {
    return NotACheckpoint(path, "neither a file nor a folder");
  }
  absl::StatusOr<std::vector<FolderEntry>> entries = file_system->List(path);
  if (!entries.ok()) return entries.status();
  bool manifest = false;
  bool checkpoints = false;
  for (const FolderEntry& entry : *entries) {
    manifest |= entry.name == kManifestName;
    checkpoints |= IsCheckpointNamed(entry.name);
  }
  if (manifest && checkpoints) {
    return NotACheckpoint(
        path,
        "both a checkpoint (manifest.ckpt) and a run folder (step-*); "
        "name one of them, or move one away");
  }
  if (!manifest && !IsCheckpointNamed(BaseName(path))) {
    return FindRun(path, *std::move(entries), file_system);
  }
  // Without a manifest it is refused as incomplete when it is read.
  MigrationSource source;
  source.checkpoints = {path};
  return source;
}

}  // namespace reprise
