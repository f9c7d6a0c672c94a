// A campaign: describes a testee, runs it uninterrupted, kills and resumes it
// as planned, and leaves a folder from which a judge can tell what was lost.
//
//   CampaignOptions options;
//   options.testee = *Testee::FromLine("python3 testee.py");
//   options.out = "/tmp/out";          // must be new or empty
//   options.seed = 7;
//   options.kills = 40;
//   options.time = absl::Minutes(10);
//   absl::StatusOr<CampaignResult> result = RunCampaign(options);
//
// v1/record.proto shows the folder; lineage.h reads it back. It says how
// attempts ended, not whether the resumed run is the uninterrupted one.
// Nothing of the testee runs when RunCampaign returns or its process dies.
#ifndef REPRISE_CONFORMANCE_RUNNER_CAMPAIGN_H_
#define REPRISE_CONFORMANCE_RUNNER_CAMPAIGN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "conformance/runner/attempt.h"
#include "conformance/runner/case_runner.h"
#include "conformance/runner/progress.h"
#include "conformance/runner/testee.h"

namespace reprise::conformance {

// A checkpoint edited on purpose, to show that the loss of one item is noticed.
struct Control {
  // Of [a-z0-9_.-]; becomes the case "control-NAME".
  std::string name;
  // Edits the newest checkpoint in this run folder, before it is resumed.
  std::function<absl::Status(const std::string& run_folder)> edit;
};

struct CampaignOptions {
  Testee testee;
  // Absolute. Run folders are made in its "work".
  std::string out;
  uint64_t seed = 1;
  // Planned interruptions at most; baselines and repetitions are not counted.
  uint64_t kills = 40;
  // No attempt goes on beyond it; what was not run is listed.
  absl::Duration time = absl::InfiniteDuration();
  // What every request shares. Without a seed it gets 1.
  RunRequest base;
  // "profile/case" names; only these are run, with the baselines of their
  // profiles. Empty: all.
  std::vector<std::string> only;
  // Ask the honesty probes (probes.h) first.
  bool probe = true;
  // Resume the last checkpoint of the case `controlled_case`, of the default
  // profile, once for each.
  std::vector<Control> controls;
  std::string controlled_case = "inside_first_epoch";
  // How the command line of the harness begins, for replay commands.
  std::vector<std::string> own_command = {"campaign"};
  Deadlines deadlines;
  AttemptLimits limits;
  KeepRunFolders keep = KeepRunFolders::kOfBadCases;
  // Asked every few milliseconds; true stops the campaign.
  std::function<bool()> stopped;
  CampaignProgress::Surroundings progress =
      CampaignProgress::Surroundings::Real();
};

struct CampaignResult {
  std::string folder;
  v1::Description description;
  v1::CampaignPlan plan;
  v1::CampaignRecord record;

  // Every probe was passed, every case that was planned went as planned, and
  // something was killed.
  bool complete() const;
};

// Errors: InvalidArgument for options that make no sense, FailedPrecondition
// for a folder that is not empty, Internal when it cannot be written. A bad
// testee is no error: see the records.
absl::StatusOr<CampaignResult> RunCampaign(const CampaignOptions& options);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_CAMPAIGN_H_
