// What a checkpoint lacks for resuming at a level, by the names of items.
//
// Example (a test as well):
//
//   for (const reprise::LackingItem& lacking :
//        reprise::LackingFor(snapshot, reprise::ResumeLevel::BITWISE)) {
//     std::cout << reprise::TextOf(lacking.item) << ": "
//               << reprise::TextOf(lacking.presence) << ", " << lacking.reason
//               << "\n";
//   }
//   // The user named what may be missing:
//   absl::Status status = reprise::RequireFor(
//       snapshot, reprise::ResumeLevel::BITWISE, {reprise::Item::WITNESS});
//
// Thread-safe.
#ifndef REPRISE_FORMAT_INVENTORY_H_
#define REPRISE_FORMAT_INVENTORY_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "format/snapshot.h"

namespace reprise {

// The lowest demand: the highest level at which a run can still be resumed
// without the item. ResumeLevel's numbers fall in strength: BITWISE 1,
// SAME_ORDER 2, STATISTICAL 3.
//
//   needed even for STATISTICAL: what the model, the optimizer, the schedule
//     and the scaler are, and how far the run is;
//   needed for SAME_ORDER: which samples come next, in which batches, and what
//     decides when the run ends;
//   needed for BITWISE: the generators and the machine;
//   never needed: witness and user.
std::set<Item> ItemsNeededFor(ResumeLevel level);

struct LackingItem {
  Item item = vocab::ITEM_UNSPECIFIED;
  // OMITTED, or UNSPECIFIED when there is no record of it.
  Presence presence = vocab::PRESENCE_UNSPECIFIED;
  std::string reason;
};

// Items needed for `level` that the run has and the snapshot does not, by
// ascending number. NOT_APPLICABLE and EMPTY lack nothing. Of a version 1
// snapshot, which has no record of them, the items that version 1 does not know
// are lacking with the reason "not recorded by version 1".
std::vector<LackingItem> LackingFor(const Snapshot& snapshot,
                                    ResumeLevel level);

// OK when nothing is lacking but what is in `accepted`. Error: MISSING_ITEM
// naming every other item, with its reason.
absl::Status RequireFor(const Snapshot& snapshot, ResumeLevel level,
                        const std::set<Item>& accepted);

// The highest level at which the snapshot lacks nothing; UNSPECIFIED when it
// cannot be resumed from at all.
ResumeLevel HighestLevel(const Snapshot& snapshot);

}  // namespace reprise

#endif  // REPRISE_FORMAT_INVENTORY_H_
