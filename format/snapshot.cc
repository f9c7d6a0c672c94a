#include "format/snapshot.h"

#include <algorithm>
#include <utility>

namespace reprise {

void Snapshot::MarkSaved(Item item) {
  Mark(item, Presence::PRESENCE_SAVED, "");
}

void Snapshot::MarkEmpty(Item item) {
  Mark(item, Presence::PRESENCE_EMPTY, "");
}

void Snapshot::MarkNotApplicable(Item item, std::string reason) {
  Mark(item, Presence::PRESENCE_NOT_APPLICABLE, std::move(reason));
}

void Snapshot::MarkOmitted(Item item, std::string reason) {
  Mark(item, Presence::PRESENCE_OMITTED, std::move(reason));
}

void Snapshot::Mark(Item item, Presence presence, std::string reason) {
  ItemRecord record{item, presence, step, std::move(reason)};
  auto found = std::find_if(
      inventory.begin(), inventory.end(),
      [item](const ItemRecord& existing) { return existing.item == item; });
  if (found != inventory.end()) {
    *found = std::move(record);
  } else {
    inventory.push_back(std::move(record));
  }
}

const ItemRecord* Snapshot::Find(Item item) const {
  for (const ItemRecord& record : inventory) {
    if (record.item == item) return &record;
  }
  return nullptr;
}

}  // namespace reprise
