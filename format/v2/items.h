// The items of version 2, and what they have to do with fields. Thread-safe.
#ifndef REPRISE_FORMAT_V2_ITEMS_H_
#define REPRISE_FORMAT_V2_ITEMS_H_

#include <vector>

#include "absl/status/status.h"
#include "format/snapshot.h"
#include "google/protobuf/message.h"

namespace reprise {

// Every item that a version 2 checkpoint must have a record of, by ascending
// number: the whole inventory.
const std::vector<Item>& ItemsOfV2();

// Whether "nothing yet" is something that the item can say.
bool MayBeEmptyInV2(Item item);

// Whether the record of `item` says SAVED.
bool IsSavedV2(const Snapshot& snapshot, Item item);

// Exactly one record of each item, each with a presence that it can have, a
// reason where one is wanted, as of the snapshot's step. Errors: MISSING_ITEM,
// INVALID_VALUE.
absl::Status CheckInventoryV2(const Snapshot& snapshot);

// The rule that the schema's options state: a field is there exactly when its
// item is SAVED. Also: every enum has a known value, and what lies inside a
// value is complete. Errors: MISSING_ITEM, INVALID_VALUE, naming item and
// field.
absl::Status CheckFieldsV2(const google::protobuf::Message& manifest,
                           const Snapshot& snapshot);

// The item that a field of the version 2 schema says it belongs to;
// ITEM_UNSPECIFIED when it says none.
Item ItemOfField(const google::protobuf::FieldDescriptor* field);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_ITEMS_H_
