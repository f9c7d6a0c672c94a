// What a run once went on without, kept in the history of its checkpoints.
//
// A checkpoint's `accepted_missing` is of the attempt that wrote it. So that
// the run says for ever that it is not the very run it began as, the attempt
// also adds a record to the history, which later attempts and migrations carry
// on (spec/SPEC.md, MAN-8).
//
//   history.push_back(
//       AcceptedMissingRecord(items, /*step=*/7, parent_manifest_digest));
//   for (const AcceptedMissing& once : AcceptedMissingIn(history)) {
//     std::cout << "at step " << once.step << ": "
//               << absl::StrJoin(once.items, " ") << "\n";
//   }
//
// Pure functions, thread-safe.
#ifndef REPRISE_FORMAT_ACCEPTED_MISSING_H_
#define REPRISE_FORMAT_ACCEPTED_MISSING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "format/snapshot.h"

namespace reprise {

struct AcceptedMissing {
  uint64_t step = 0;               // that the attempt resumed from
  std::string manifest_digest;     // of that checkpoint, 16 bytes
  std::vector<std::string> items;  // that it lacked, as canonical texts
};

// The record of an attempt that resumed, without `items`, from the checkpoint
// of `step` with that manifest (16 bytes). Both majors are the newest.
MigrationRecord AcceptedMissingRecord(const std::vector<Item>& items,
                                      uint64_t step,
                                      std::string manifest_digest);

// Those of `history`, oldest first. Records of anything else are passed over.
std::vector<AcceptedMissing> AcceptedMissingIn(
    const std::vector<MigrationRecord>& history);

// Whether `record` is one of those.
bool IsAcceptedMissing(const MigrationRecord& record);

}  // namespace reprise

#endif  // REPRISE_FORMAT_ACCEPTED_MISSING_H_
