// Last question of a verdict: does the run that ended mark the checkpoint as
// its best that the uninterrupted run marks?
#ifndef REPRISE_CONFORMANCE_JUDGE_BEST_MARK_H_
#define REPRISE_CONFORMANCE_JUDGE_BEST_MARK_H_

#include <optional>

#include "conformance/judge/context.h"

namespace reprise::conformance {

// best:CHANGED where the last attempt's end event marks another checkpoint than
// the baseline's, or none. Compared by the step saved, since checkpoints of two
// runs have names of their own; not where the subject did not commit the step
// that the baseline marks, nor where evaluations of equal runs differ, and a
// missing mark only where both runs saved at the same steps, since retention
// may have removed the checkpoint otherwise. Ask only of a finished subject
// with no other finding: every fault may move the mark.
std::optional<v1::Finding> CheckBestMark(const Context& context,
                                         const Lineage& subject);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_BEST_MARK_H_
