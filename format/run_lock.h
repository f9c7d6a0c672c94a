// The lock of a run folder: one process at a time trains in it or prunes it.
//
// An exclusive flock on RUN/lock, held for the holder's life and released by
// the operating system however it ends. The file is never deleted. Its text
// names the holder and is only for messages.
//
// Example:
//
//   auto lock = reprise::RunLock::Take(FileSystem::Real(), "/tmp/run");
//   if (!lock.ok()) return lock.status();   // LOCKED names the holder
//
// A process made by fork() without exec() shares the lock; after exec() it has
// none. Thread-compatible.
#ifndef REPRISE_FORMAT_RUN_LOCK_H_
#define REPRISE_FORMAT_RUN_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "format/io/file_system.h"

namespace reprise {

class RunLock {
 public:
  // Takes the lock without waiting. Errors: LOCKED; IO, also where the file
  // system has no flock.
  static absl::StatusOr<std::unique_ptr<RunLock>> Take(
      FileSystem* file_system, const std::string& run_folder);
  // Clears the text and releases.
  ~RunLock();

  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // Text of a holder that ended without releasing the lock, as a killed one
  // does; empty when there was none.
  const std::string& taken_over_from() const { return taken_over_from_; }

 private:
  RunLock(std::unique_ptr<File> file, std::string taken_over_from);

  const std::unique_ptr<File> file_;
  const std::string taken_over_from_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_RUN_LOCK_H_
