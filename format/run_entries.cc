#include "format/run_entries.h"

#include <algorithm>

namespace reprise {

absl::StatusOr<std::vector<RunEntry>> ListRunEntries(
    const std::string& run_folder, FileSystem* file_system) {
  absl::StatusOr<std::vector<FolderEntry>> found =
      file_system->List(run_folder);
  if (!found.ok()) return found.status();
  std::vector<RunEntry> entries;
  for (const FolderEntry& entry : *found) {
    if (!IsCheckpointNamed(entry.name)) continue;
    entries.push_back({entry.name, ParseCheckpointName(entry.name)});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const RunEntry& a, const RunEntry& b) {
                     return b.position < a.position;
                   });
  return entries;
}

}  // namespace reprise
