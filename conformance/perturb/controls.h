// Controls of a campaign, made from what a person says about the checkpoints:
//
//   --perturb=reprise                 a Reprise run folder
//   --perturb='my_tool'               `my_tool --list` prints items, one a
//   line;
//                                     `my_tool --run_folder=D --item=NAME`
//                                     loses one (exit code 10: not there)
//   --drop='optim.moments=*/optimizer.pt'
//                                     an item that is a file of its own: files
//                                     whose path in the run folder matches
//                                     (?, * and [] as in a shell, * also over
//                                     /) are removed before the resume
#ifndef REPRISE_CONFORMANCE_PERTURB_CONTROLS_H_
#define REPRISE_CONFORMANCE_PERTURB_CONTROLS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "conformance/runner/campaign.h"

namespace reprise::conformance {

// `perturb`: "", "reprise" or a command line. `drops`: ITEM=PATTERN each. A
// control is named after its item, and "weights-only" loses all but the
// weights. Errors: InvalidArgument for an item that no inventory has, a pattern
// that is missing, or a command that does not list items.
absl::StatusOr<std::vector<Control>> MakeControls(
    const std::string& perturb, const std::vector<std::string>& drops);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_PERTURB_CONTROLS_H_
