// Reading and verifying one checkpoint folder, of any version.
//
// Example (a test as well):
//
//   auto checkpoint = reprise::ReadCheckpoint("run/step-000000000060");
//   if (!checkpoint.ok()) return checkpoint.status();
//   Use(checkpoint->snapshot);
//
// Thread-safe.
#ifndef REPRISE_FORMAT_READ_CHECKPOINT_H_
#define REPRISE_FORMAT_READ_CHECKPOINT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/io/file_system.h"
#include "format/snapshot.h"

namespace reprise {

// How long a checkpoint took to be read.
struct ReadTime {
  double seconds = 0;
  // Of them, in which bytes were digested and compared: reading and verifying
  // are one walk, and this is its share by the time that the threads spent. 0
  // of major 1.
  double verify_seconds = 0;
};

// A committed checkpoint that was read and verified whole.
struct LoadedCheckpoint {
  std::string path;  // folder, absolute or as the store's path was given
  uint32_t format_major = 0;    // of the file: 1 or 2
  std::string manifest_digest;  // 16 bytes, of the file
  std::string value_digest;     // 16 bytes; empty of major 1 as it is stored
  Snapshot snapshot;
  ReadTime time;
};

// Reads and verifies the checkpoint folder `path`, of any version, with up to
// `threads` threads. What an older major holds is migrated in memory: snapshot
// and value digest are those that reading the migrated checkpoint gives, to the
// last bit. Errors carry a Refusal (format/refusal.h).
absl::StatusOr<LoadedCheckpoint> ReadCheckpoint(
    const std::string& path, FileSystem* file_system = FileSystem::Real(),
    int threads = 2);

// The same without migration: what the file says in the words of its own major,
// in its own order. Of major 1, the thirty items that it knows.
absl::StatusOr<LoadedCheckpoint> ReadAsStored(
    const std::string& path, FileSystem* file_system = FileSystem::Real(),
    int threads = 2);

// Checks every byte of the checkpoint folder `path`, as it is stored, without
// keeping tensors in memory; of version 2 also the digest files and that
// nothing else is there.
absl::Status VerifyCheckpoint(const std::string& path,
                              FileSystem* file_system = FileSystem::Real(),
                              int threads = 2);

struct FindDamageOptions {
  // Threads that read and digest, at least 1.
  int threads = 2;
  // Called from those threads, with bytes of shards read so far and in all.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

// What VerifyCheckpoint checks, and all that is wrong instead of the first:
// each damaged tensor with its first range of bytes, each place between
// tensors, each file. Empty: the checkpoint is whole. An error that keeps the
// rest from being looked at (no manifest, no shard, the system's) is the last.
std::vector<absl::Status> FindDamage(
    const std::string& path, const FindDamageOptions& options,
    FileSystem* file_system = FileSystem::Real());

}  // namespace reprise

#endif  // REPRISE_FORMAT_READ_CHECKPOINT_H_
