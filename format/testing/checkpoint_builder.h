// Small complete checkpoints for tests, and verbs that tamper with them.
//
// Example:
//
//   reprise::Snapshot snapshot = reprise::SmallSnapshot(60);
//   snapshot.scaler->scale = 1024;
//   ...
//   // "Drop the schedule's position from a committed checkpoint":
//   reprise::RewriteManifest("run/step-000000000060",
//       [](reprise::checkpoint::v1::Checkpoint* message) {
//         message->mutable_schedule()->clear_position();
//       });
//
// Thread-safe.
#ifndef REPRISE_FORMAT_TESTING_CHECKPOINT_BUILDER_H_
#define REPRISE_FORMAT_TESTING_CHECKPOINT_BUILDER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "format/io/file_system.h"
#include "format/io/testing/test_folder.h"  // IWYU pragma: export
#include "format/snapshot.h"
#include "reprise/spec/v1/checkpoint.pb.h"

namespace reprise {

// A valid snapshot of every item of version 1 at `step`: a two-parameter model
// with one buffer, AdamW, a schedule, a scaler, a sampler (batches of 10 of
// 1,000 samples), a CPU generator, configuration and environment. Values
// depend on `step`. At step 0 the optimizer has no moments yet.
Snapshot SmallSnapshot(uint64_t step);

// A tensor that owns these values.
Tensor FloatTensor(std::string name, std::vector<int64_t> shape,
                   std::vector<float> values);
// A tensor that owns these bytes, whatever they mean.
Tensor BytesTensor(std::string name, DType dtype, std::vector<int64_t> shape,
                   std::string bytes);

// The record of `item` in a manifest message; adds one when there is none.
checkpoint::v1::ItemRecord* RecordOf(checkpoint::v1::Checkpoint* message,
                                     Item item);

// Applies `edit` to the manifest of the checkpoint folder `path` and makes
// length, digest and CRC right again, so that only what `edit` did is wrong.
// Nothing else is checked. The read-only file is replaced, not written to.
absl::Status RewriteManifest(
    const std::string& path,
    const std::function<void(checkpoint::v1::Checkpoint*)>& edit,
    FileSystem* file_system = FileSystem::Real());

// Replaces the bytes of a file (a checkpoint's manifest, say) by others.
absl::Status ReplaceFile(const std::string& path, absl::string_view bytes,
                         FileSystem* file_system = FileSystem::Real());

// The whole content of a file.
absl::StatusOr<std::string> FileContent(
    const std::string& path, FileSystem* file_system = FileSystem::Real());

}  // namespace reprise

#endif  // REPRISE_FORMAT_TESTING_CHECKPOINT_BUILDER_H_
