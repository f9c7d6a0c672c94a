// Loses one item of a checkpoint of the fake trainer on purpose: the control by
// which a harness shows that it would notice.
//
//   absl::Status status =
//       LoseItem(FileSystem::Real(), "/tmp/run", Item::SCALER_SCALE);
//
// The newest checkpoint is written again, whole and valid, with that item as a
// fresh run has it. Not for a folder that a trainer has open.
#ifndef REPRISE_CONFORMANCE_FAKE_LOSE_ITEM_H_
#define REPRISE_CONFORMANCE_FAKE_LOSE_ITEM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "format/io/file_system.h"
#include "format/vocabulary.h"

namespace reprise::conformance::fake {

// Items that LoseItem knows, by ascending number.
std::vector<Item> LosableItems();

// Errors: Unimplemented for another item; LOCKED, ABSENT, CORRUPT and IO as the
// store gives them.
absl::Status LoseItem(FileSystem* files, const std::string& run_folder,
                      Item item);
// Keeps the weights (and masters) and loses every other losable item but
// counters.step.
absl::Status KeepWeightsOnly(FileSystem* files, const std::string& run_folder);

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_LOSE_ITEM_H_
