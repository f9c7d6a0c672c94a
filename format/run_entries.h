// The checkpoint-named entries of a run folder. Thread-safe.
//
// Example (a test as well):
//
//   auto entries = reprise::ListRunEntries("run");
//   if (entries.ok() && !entries->empty()) Use(entries->front().name);
#ifndef REPRISE_FORMAT_RUN_ENTRIES_H_
#define REPRISE_FORMAT_RUN_ENTRIES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "format/io/file_system.h"
#include "format/run_layout.h"

namespace reprise {

struct RunEntry {
  std::string name;
  std::optional<CheckpointPosition> position;  // nullopt: malformed name
};

// Newest first, malformed names last. Errors: ABSENT, IO.
absl::StatusOr<std::vector<RunEntry>> ListRunEntries(
    const std::string& run_folder,
    FileSystem* file_system = FileSystem::Real());

}  // namespace reprise

#endif  // REPRISE_FORMAT_RUN_ENTRIES_H_
