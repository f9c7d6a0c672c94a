// Many findings about one loss become one.
#ifndef REPRISE_CONFORMANCE_JUDGE_TIDY_H_
#define REPRISE_CONFORMANCE_JUDGE_TIDY_H_

#include <vector>

#include "conformance/judge/context.h"

namespace reprise::conformance {

// Leaves one finding for each name, in order of attempt and step: readings are
// settled (settle.h), what was seen again in a later attempt is noted with the
// first, and what follows from another finding goes (the order of samples from
// a wrong seed, an early end from a wrong count).
void TidyFindings(const Context& context, std::vector<v1::Finding>* findings);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_TIDY_H_
