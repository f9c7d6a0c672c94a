// The lock of a run folder where the file system has no flock: a folder that
// exists while somebody holds the lock, with one file that says who.
//
//   RUN/lock.claim/             taken: empty means nobody holds it
//     4711-9f3c52e07a1b44d8     the holder's own name; its text is the
//     LockOwner
//
// A claim is published whole by one rename of a prepared folder onto
// RUN/lock.claim, which every file system refuses while a folder with something
// in it is there: of two contenders one wins. A dead holder's file is removed
// by its own name, which no later holder has, so a contender that judged slowly
// removes nobody else's claim.
//
// Example:
//
//   auto claim = reprise::LockClaim::Take(files, "/tmp/run", false);
//   if (!claim.ok()) return claim.status();   // LOCKED names the holder
//
// Thread-compatible.
#ifndef REPRISE_FORMAT_LOCK_CLAIM_H_
#define REPRISE_FORMAT_LOCK_CLAIM_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/io/file_system.h"

namespace reprise {

// Whether a holder with this text keeps others out. OK when it is gone, or when
// it is elsewhere (or unreadable) and `take_foreign` is given; then a line
// about it is added to `notices`. Else LOCKED naming the holder found in
// `path`.
absl::Status JudgeHolder(const std::string& path, absl::string_view text,
                         bool take_foreign, std::vector<std::string>* notices);

class LockClaim {
 public:
  // Removes claims of holders that are gone. Errors: LOCKED; IO.
  static absl::Status Clear(FileSystem* file_system,
                            const std::string& run_folder, bool take_foreign,
                            std::vector<std::string>* notices);
  // Clears, then claims, without waiting. Errors: LOCKED; IO.
  static absl::StatusOr<std::unique_ptr<LockClaim>> Take(
      FileSystem* file_system, const std::string& run_folder, bool take_foreign,
      std::vector<std::string>* notices);
  // Gives the claim up; in a process made by fork() it does nothing.
  ~LockClaim();

  LockClaim(const LockClaim&) = delete;
  LockClaim& operator=(const LockClaim&) = delete;

 private:
  LockClaim(FileSystem* file_system, std::string folder, std::string name);

  FileSystem* const file_system_;
  const std::string folder_;
  const std::string name_;
  const pid_t owner_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_LOCK_CLAIM_H_
