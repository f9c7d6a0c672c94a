// Second question: is the state after the load the state that was saved, and is
// it still so just before the first forward pass? Answered from digests and
// values of items, where the testee gives them.
#ifndef REPRISE_CONFORMANCE_JUDGE_DIGEST_ATTRIBUTION_H_
#define REPRISE_CONFORMANCE_JUDGE_DIGEST_ATTRIBUTION_H_

#include <set>
#include <vector>

#include "conformance/judge/context.h"

namespace reprise::conformance {

struct DigestResult {
  std::vector<v1::Finding> findings;
  // Items whose digests are the saved ones both after the load and before the
  // first forward pass: no load lost them.
  std::set<Item> verified;
  // Tensors that match no known step: named from curves
  // (RESET, PARTIAL, TORN or CHANGED).
  std::set<Item> unknown_tensors;
  // Whether the digests of a fresh start are known, so that a tensor in
  // `unknown_tensors` cannot be one.
  bool initial_known = false;
};

// Judges the load of attempt `index` of the subject.
DigestResult AttributeDigests(const Context& context, const Lineage& lineage,
                              size_t index);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_DIGEST_ATTRIBUTION_H_
