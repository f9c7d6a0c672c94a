// The verdict: is the resumed run the uninterrupted one, and if not, what was
// lost?
//
// Example (a test as well):
//
//   reprise::conformance::Evidence evidence;
//   evidence.baselines = {uninterrupted, uninterrupted_again};
//   evidence.subject = killed_and_resumed;
//   reprise::conformance::v1::Verdict verdict =
//       reprise::conformance::Judge(evidence);
//   if (verdict.outcome() != reprise::conformance::v1::PASS) {
//     std::cout << verdict.summary() << "\n";  // "lost: scaler.scale:RESET"
//   }
//
// README.md says how it decides, what it demands and what it cannot tell apart.
// Judge is a pure function and thread-safe.
#ifndef REPRISE_CONFORMANCE_JUDGE_JUDGE_H_
#define REPRISE_CONFORMANCE_JUDGE_JUDGE_H_

#include <vector>

#include "conformance/judge/evidence.h"
#include "conformance/judge/finding.h"  // IWYU pragma: export
#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance {

// Never fails: evidence that says too little gives INCONCLUSIVE, none NOT_RUN.
v1::Verdict Judge(const Evidence& evidence);

// One verdict of the same case judged several times: the first when all have
// the same outcome and names, else FLAKY with the findings of all.
v1::Verdict CombineRepetitions(const std::vector<v1::Verdict>& verdicts);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_JUDGE_H_
