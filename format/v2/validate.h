// The rules that the values of a version 2 checkpoint keep (spec/SPEC.md).
#ifndef REPRISE_FORMAT_V2_VALIDATE_H_
#define REPRISE_FORMAT_V2_VALIDATE_H_

#include "absl/status/status.h"
#include "format/snapshot.h"

namespace reprise {

// Everything but fields' presence (format/v2/items.h) and the table's own rules
// (format/v2/tensor_table.h). Tensors need no data. Reads no tensor bytes.
// REQUIRES: CheckInventoryV2 holds. Errors: MISSING_ITEM, INVALID_VALUE, LIMIT,
// naming the item. Thread-safe.
absl::Status ValidateForV2(const Snapshot& snapshot);

// Used by ValidateForV2: everything about the optimizer.
absl::Status ValidateOptimizerV2(const Snapshot& snapshot);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_VALIDATE_H_
