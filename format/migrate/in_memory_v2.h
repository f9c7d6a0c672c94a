// A snapshot as the version 2 checkpoint that a save would write, without
// writing it: layout, digests, manifest. So what is read on the fly from an
// older version is to the last bit what reading its written migration gives.
#ifndef REPRISE_FORMAT_MIGRATE_IN_MEMORY_V2_H_
#define REPRISE_FORMAT_MIGRATE_IN_MEMORY_V2_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "format/snapshot.h"
#include "format/v2/save.h"

namespace reprise {

struct InMemoryV2 {
  // What the plan's tensors refer to.
  std::unique_ptr<Snapshot> source;
  // Ready for WriteV2 with the same options; roots of tensors are in its draft.
  PlannedV2 plan;
  std::string manifest;
  std::string manifest_digest;  // 16 bytes
  std::string value_digest;     // 16 bytes

  // What reading the written checkpoint gives; tensors share the bytes of
  // `source`.
  absl::StatusOr<Snapshot> Read() const;
};

// Digests every tensor. Errors: those of PlanV2 (MISSING_ITEM, INVALID_VALUE,
// LIMIT); what a tensor's copy function returns.
absl::StatusOr<InMemoryV2> ToV2InMemory(Snapshot snapshot,
                                        const SaveV2Options& options);

}  // namespace reprise

#endif  // REPRISE_FORMAT_MIGRATE_IN_MEMORY_V2_H_
