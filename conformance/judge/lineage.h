// First question of a verdict: which checkpoint did each attempt take up, was
// it the right one, and did the run come to its end?
#ifndef REPRISE_CONFORMANCE_JUDGE_LINEAGE_H_
#define REPRISE_CONFORMANCE_JUDGE_LINEAGE_H_

#include "conformance/judge/context.h"

namespace reprise::conformance {

// Checks source, saves, step numbers and end of the subject, and brings its
// records to true step numbers. Findings name source:STALE, source:NONE,
// counters.step:LAG/LEAD/RESET, save:FAILED, run:SHORT, run:FAILED,
// run:PARTIAL.
Lineage CheckLineage(const Context& context, const LineageEvidence& subject);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_LINEAGE_H_
