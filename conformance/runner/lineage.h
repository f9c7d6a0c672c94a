// The folder of a campaign: where each file lies, and reading it back without
// the trainer. v1/record.proto shows the whole of it.
//
//   absl::StatusOr<CampaignFiles> campaign = ReadCampaign("/tmp/out");
//   for (const CaseFiles& one : campaign->cases)
//     for (const AttemptFiles& attempt : one.attempts)
//       ... attempt.record.outcome(), attempt.log.events ...
#ifndef REPRISE_CONFORMANCE_RUNNER_LINEAGE_H_
#define REPRISE_CONFORMANCE_RUNNER_LINEAGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "conformance/protocol/event_log.h"
#include "conformance/protocol/messages.h"
#include "reprise/conformance/runner/v1/record.pb.h"

namespace reprise::conformance {

// Paths in DIR/<profile>/<case>/attempt-N/.
struct AttemptPaths {
  std::string folder;
  std::string request;
  std::string events;
  std::string out;
  std::string err;
  std::string exit;
};
std::string CaseFolder(absl::string_view dir, absl::string_view profile,
                       absl::string_view case_name);
AttemptPaths PathsOfAttempt(const std::string& case_folder, int number);

// DIR's folder of run folders, which holds no records, and what lies in it for
// one case.
std::string WorkFolder(absl::string_view dir);
std::string WorkFolderOfCase(absl::string_view dir, absl::string_view profile,
                             absl::string_view case_name);

struct AttemptFiles {
  RunRequest request;
  v1::AttemptRecord record;
  // Empty when the attempt left none.
  EventLog log;
};

struct CaseFiles {
  v1::CasePlan plan;
  v1::CaseRecord record;
  // In order; only those that were started.
  std::vector<AttemptFiles> attempts;
};

struct CampaignFiles {
  Description description;
  v1::CampaignPlan plan;
  v1::CampaignRecord record;
  std::vector<CaseFiles> cases;
};

// One case. Errors: NotFound, or InvalidArgument for a file that is no such
// message, naming it.
absl::StatusOr<CaseFiles> ReadCase(const std::string& case_folder);

// Everything of a campaign that ended, in the order in which cases ran. Cases
// that never ran have a record that says so and no attempts.
absl::StatusOr<CampaignFiles> ReadCampaign(const std::string& dir);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_LINEAGE_H_
