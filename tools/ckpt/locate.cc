#include "tools/ckpt/locate.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/run_layout.h"

namespace reprise::ckpt {

absl::StatusOr<LoadedCheckpoint> ReadMeant(
    const std::string& path, std::vector<std::string>* passed_over) {
  FileSystem* files = FileSystem::Real();
  if (files->LinkStat(JoinPath(path, kManifestName)).ok()) {
    return ReadCheckpoint(path);
  }
  absl::StatusOr<std::vector<FolderEntry>> entries = files->List(path);
  if (!entries.ok()) return entries.status();
  std::vector<std::pair<CheckpointPosition, std::string>> found;
  for (const FolderEntry& entry : *entries) {
    const auto position = ParseCheckpointName(entry.name);
    if (position.has_value()) found.emplace_back(*position, entry.name);
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return b.first < a.first; });
  absl::Status first;
  for (const auto& [position, name] : found) {
    absl::StatusOr<LoadedCheckpoint> checkpoint =
        ReadCheckpoint(JoinPath(path, name));
    if (checkpoint.ok()) return checkpoint;
    const Refusal refusal = RefusalOf(checkpoint.status());
    if (refusal == Refusal::TOO_NEW || refusal == Refusal::UNKNOWN_FEATURE) {
      return checkpoint.status();
    }
    if (first.ok()) first = checkpoint.status();
    passed_over->push_back(absl::StrCat("passed over ", name, ": ",
                                        checkpoint.status().message()));
  }
  if (!first.ok()) return first;
  return MakeRefusal(
      Refusal::ABSENT,
      absl::StrCat(path, ": expected a checkpoint (", kManifestName,
                   " in it) or a run folder (step-... in it), found neither"));
}

}  // namespace reprise::ckpt
