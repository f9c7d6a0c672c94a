// What a verdict shows: how far equal runs differ, and curves to draw.
#ifndef REPRISE_CONFORMANCE_JUDGE_VERDICT_CURVES_H_
#define REPRISE_CONFORMANCE_JUDGE_VERDICT_CURVES_H_

#include "conformance/judge/context.h"

namespace reprise::conformance {

// How each channel that the testee records was compared: exactly, or within
// what equal runs differ by.
void AddTolerances(const Context& context, v1::Verdict* verdict);

// Curves of the uninterrupted run (attempt 0) and of each attempt. Of a verdict
// without findings only the loss.
void AddCurves(const Context& context, const Lineage& lineage,
               v1::Verdict* verdict);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_VERDICT_CURVES_H_
