// Runs a campaign from the command line and leaves its folder.
//
//   bazel run //conformance/runner:campaign -- --out=/tmp/out --kills=40
//       --testee='python3 testee.py'
//
// Exit codes: 0 every case went as planned; 12 one did not, or the testee could
// not be described; 13 stopped by a signal or by the end of --minutes; 1 usage.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "conformance/runner/campaign.h"
#include "conformance/runner/campaign_flags.h"
#include "reprise/spec/vocabulary/v1/vocabulary.pb.h"

namespace {

namespace vocabulary = ::reprise::vocabulary::v1;

using ::reprise::conformance::CampaignOptions;
using ::reprise::conformance::CampaignResult;

int Usage(const absl::Status& status) {
  fprintf(stderr, "campaign: %s\n", std::string(status.message()).c_str());
  return vocabulary::EXIT_USAGE;
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "kills and resumes a trainer and records what it did.\n"
      "campaign --out=DIR --testee='COMMAND'");
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  absl::StatusOr<CampaignOptions> options =
      reprise::conformance::CampaignFromFlags(rest);
  if (!options.ok()) return Usage(options.status());
  options->own_command = {argv[0], "--out=OUT"};

  absl::StatusOr<CampaignResult> result =
      reprise::conformance::RunCampaign(*options);
  if (!result.ok()) return Usage(result.status());
  int planned = 0;
  for (const auto& one : result->record.cases()) planned += one.complete();
  printf("%d of %d cases went as planned; records in %s\n", planned,
         result->record.cases_size(), result->folder.c_str());
  if (result->record.stopped_early()) {
    printf("%s\n", result->record.reason().c_str());
    return vocabulary::EXIT_STOPPED_ON_REQUEST;
  }
  return result->complete() ? vocabulary::EXIT_DONE
                            : vocabulary::EXIT_TRAINING_FAILED;
}
