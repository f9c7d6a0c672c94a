// What kind of state an item of the inventory is, which decides what a wrong
// value of it means.
#ifndef REPRISE_CONFORMANCE_JUDGE_ITEM_KINDS_H_
#define REPRISE_CONFORMANCE_JUDGE_ITEM_KINDS_H_

#include "format/vocabulary.h"

namespace reprise::conformance {

// Tensors, which a digest stands for.
bool IsTensors(Item item);
// States of random number generators.
bool IsGenerator(Item item);
// A count of something, where a small difference is a lag or a lead.
bool IsCount(Item item);
// Recorded not to change from step to step: a wrong value is another setting,
// not another moment.
bool IsSetting(Item item);
// Facts about a run that no load restores.
bool IsIgnored(Item item);
// Another value after every applied step.
bool AlwaysMoves(Item item);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_ITEM_KINDS_H_
