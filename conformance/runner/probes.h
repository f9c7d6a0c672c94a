// Honesty probes: questions whose right answer is known beforehand, asked
// before anything is judged. A testee that fails one can prove nothing.
// conformance/PROTOCOL.md lists them; those that need a kill are cases of the
// plan (after_commit, term), and the others are here:
//
//   unknown_workload, unknown_feature, other_protocol
//                       exit code 10, nothing made in the run folder
//   required_on_empty   REQUIRED on an empty folder: an error, no fresh run
//   unknown_field       is ignored
//   finished_again      a finished run asked for again: code 0, no step
#ifndef REPRISE_CONFORMANCE_RUNNER_PROBES_H_
#define REPRISE_CONFORMANCE_RUNNER_PROBES_H_

#include <vector>

#include "conformance/runner/case_runner.h"

namespace reprise::conformance {

// Runs all of them below DIR/probes/NAME, whose files are those of a case.
// `base`: the request that they are variations of.
std::vector<v1::ProbeRecord> RunProbes(const CaseSettings& settings,
                                       const RunRequest& base);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_PROBES_H_
