// Outcomes as people read them, and what they mean for the whole.
#ifndef REPRISE_CONFORMANCE_REPORT_OUTCOME_H_
#define REPRISE_CONFORMANCE_REPORT_OUTCOME_H_

#include <map>
#include <string>
#include <vector>

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

// A name that was lost somewhere, and where it is seen first.
struct Loss {
  int cases = 0;
  const v1::CaseResult* result = nullptr;
  const v1::Finding* finding = nullptr;
};

// Every name lost anywhere, as NamesOf gives them. They point into `report`.
std::map<std::string, Loss> Losses(const v1::Report& report);

// The cases of each profile, in the order in which they first appear.
struct ProfileResults {
  std::string name;
  std::vector<const v1::CaseResult*> cases;
};
std::vector<ProfileResults> ByProfile(const v1::Report& report);

// What people call the profile of a result: "campaign" when it has none.
std::string ProfileText(const std::string& profile);

// How bad an outcome is, the worst first.
enum class Tone { kFail, kWarn, kPass, kMute };
Tone ToneOf(v1::VerdictOutcome outcome);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_REPORT_OUTCOME_H_
