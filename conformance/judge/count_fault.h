// Which fault the wrong value of a count is: set back to its first value,
// counted in another unit, too low or too high.
#ifndef REPRISE_CONFORMANCE_JUDGE_COUNT_FAULT_H_
#define REPRISE_CONFORMANCE_JUDGE_COUNT_FAULT_H_

#include "conformance/judge/context.h"

namespace reprise::conformance {

// Fault of `item`, a count (IsCount) that is `found` where `expected`, another
// number, was saved at step `resumed_step`.
Fault CountFault(const Workload& workload, uint64_t resumed_step, Item item,
                 double found, double expected);

// Samples that differ by a number of epochs.
bool WholeEpochs(const Workload& workload, double found, double saved);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_COUNT_FAULT_H_
