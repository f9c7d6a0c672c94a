// From the folder that the runner left to a report, without the trainer.
//
//   absl::StatusOr<CampaignFiles> files = ReadCampaign("/tmp/out");
//   v1::Report report = JudgeCampaign(*files);
//
// Every case is judged against its profile's baselines; resumes of one and the
// same checkpoint give the noise floor; controls give the power. Baselines and
// controls get rows of their own. Thread-safe.
#ifndef REPRISE_CONFORMANCE_JUDGE_JUDGE_CAMPAIGN_H_
#define REPRISE_CONFORMANCE_JUDGE_JUDGE_CAMPAIGN_H_

#include <string>
#include <vector>

#include "conformance/judge/evidence.h"
#include "conformance/runner/lineage.h"
#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance {

v1::Report JudgeCampaign(const CampaignFiles& files);

// One attempt as the judge wants it.
AttemptEvidence ToEvidence(const AttemptFiles& attempt);

// Evidence for one case among the others of its campaign.
Evidence EvidenceForCase(const CampaignFiles& files, const CaseFiles& subject);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_JUDGE_CAMPAIGN_H_
