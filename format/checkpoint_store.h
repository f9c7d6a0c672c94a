// A run folder: the checkpoints of one training run, and who may touch them.
//
//   RUN/
//     lock                    held by the one process that trains or prunes
//     lock.claim/             who that is, where flock does not work
//     latest                  hint: name of the newest checkpoint
//     step-000000000060/      a committed checkpoint
//       manifest.ckpt
//       shard-0000-0000.bin   tensors (format major 2)
//       shard-0000-0000.bin.digests
//     .tmp-*                  a save that did not finish; ignored, swept
//     .trash-*                a prune that did not finish; ignored, swept
//     abandoned/<attempt>/    what lay beyond the checkpoint resumed from
//
// Example (a test as well):
//
//   // Takes the lock.
//   auto store = reprise::CheckpointStore::Open("/tmp/run", {});
//   if (!store.ok()) return store.status();
//   auto found = (*store)->NewestVerified();
//   if (!found.ok()) return found.status();
//   auto attempt = (*store)->NextAttempt(found->checkpoint);
//   if (!attempt.ok()) return attempt.status();
//   if (found->checkpoint.has_value()) {
//     // Abandons what lies beyond.
//     auto moved = (*store)->ResumeFrom(*found->checkpoint, *attempt);
//     if (!moved.ok()) return moved.status();
//   }
//   ...
//   auto digest = (*store)->Save(snapshot);
//   if (!digest.ok()) return digest.status();
//   auto removed = (*store)->Prune();
//
// The same without waiting for the disk (a test as well):
//
//   reprise::AsyncSaveOptions behind;
//   behind.prune = true;
//   auto started = (*store)->SaveAsync(snapshot, behind);  // copies
//   if (!started.ok()) return started.status();
//   ... the next steps ...
//   for (const reprise::CommittedSave& save : (*store)->TakeCommitted()) {
//     std::cout << "committed " << save.name << "\n";
//   }
//   absl::Status status = (*store)->Close();  // late errors surface here
//
// An open store keeps to the folder that it opened: when that is renamed, or
// another is put in its place, it goes on in the one that it has locked.
//
// Thread-compatible: one thread at a time. A save behind runs on a thread of
// the store; IsSaving, SaveAsync with kSkip, TakeCommitted, TakeNotices and
// run_folder never wait for it, every other method does first.
#ifndef REPRISE_FORMAT_CHECKPOINT_STORE_H_
#define REPRISE_FORMAT_CHECKPOINT_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/io/file_system.h"
#include "format/read_checkpoint.h"
#include "format/retention.h"
#include "format/snapshot.h"
#include "format/version.h"

namespace reprise {

struct AsyncSaveOptions {
  enum class Tensors {
    // Their bytes are copied to host memory before SaveAsync returns: training
    // may go on. Costs that memory (once, kept until Close) and that time.
    kCopied,
    // Nothing is copied: the caller promises that the bytes stay as they are
    // and where they are until the save has ended (IsSaving, Wait), or hands
    // over tensors that own them.
    kHandedOver,
  };
  // What happens when the save before is still being written.
  enum class WhenBusy {
    kWait,  // SaveAsync returns only when that one has ended
    kSkip,  // this one is not done at all
  };
  Tensors tensors = Tensors::kCopied;
  WhenBusy when_busy = WhenBusy::kWait;
  // Prune behind as soon as the checkpoint is committed.
  bool prune = false;
};

enum class SaveStarted { kStarted, kSkipped };

// A save that went well behind.
struct CommittedSave {
  std::string name;  // folder in the run folder
  uint64_t step = 0;
  uint32_t micro = 0;
  std::string manifest_digest;      // 16 bytes
  std::string value_digest;         // 16 bytes; empty for major 1
  double seconds = 0;               // from the call of SaveAsync to the commit
  std::vector<std::string> pruned;  // names removed
};

class CheckpointStore {
 public:
  struct Options {
    // What Prune keeps (RetentionPolicy).
    int keep_last = 3;
    uint64_t keep_every = 0;
    bool keep_best = false;
    // Major version that Save writes: 1 (one file, at most 2 GiB) or 2.
    uint32_t format_major = kV1Major;
    // Threads that write, read and digest tensors of major 2; at least 1.
    int threads = 2;
    // A shard of major 2 is full when it has this many bytes; at least 1.
    uint64_t shard_bytes = uint64_t{1} << 32;
    FileSystem* file_system = FileSystem::Real();
    // Where flock does not work: also takes over a lock whose holder ran on
    // another host or in another container, so that nobody can see from here
    // whether it still runs. Only for somebody who knows that it has ended; two
    // trainers in one run folder destroy each other's checkpoints.
    bool take_foreign_lock = false;
  };

  // What was found and not used, and why.
  struct PassedOver {
    std::string name;     // entry of the run folder
    absl::Status reason;  // carries a Refusal
  };
  struct Newest {
    std::optional<LoadedCheckpoint> checkpoint;
    std::vector<PassedOver> passed_over;
  };

