// A checkpoint that several processes write: each writes the shards of its part
// and reports; one, the coordinator, commits.
//
//   coordinator   folder = store->BeginShared(step, micro)
//   each process  report = WriteSlices(files, folder, its number, its slices)
//   (reports travel to the coordinator in any way: they are bytes)
//   coordinator   store->CommitShared(snapshot, reports)
//
// Example (a test as well), of one process that is both:
//
//   auto folder = store->BeginShared(snapshot.step, 0);
//   if (!folder.ok()) return folder.status();
//   reprise::LocalSlice slice{reprise::Item::MODEL_PARAMS, "w", "", {}, {},
//                             weights};
//   auto report = reprise::WriteSlices(reprise::FileSystem::Real(), *folder,
//                                      /*writer=*/0, {slice}, {});
//   if (!report.ok()) return report.status();
//   auto digest = store->CommitShared(snapshot, {*report});
//
// A process that dies before it reports leaves nothing behind but `.tmp-*`. The
// coordinator reads no tensor again, except those whose slices are not runs of
// bytes (cut along an inner dimension): their digest needs them whole.
#ifndef REPRISE_FORMAT_V2_SHARED_SAVE_H_
#define REPRISE_FORMAT_V2_SHARED_SAVE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "format/io/file_system.h"
#include "format/snapshot.h"
#include "format/v2/save.h"

namespace reprise {

// What one process has of one tensor.
struct LocalSlice {
  Item item = vocab::ITEM_UNSPECIFIED;
  std::string name;  // of the parameter, for moments
  std::string part;  // "exp_avg", for moments
  // The whole tensor's shape, and where the slice begins; both empty when this
  // process has all of it.
  std::vector<int64_t> shape;
  std::vector<int64_t> start;
  // The slice's elements; its own name does not matter.
  Tensor tensor;
};

// Writes and syncs shard-<writer>-*.bin in `folder` and returns the report.
// Errors: INVALID_VALUE, LIMIT, MISSING_ITEM; IO. Thread-safe.
absl::StatusOr<std::string> WriteSlices(FileSystem* file_system,
                                        const std::string& folder,
                                        uint32_t writer,
                                        const std::vector<LocalSlice>& slices,
                                        const SaveV2Options& options);

// The coordinator's part: checks that the reports fill every tensor of
// `snapshot` (all made with Tensor::Elsewhere, or without elements), that the
// shards are there, and writes digests and manifest. Errors: MISSING_ITEM
// naming a tensor that nobody wrote; MISMATCH where report and snapshot
// disagree; CORRUPT; IO.
absl::StatusOr<WrittenV2> FinishShared(FileSystem* file_system,
                                       const std::string& folder,
                                       const Snapshot& snapshot,
                                       const std::vector<std::string>& reports);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_SHARED_SAVE_H_
