// Writes a snapshot as a version 2 checkpoint into a folder.
//
//   shard-0000-0000.bin ...        tensors' bytes, each synced
//   shard-0000-0000.bin.digests    chunk digests
//   manifest.ckpt                  last: without it the folder is nothing
//
// CheckpointStore::Save calls this between making `.tmp-*` and renaming it.
//
// Example (a test as well):
//
//   reprise::SaveV2Options options;
//   auto plan = reprise::PlanV2(snapshot, options);
//   if (!plan.ok()) return plan.status();  // nothing is written yet
//   auto written = reprise::WriteV2(reprise::FileSystem::Real(), folder,
//                                   *std::move(plan), options);
#ifndef REPRISE_FORMAT_V2_SAVE_H_
#define REPRISE_FORMAT_V2_SAVE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "format/io/file_system.h"
#include "format/snapshot.h"
#include "format/v2/codec.h"
#include "format/v2/digest_file.h"
#include "format/v2/tensor_list.h"

namespace reprise {

struct SaveV2Options {
  // Threads that digest and write, at least 1. The files do not depend on it.
  int threads = 2;
  // A shard is full when it has this many bytes; at least 1. A tensor is never
  // split, so a shard can be larger.
  uint64_t shard_bytes = uint64_t{1} << 32;
};

struct WrittenV2 {
  std::string manifest_digest;  // 16 bytes
  std::string value_digest;     // 16 bytes
};

// A checked snapshot that is ready to be written.
struct PlannedV2 {
  std::vector<ListedTensor> tensors;
  DraftV2 draft;
  std::vector<ShardInfo> shards;
};

// Everything that can be refused is refused here, before the first byte. The
// plan refers to `snapshot`. Errors: MISSING_ITEM, INVALID_VALUE, LIMIT.
absl::StatusOr<PlannedV2> PlanV2(const Snapshot& snapshot,
                                 const SaveV2Options& options);

// Writes and syncs all files of the plan into `folder`, which exists, and syncs
// the folder. On error files may be left for the caller to remove. Errors: IO;
// what a tensor's copy function returns.
absl::StatusOr<WrittenV2> WriteV2(FileSystem* file_system,
                                  const std::string& folder, PlannedV2 plan,
                                  const SaveV2Options& options);

// The last part of WriteV2: roots from `chunks`, digest files, manifest.
absl::StatusOr<WrittenV2> FinishV2(FileSystem* file_system,
                                   const std::string& folder, DraftV2 draft,
                                   const std::vector<ShardInfo>& shards,
                                   const std::vector<Chunks>& chunks);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_SAVE_H_
