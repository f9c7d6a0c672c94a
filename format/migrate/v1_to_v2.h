// The step from format version 1 to 2: what a version 1 checkpoint says, as
// version 2 says it.
//
//   v1 snapshot                       v2 snapshot
//     30 records                        50 records
//     ties, EMA, accumulation, ...      OMITTED "not recorded by v1"
//     epoch and batch (in the file)     cursor, counters.samples
//     schedule position, step counts    counters.applied, counters.skipped
//     everything else                   the same
//
// Example (a test as well):
//
//   absl::StatusOr<reprise::Snapshot> v1 = reprise::DecodeV1(manifest);
//   if (!v1.ok()) return v1.status();
//   absl::StatusOr<reprise::Snapshot> v2 =
//       reprise::MigrateV1ToV2(*v1, {manifest_digest, {}});
//
// It never guesses: where two places of the file that ought to agree do not, it
// refuses. Reading a version 1 folder (ReadCheckpoint) and ckpt_migrate both
// call it. The rules are MIG-3 to MIG-6 of spec/SPEC.md. Thread-safe.
#ifndef REPRISE_FORMAT_MIGRATE_V1_TO_V2_H_
#define REPRISE_FORMAT_MIGRATE_V1_TO_V2_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/snapshot.h"

namespace reprise {

// Reason of every item that version 1 has no place for.
constexpr char kNotRecordedByV1[] = "not recorded by v1";
// `program` of the step's record in the history. The number changes when the
// step does something else.
constexpr char kV1ToV2Program[] = "reprise v1-to-v2 1";

// Where the snapshot came from.
struct V1Source {
  std::string manifest_digest;  // 16 bytes
  // What of a later minor version the reader does not know
  // (UnknownContentOfV1); carried as notes.
  std::vector<std::string> unknown;
};

// `v1` as version 2 has it, with a record of the step in its history. Tensors
// share their bytes with it; none is read. REQUIRES: DecodeV1 gave `v1`.
// Errors: INVALID_VALUE naming optim.step when the numbers of applied steps
// disagree.
absl::StatusOr<Snapshot> MigrateV1ToV2(const Snapshot& v1,
                                       const V1Source& source);

// Items that version 1 has no place for. After the step they are OMITTED, but
// for counters where the file says what they must be. A trainer that knows that
// its version 1 runs had no such thing may accept that they are missing.
const std::set<Item>& ItemsNotRecordedByV1();

}  // namespace reprise

#endif  // REPRISE_FORMAT_MIGRATE_V1_TO_V2_H_
