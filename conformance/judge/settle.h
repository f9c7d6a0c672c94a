// One fault shows at every resume. Where the value of an item admits several at
// one resume, another resume, of this case or of the same testee's next one,
// may leave one of them.
#ifndef REPRISE_CONFORMANCE_JUDGE_SETTLE_H_
#define REPRISE_CONFORMANCE_JUDGE_SETTLE_H_

#include <vector>

#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance {

// Gives findings of one and the same item, from its digests, the one name that
// all their readings have in common, if there is exactly one.
void SettleReadings(const std::vector<v1::Finding*>& findings);

// The same within and across the cases of a report; summaries follow.
void SettleAcrossCases(v1::Report* report);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_SETTLE_H_
