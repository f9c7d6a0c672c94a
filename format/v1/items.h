// The items of the inventory that format version 1 records. Thread-safe.
//
// Example (a test as well):
//
//   for (reprise::Item item : reprise::ItemsOfV1()) {
//     std::cout << reprise::TextOf(item) << "\n";
//   }
#ifndef REPRISE_FORMAT_V1_ITEMS_H_
#define REPRISE_FORMAT_V1_ITEMS_H_

#include <vector>

#include "format/vocabulary.h"

namespace reprise {

// Every item that a version 1 checkpoint must have a record of, by ascending
// number. A record of any other item is refused.
const std::vector<Item>& ItemsOfV1();

}  // namespace reprise

#endif  // REPRISE_FORMAT_V1_ITEMS_H_
