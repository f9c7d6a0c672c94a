// Is what a resumed attempt saves its own state, or still the one that was
// loaded?
#ifndef REPRISE_CONFORMANCE_JUDGE_SAVE_ATTRIBUTION_H_
#define REPRISE_CONFORMANCE_JUDGE_SAVE_ATTRIBUTION_H_

#include <vector>

#include "conformance/judge/context.h"

namespace reprise::conformance {

// Judges what attempt `index` saved: an item that still has the value that was
// loaded, though the uninterrupted run moved it and steps were applied since,
// is STICKY. `always_moving` asks for the items that every applied step moves,
// else for those that may rest for a while (a scale, flags); of these, those
// that a `known` cause makes differ are left out.
std::vector<v1::Finding> AttributeSaves(const Context& context,
                                        const Lineage& lineage, size_t index,
                                        const std::vector<v1::Finding>& known,
                                        bool always_moving);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_SAVE_ATTRIBUTION_H_
