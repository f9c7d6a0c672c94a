// Command-line flags of a campaign, shared by every program that runs one; each
// flag's help is beside its definition.
#ifndef REPRISE_CONFORMANCE_RUNNER_CAMPAIGN_FLAGS_H_
#define REPRISE_CONFORMANCE_RUNNER_CAMPAIGN_FLAGS_H_

#include <vector>

#include "absl/flags/declare.h"
#include "absl/status/statusor.h"
#include "conformance/runner/campaign.h"

ABSL_DECLARE_FLAG(uint64_t, kills);

namespace reprise::conformance {

// Options from the flags and from what absl::ParseCommandLine left: the
// testee's command, when it was given after "--". From then on SIGINT, SIGTERM
// and SIGHUP stop the campaign, a second one ends the process. Errors:
// InvalidArgument that names the flag.
absl::StatusOr<CampaignOptions> CampaignFromFlags(
    const std::vector<char*>& rest);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_CAMPAIGN_FLAGS_H_
