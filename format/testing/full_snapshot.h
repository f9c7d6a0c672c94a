// A checkpoint of every item of version 2 for tests, and verbs that tamper.
//
// Example:
//
//   reprise::Snapshot snapshot = reprise::FullSnapshot(60);
//   ...
//   reprise::RewriteManifestV2("run/step-000000000060",
//       [](reprise::checkpoint::v2::Manifest* message) {
//         message->mutable_scaler()->clear_growth_tracker();
//       });
//
// Thread-safe.
#ifndef REPRISE_FORMAT_TESTING_FULL_SNAPSHOT_H_
#define REPRISE_FORMAT_TESTING_FULL_SNAPSHOT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "format/io/file_system.h"
#include "format/snapshot.h"
#include "reprise/spec/v2/manifest.pb.h"

namespace reprise {

// SmallSnapshot(step) and everything that version 2 adds: tied and frozen
// parameters, masters, EMA, counters, evaluation, user's state, witness. At a
// boundary, so without gradients. Values depend on `step`.
Snapshot FullSnapshot(uint64_t step);

// The same after `micro` of 4 micro-steps of the next step, with gradients.
Snapshot FullSnapshotInStep(uint64_t step, uint32_t micro);

// Only what must be there: a model of one parameter, and reasons for the rest.
Snapshot SmallestSnapshotV2();

// Every tensor of the two is the same: name, dtype, shape, order, bytes. Empty
// when so, else what differs first.
std::string TensorDifference(const Snapshot& a, const Snapshot& b);

checkpoint::v2::ItemRecord* RecordOfV2(checkpoint::v2::Manifest* message,
                                       Item item);

// What an edit leaves right again.
enum class Repair {
  kEnvelope,          // length, digest and CRC
  kEnvelopeAndValue,  // and the value digest
};

// `manifest` with `edit` applied.
std::string EditedManifestV2(
    const std::string& manifest,
    const std::function<void(checkpoint::v2::Manifest*)>& edit,
    Repair repair = Repair::kEnvelopeAndValue);

// Applies `edit` to the manifest of the checkpoint folder `path`, so that only
// what `edit` did is wrong. The read-only file is replaced, not written to.
absl::Status RewriteManifestV2(
    const std::string& path,
    const std::function<void(checkpoint::v2::Manifest*)>& edit,
    Repair repair = Repair::kEnvelopeAndValue,
    FileSystem* file_system = FileSystem::Real());

}  // namespace reprise

#endif  // REPRISE_FORMAT_TESTING_FULL_SNAPSHOT_H_
