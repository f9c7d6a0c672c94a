// The lock of a run folder: one process at a time trains in it or prunes it.
//
// An exclusive flock on RUN/lock, held for the holder's life and released by
// the operating system however it ends. The file is never deleted. Its text
// names the holder and is only for messages.
//
// Where the file system has no flock, a claim in RUN/lock.claim
// (format/lock_claim.h): host, boot, process and its start say whether its
// holder still runs. Either kind of holder respects the other, as two machines
// may mount one file system differently.
//
// Example:
//
//   auto lock = reprise::RunLock::Take(FileSystem::Real(), "/tmp/run");
//   if (!lock.ok()) return lock.status();   // LOCKED names the holder
//
// A process made by fork() without exec() shares a flock; after exec() it has
// none. Thread-compatible.
#ifndef REPRISE_FORMAT_RUN_LOCK_H_
#define REPRISE_FORMAT_RUN_LOCK_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "format/io/file_system.h"
#include "format/lock_claim.h"

namespace reprise {

class RunLock {
 public:
  // Takes the lock without waiting. `take_foreign` also takes a claim whose
  // holder cannot be seen from here, as it ran on another host: only for
  // somebody who knows that it has ended. Errors: LOCKED; IO.
  static absl::StatusOr<std::unique_ptr<RunLock>> Take(
      FileSystem* file_system, const std::string& run_folder,
      bool take_foreign = false);
  // Clears the text and releases. After fork(), a claim is its taker's alone.
  ~RunLock();

  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // Text of a holder that ended without releasing the lock, as a killed one
  // does; empty when there was none.
  const std::string& taken_over_from() const { return taken_over_from_; }

  // What a person should read about how the lock was taken: from whom it was
  // taken over, that flock does not work here.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  RunLock() = default;

  std::unique_ptr<File> file_;
  // Where flock does not work, what stands for it.
  std::unique_ptr<LockClaim> claim_;
  pid_t taker_ = 0;
  std::string taken_over_from_;
  std::vector<std::string> notices_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_RUN_LOCK_H_
