// Who holds a lock, in words that another process can check: where flock does
// not work, nothing but these facts tells a live holder from a dead one.
//
//   pid 4711 on gpu-7 boot 6f0c... started 81523 pids 4026531836 since 2026-...
//
// Example (a test as well):
//
//   const std::string text = reprise::TextOf(reprise::ThisProcess());
//   ...
//   std::optional<reprise::LockOwner> owner = reprise::ParseLockOwner(text);
//   if (owner && reprise::StateOf(*owner) == reprise::OwnerState::kGone) ...
//
// Thread-safe.
#ifndef REPRISE_FORMAT_LOCK_OWNER_H_
#define REPRISE_FORMAT_LOCK_OWNER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace reprise {

struct LockOwner {
  int64_t pid = 0;
  std::string host;      // its name
  std::string boot;      // id of the kernel's boot, "-" when unknown
  uint64_t started = 0;  // clock ticks from boot to the process's start; 0:
                         // unknown
  std::string pids;      // id of the namespace that `pid` is counted in, "-"
                         // when unknown
  std::string since;     // when the lock was taken, UTC; only for people
};

// The calling process, now.
LockOwner ThisProcess();

// One line, without its end.
std::string TextOf(const LockOwner& owner);
// nullopt for any text that TextOf cannot have written.
std::optional<LockOwner> ParseLockOwner(absl::string_view text);

enum class OwnerState {
  kAlive,
  kGone,       // ended, or of an earlier boot of this host
  kElsewhere,  // another host or container: cannot be known from here
};

// Whether `owner` runs now. What this process cannot find out is never kGone.
OwnerState StateOf(const LockOwner& owner);

}  // namespace reprise

#endif  // REPRISE_FORMAT_LOCK_OWNER_H_