  // Creates the folder when it is not there (every folder created is synced),
  // takes the lock, and sweeps .tmp-* and .trash-*. Errors: LOCKED naming the
  // holder; IO.
  static absl::StatusOr<std::unique_ptr<CheckpointStore>> Open(
      const std::string& run_folder, Options options);
  // Close, whose error is lost.
  ~CheckpointStore();

  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  const std::string& run_folder() const;

  // What happened that is worth a line in the log and is no error: a lock taken
  // over from a process that died, leftovers removed, a hint that could not be
  // written. Each is returned once; none while a save is written behind.
  std::vector<std::string> TakeNotices();

  // The newest checkpoint that verifies. Damaged and incomplete ones are passed
  // over and reported. Errors: TOO_NEW or UNKNOWN_FEATURE when a newer one
  // needs a newer reader; CORRUPT (or the first cause) when checkpoint-named
  // entries exist and none can be read, so that nobody starts fresh over them.
  absl::StatusOr<Newest> NewestVerified();

  // Steps of all committed checkpoints by folder name, ascending; unverified.
  absl::StatusOr<std::vector<uint64_t>> List();

  // Declares that training goes on from `checkpoint`: everything beyond its
  // step is moved to abandoned/<attempt>/, and that checkpoint is protected
  // from pruning until a newer one verifies. Returns the names moved.
  // `attempt` is the new attempt's number (NextAttempt).
  absl::StatusOr<std::vector<std::string>> ResumeFrom(
      const LoadedCheckpoint& checkpoint, uint64_t attempt);

  // Moves every checkpoint, and each of `also` that exists (names in the run
  // folder), to abandoned/<attempt>/. Returns the names moved.
  absl::StatusOr<std::vector<std::string>> AbandonAll(
      uint64_t attempt, const std::vector<std::string>& also);

  // One more than any attempt seen in the given checkpoint or in abandoned/.
  absl::StatusOr<uint64_t> NextAttempt(
      const std::optional<LoadedCheckpoint>& newest);

  // Commits `snapshot` durably as step-%012d (step-%012d-micro-%04d between
  // micro-steps), in the format that the options say; returns its manifest
  // digest (16 bytes). On error the run folder holds what it held before, and
  // calling again writes new files from memory. Errors, before the first byte
  // is written: MISSING_ITEM, INVALID_VALUE (also when a checkpoint of that or
  // a later step is there), LIMIT, MISMATCH (another run's snapshot); then IO.
  absl::StatusOr<std::string> Save(const Snapshot& snapshot);

  // The same behind: refuses what can be refused, copies the tensors (or takes
  // them over) and returns; files are written, synced and committed meanwhile,
  // one checkpoint at a time. What goes wrong then is returned, once and with
  // the first cause, by the next call of SaveAsync, Save, Prune, BeginShared,
  // CommitShared, Wait or Close, which does nothing else then (Close closes):
  // calling SaveAsync or Save again saves. The run folder is as it was before,
  // as after a Save that failed. A process that is killed meanwhile leaves a
  // .tmp-* folder and the checkpoints that were there. Errors of its own: those
  // of Save before the first byte; LIMIT when there is no memory for the copy;
  // what a tensor's copy function returns.
  absl::StatusOr<SaveStarted> SaveAsync(Snapshot snapshot,
                                        const AsyncSaveOptions& options);
  // Whether a save is being written behind. Never waits.
  bool IsSaving() const;
  // Saves that were committed behind since the last call, oldest first; none
  // while one is being written.
  std::vector<CommittedSave> TakeCommitted();
  // Waits until nothing is being written. Returns the error that was not told
  // yet, of a save (the state is not on disk) or of a prune after one.
  absl::Status Wait();
  // Wait, and releases the lock. No other method but TakeCommitted and
  // TakeNotices may be called after it.
  absl::Status Close();

  // A save of major 2 that several processes take part in; see
  // format/v2/shared_save.h. BeginShared makes the folder that all of them
  // write to; CommitShared commits what they reported, and returns the manifest
  // digest. On error the folder is gone and a later save begins anew. Errors:
  // those of Save; MISSING_ITEM naming a tensor that nobody wrote; MISMATCH.
  absl::StatusOr<std::string> BeginShared(uint64_t step, uint32_t micro);
  absl::StatusOr<std::string> CommitShared(
      const Snapshot& snapshot, const std::vector<std::string>& reports);

  // Makes the hint name `name`, a checkpoint of the run folder; empty: removes
  // it. False when that is so already. Errors: IO.
  absl::StatusOr<bool> RepairHint(const std::string& name);

  // What Prune keeps from now on. REQUIRES: keep_last of at least 1.
  void set_retention(const RetentionPolicy& policy);

  // Removes what the policy of the options does not keep; never the last
  // verified one, hence never the one resumed from before a newer one verifies.
  // Reads each checkpoint that it counts, once in the life of the store.
  // Damaged ones newer than the oldest kept one stay, and so does everything
  // of a newer format. Returns the names removed.
  absl::StatusOr<std::vector<std::string>> Prune();

 private:
  struct Rep;
  explicit CheckpointStore(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_CHECKPOINT_STORE_H_
