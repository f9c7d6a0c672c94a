// Outcomes as people read them, and what they mean for the whole.
#ifndef REPRISE_CONFORMANCE_REPORT_OUTCOME_H_
#define REPRISE_CONFORMANCE_REPORT_OUTCOME_H_

#include <map>
#include <string>

#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance {

// "PASS", "NOT RUN", ...
std::string OutcomeText(v1::VerdictOutcome outcome);

// One sentence for people who meet the word for the first time.
std::string OutcomeMeaning(v1::VerdictOutcome outcome);

// How many cases ended so, in the order of the enum.
std::map<v1::VerdictOutcome, int> CountOutcomes(const v1::Report& report);

// The whole passed: at least one PASS, and besides it only SKIP (the testee
// lacks what the case needs, or the person's budget left it out) and XFAIL (a
// failure that is known and unchanged).
bool Passed(const v1::Report& report);

// Every name lost anywhere, with the number of cases, as NamesOf gives them.
std::map<std::string, int> LostNames(const v1::Report& report);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_REPORT_OUTCOME_H_
