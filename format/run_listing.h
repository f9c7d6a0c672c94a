// What lies in a run folder, at a glance: thousands of checkpoints in a moment,
// because only the small parts of manifests are read.
//
// Example (a test as well):
//
//   auto listing = reprise::ListRun("run");
//   if (!listing.ok()) return listing.status();
//   for (const reprise::ListedCheckpoint& checkpoint : listing->checkpoints) {
//     std::cout << checkpoint.name << " " << checkpoint.bytes << "\n";
//   }
//
// Takes no lock and changes nothing, so that it may be used while a run trains.
// Thread-safe.
#ifndef REPRISE_FORMAT_RUN_LISTING_H_
#define REPRISE_FORMAT_RUN_LISTING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/io/file_system.h"
#include "format/run_entries.h"
#include "format/snapshot.h"

namespace reprise {

struct ListedCheckpoint {
  std::string name;    // folder
  std::string branch;  // "" or "abandoned/2": where in the run folder it lies
  std::optional<CheckpointPosition> position;  // by the name
  // What of the manifest was looked at is in order; else why not. Says nothing
  // about the rest of it, nor about tensors: FindDamage does.
  absl::Status status;
  uint64_t bytes = 0;  // of all files
  uint32_t major = 0;  // 0 when the envelope could not be read
  uint32_t minor = 0;
  // Of a manifest that is in order:
  std::string run_id;
  uint64_t attempt = 0;
  std::optional<ParentRef> parent;
  std::optional<BestState> best;
  std::string writer, host;
  int64_t created_unix_nanos = 0;
  std::string manifest_digest;  // 16 bytes
  std::string value_digest;     // 16 bytes; empty for major 1
  // The best evaluation that the run's newest checkpoint knows of was at its
  // step.
  bool is_best = false;
};

struct RunListing {
  // Those of the run first, then those of each abandoned branch; by ascending
  // position, malformed names last.
  std::vector<ListedCheckpoint> checkpoints;
  std::string latest;  // what the hint says; empty: none
  std::vector<std::string>
      leftovers;  // of saves and prunes that did not finish
};

// Errors: ABSENT, IO; NOT_A_CHECKPOINT when `run_folder` is no folder.
absl::StatusOr<RunListing> ListRun(
    const std::string& run_folder,
    FileSystem* file_system = FileSystem::Real());

// The same for one checkpoint's folder.
ListedCheckpoint ListCheckpoint(const std::string& path,
                                FileSystem* file_system = FileSystem::Real());

}  // namespace reprise

#endif  // REPRISE_FORMAT_RUN_LISTING_H_
