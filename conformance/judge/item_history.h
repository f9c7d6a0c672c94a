// The values that each item is known to have had: at a fresh start and at every
// save before an attempt. With them a wrong value is told to be the first one,
// or another step's.
#ifndef REPRISE_CONFORMANCE_JUDGE_ITEM_HISTORY_H_
#define REPRISE_CONFORMANCE_JUDGE_ITEM_HISTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/judge/context.h"

namespace reprise::conformance {

class ItemHistory {
 public:
  // What is known when attempt `index` of the subject starts. Keeps references
  // to nothing.
  ItemHistory(const Context& context, const Lineage& lineage, size_t index);

  // Whether digests of a fresh start are recorded. First values of some items
  // are known without.
  bool initial_known() const { return initial_known_; }

  // Whether the item has the value of a fresh start. False when that is
  // unknown.
  bool IsInitial(Item item, const v1::ItemDigest& found) const;

  // Whether the item is known to have had another value at a fresh start.
  bool MovedTo(Item item, const v1::ItemDigest& found) const;

  // A step other than `step` at which the item was saved with this digest: the
  // nearest one.
  std::optional<uint64_t> SavedAt(Item item, const v1::ItemDigest& found,
                                  uint64_t step) const;

 private:
  void Remember(uint64_t step, const Digests& digests);
  void AddFirstValues(const Timeline& baseline);

  Digests initial_;
  bool initial_known_ = false;
  std::map<Item, std::vector<std::pair<uint64_t, v1::ItemDigest>>> history_;
};

// Steps between two steps.
inline uint64_t StepDistance(uint64_t a, uint64_t b) {
  return a > b ? a - b : b - a;
}

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_ITEM_HISTORY_H_
