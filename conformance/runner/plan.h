// Which interruptions a campaign tries: a pure function of what the testee says
// about itself, of its uninterrupted runs, of a seed and of a budget.
//
//   std::vector<v1::ProfilePlan> profiles = PlanProfiles(description, request);
//   ... run the baselines of each profile, fill in its geometry ...
//   PlanCases(description, {/*seed=*/7, /*kills=*/60}, &profiles);
//
// The grid comes first: inside the first epoch, at its end, inside a later one,
// at its end, in mid-accumulation, around a skipped step, and a second resume
// in the same epoch. Real trainers are right at one of them and wrong at the
// next. Then every point at which the testee can be held, then loads, prunes
// and SIGTERM, then random kills for the rest of the budget.
//
// Kills fall a few steps behind a commit wherever that is possible: the resumed
// run then repeats steps of which the same run has left a record.
//
// What a case does depends on the seed, its profile and its name only, never on
// the budget or on other cases.
#ifndef REPRISE_CONFORMANCE_RUNNER_PLAN_H_
#define REPRISE_CONFORMANCE_RUNNER_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/protocol/messages.h"
#include "reprise/conformance/runner/v1/record.pb.h"

namespace reprise::conformance {

struct PlanBudget {
  uint64_t seed = 1;
  // Planned interruptions at most; what does not fit is listed as left out.
  uint64_t kills = 40;
};

// "default", then "accumulation" and "overflow" where the testee has those
// features. `base`: what every request shares (seed, steps, workload, ...); a
// base that asks for accumulation or overflow itself is left as it is and has
// the default profile only. The overflow profile has no injected steps yet: see
// PlaceOverflows.
std::vector<v1::ProfilePlan> PlanProfiles(const Description& description,
                                          const RunRequest& base);

// Chooses the steps to inject, given the geometry of the default profile: one
// shortly before a save, so that its effect is in the file, and one between two
// saves, so that it is repeated after a resume.
void PlaceOverflows(const v1::Geometry& geometry, v1::ProfilePlan* overflow);

// "baseline-1", "baseline-2" with the same seed, and "baseline-3" for a testee
// that says ROUNDING or LOOSE: pairs of its runs differ by different amounts.
// The default profile also has "baseline-other-seed".
std::vector<v1::CasePlan> PlanBaselines(const Description& description,
                                        const v1::ProfilePlan& profile);

// Fills in `cases` and `left_out` of every profile whose geometry has steps.
void PlanCases(const Description& description, const PlanBudget& budget,
               std::vector<v1::ProfilePlan>* profiles);

// The order in which cases are to run: the grid of all profiles first.
// Baselines are not among them.
std::vector<const v1::CasePlan*> RunningOrder(
    const std::vector<v1::ProfilePlan>& profiles);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_PLAN_H_
