// What the files that implement CheckpointStore share.
#ifndef REPRISE_FORMAT_CHECKPOINT_STORE_REP_H_
#define REPRISE_FORMAT_CHECKPOINT_STORE_REP_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/checkpoint_store.h"
#include "format/run_layout.h"
#include "format/run_lock.h"

namespace reprise {

// An entry of the run folder with a checkpoint's name.
struct NamedEntry {
  std::string name;
  std::optional<CheckpointPosition> position;  // nullopt: malformed name
};

struct CheckpointStore::Rep {
  std::string run_folder;
  Options options;
  std::unique_ptr<RunLock> lock;
  std::vector<std::string> notices;
  // Names that were read whole since the store was opened.
  std::set<std::string> verified;
  // Name of the checkpoint that this process resumed from; empty: none.
  std::string resumed_from;
  // Run that this process trains; empty until it resumed or saved.
  std::string run_id;

  FileSystem* files() const { return options.file_system; }
  std::string PathOf(absl::string_view name) const {
    return JoinPath(run_folder, name);
  }

  // Checkpoint-named entries, newest first, malformed names last.
  absl::StatusOr<std::vector<NamedEntry>> Entries() const;
  // Reads and verifies; remembers success.
  absl::StatusOr<LoadedCheckpoint> Read(const std::string& name);
  // Whether a checkpoint of that run and position may be added.
  absl::Status CheckMaySave(const Snapshot& snapshot) const;
  // Encode and commit in one format; return the manifest's digest.
  absl::StatusOr<std::string> SaveV1(const std::string& name,
                                     const Snapshot& snapshot);
  absl::StatusOr<std::string> SaveV2(const std::string& name,
                                     const Snapshot& snapshot);
  // Moves `names` to abandoned/<attempt>/ durably, in that order.
  absl::Status Abandon(uint64_t attempt, const std::vector<std::string>& names);
  // Updates the hint; a failure is only a notice, as nobody trusts it.
  void Hint(const std::string& name);
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_CHECKPOINT_STORE_REP_H_
