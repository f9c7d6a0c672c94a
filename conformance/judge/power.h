// Would a lost item have shown? Controls, in which an item was lost on purpose,
// answer it.
#ifndef REPRISE_CONFORMANCE_JUDGE_POWER_H_
#define REPRISE_CONFORMANCE_JUDGE_POWER_H_

#include <vector>

#include "conformance/judge/context.h"

namespace reprise::conformance {

// A deviation of a control counts when it is this many thresholds.
inline constexpr double kPowerFactor = 2;

// One entry for each control of the evidence.
std::vector<v1::Power> MeasurePower(const Context& context);

// Controls that the last resume of the subject equals in every record, as
// "weights-only" or an item's text. Only controls that differ from the
// uninterrupted run count.
std::vector<std::string> EqualControls(const Context& context,
                                       const Lineage& subject);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_POWER_H_
