// The values of a snapshot as text, by item, for people and for comparisons.
//
// Example (a test as well):
//
//   for (const reprise::FieldValue& value : reprise::FieldsOf(snapshot)) {
//     std::cout << reprise::TextOf(value.item) << " " << value.path << " = "
//               << value.text << "\n";
//   }
//
// Thread-safe.
#ifndef REPRISE_FORMAT_FIELD_VALUES_H_
#define REPRISE_FORMAT_FIELD_VALUES_H_

#include <string>
#include <vector>

#include "format/snapshot.h"

namespace reprise {

struct FieldValue {
  Item item = vocab::ITEM_UNSPECIFIED;
  // Of version 2's schema, "scaler.scale"; an element of a list that has a name
  // by its name, "optimizer.groups[decay].lr".
  std::string path;
  // Floats with the digits that read back the same value, bytes as hexadecimal
  // digits, those beyond 32 by their digest.
  std::string text;
};

// Every value that is there, of any version, by ascending item. Tensors are not
// among them, nor identity, clock, host and history.
std::vector<FieldValue> FieldsOf(const Snapshot& snapshot);

}  // namespace reprise

#endif  // REPRISE_FORMAT_FIELD_VALUES_H_
