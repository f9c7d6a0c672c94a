// From the folder of a campaign to what the judge looks at.
//
//   absl::StatusOr<CampaignFiles> campaign = ReadCampaign("/tmp/out");
//   for (const JudgedCase& one : JudgeCampaign(*campaign)) {
//     std::cout << one.profile << "/" << one.name << " "
//               << one.verdict.summary() << "\n";
//   }
//
// Needs no trainer: the same folder gives the same verdicts anywhere.
#ifndef REPRISE_CONFORMANCE_JUDGE_LOAD_EVIDENCE_H_
#define REPRISE_CONFORMANCE_JUDGE_LOAD_EVIDENCE_H_

#include <string>
#include <vector>

#include "conformance/judge/evidence.h"
#include "conformance/runner/lineage.h"
#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance {

struct JudgedCase {
  std::string profile;
  std::string name;
  // The command that runs this case again.
  std::string replay;
  v1::Verdict verdict;
};

// What there is to judge the interrupted case `subject` by: its profile's
// baselines of the same seed, and cases that repeat its last resume.
Evidence EvidenceOf(const CampaignFiles& campaign, const CaseFiles& subject);

// A verdict for every case that is no baseline, in the campaign's order. A case
// that was not run is NOT_RUN; one that the harness itself spoiled is
// HARNESS_ERROR.
std::vector<JudgedCase> JudgeCampaign(const CampaignFiles& campaign);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_LOAD_EVIDENCE_H_
