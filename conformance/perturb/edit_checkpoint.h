// Loses state on purpose: the newest checkpoint of a Reprise run folder, of any
// format version, written again, whole and valid, with something changed.
//
//   absl::Status status = LoseItem("/tmp/run", Item::SCALER_SCALE);
//
// A control run resumes the edited checkpoint. When nothing that a testee
// records moves, the harness could not have seen the loss of that item in the
// real run either, and its verdict is INCONCLUSIVE.
//
// The witness is taken out: it would name most edits before they show. Not for
// a folder that a trainer has open (LOCKED). Not thread-safe.
#ifndef REPRISE_CONFORMANCE_PERTURB_EDIT_CHECKPOINT_H_
#define REPRISE_CONFORMANCE_PERTURB_EDIT_CHECKPOINT_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "format/snapshot.h"

namespace reprise::conformance {

// Items that LoseItem knows, by ascending number.
std::vector<Item> LosableItems();

// Gives `item` its value of a fresh run where a checkpoint says what that is
// (moments, counters, the position of a schedule), else another one. Errors:
// NotFound when the checkpoint does not hold the item; Unimplemented for an
// item that is not losable; ABSENT, LOCKED, CORRUPT and IO as the store gives
// them.
absl::Status LoseItem(const std::string& run_folder, Item item);

// Loses every losable item but the weights.
absl::Status KeepWeightsOnly(const std::string& run_folder);

// Any other change. `older` is the checkpoint before the newest, null when
// there is none. On an error of `edit` nothing is changed.
absl::Status EditNewest(
    const std::string& run_folder,
    const std::function<absl::Status(const Snapshot* older, Snapshot* newest)>&
        edit);

// A copy of `tensor` whose bytes may be written.
Tensor WritableCopy(const Tensor& tensor, uint8_t** bytes);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_PERTURB_EDIT_CHECKPOINT_H_
