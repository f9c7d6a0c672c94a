// What the files that implement CheckpointStore share.
#ifndef REPRISE_FORMAT_CHECKPOINT_STORE_REP_H_
#define REPRISE_FORMAT_CHECKPOINT_STORE_REP_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/background_task.h"
#include "format/checkpoint_store.h"
#include "format/retention.h"
#include "format/run_entries.h"
#include "format/run_layout.h"
#include "format/run_lock.h"
#include "format/v2/staging.h"

namespace reprise {

// While a save runs behind, everything here but `run_folder` belongs to its
// thread; the methods of the store wait for it first.
struct CheckpointStore::Rep {
  // A save of which everything but writing is done.
  struct PreparedSave {
    CommittedSave committed;  // completed by `fill`
    std::string run_id;
    // Writes and syncs the files of the checkpoint, once.
    std::function<absl::Status(const std::string& folder,
                               CommittedSave* committed)>
        fill;
  };

  std::string run_folder;
  Options options;
  std::unique_ptr<RunLock> lock;
  std::vector<std::string> notices;
  // Names that were read whole since the store was opened.
  std::map<std::string, CheckpointProbe> verified;
  // Name of the checkpoint that this process resumed from; empty: none.
  std::string resumed_from;
  // Run that this process trains; empty until it resumed or saved.
  std::string run_id;

  // First cause of what went wrong behind and was not told yet.
  absl::Status late_error;
  // Saves that went well behind and were not told yet.
  std::vector<CommittedSave> committed;
  StagingMemory staging;
  // Last, so that it ends first.
  BackgroundTask background;

  // The run folder, held: paths that begin with `run_folder`.
  std::shared_ptr<FileSystem> within;
  FileSystem* files() const { return within.get(); }
  std::string PathOf(absl::string_view name) const {
    return JoinPath(run_folder, name);
  }

  // Checkpoint-named entries, newest first, malformed names last.
  absl::StatusOr<std::vector<RunEntry>> Entries() const {
    return ListRunEntries(run_folder, files());
  }
  // Reads and verifies; remembers success.
  absl::StatusOr<LoadedCheckpoint> Read(const std::string& name);
  // Whether a checkpoint of that run and position may be added.
  absl::Status CheckMaySave(const Snapshot& snapshot) const;
  // Refuses what can be refused. With `copy`, what is prepared no longer refers
  // to `snapshot`.
  absl::StatusOr<PreparedSave> Prepare(const Snapshot& snapshot,
                                       StagingMemory* copy);
  absl::Status Commit(PreparedSave* prepared);
  absl::StatusOr<std::vector<std::string>> Prune();
  // Waits for the save that runs behind; the error that it left, once.
  absl::Status Settle();
  // Moves `names` to abandoned/<attempt>/ durably, in that order.
  absl::Status Abandon(uint64_t attempt, const std::vector<std::string>& names);
  // Updates the hint; a failure is only a notice, as nobody trusts it.
  void Hint(const std::string& name);
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_CHECKPOINT_STORE_REP_H_
