// Judges the folder of a campaign, without the trainer:
//
//   bazel run //conformance/runner:campaign -- --testee='COMMAND' --out=DIR
//   bazel run //conformance/suites:verify -- DIR
//
// Exit codes: 0 every case is a PASS; 12 one is not; 2 the folder is no
// campaign's; 1 usage.
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "conformance/judge/load_evidence.h"
#include "conformance/runner/command_line.h"
#include "conformance/runner/lineage.h"
#include "format/vocabulary.h"

namespace reprise::conformance {
namespace {

int Verify(const std::string& folder) {
  const auto campaign = ReadCampaign(folder);
  if (!campaign.ok()) {
    std::fprintf(stderr, "verify: %s\n",
                 std::string(campaign.status().message()).c_str());
    return ExitCode::EXIT_BAD_REQUEST;
  }
  std::printf("%s %s\n", campaign->description.name().c_str(),
              campaign->description.version().c_str());
  std::map<std::string, int> counts;
  int not_passed = 0;
  for (const JudgedCase& one : JudgeCampaign(*campaign)) {
    const std::string outcome = v1::VerdictOutcome_Name(one.verdict.outcome());
    ++counts[outcome];
    std::printf("  %-13s %-36s %s\n", outcome.c_str(),
                (one.profile + "/" + one.name).c_str(),
                one.verdict.summary().c_str());
    if (one.verdict.outcome() == v1::PASS) continue;
    ++not_passed;
    for (const v1::Finding& finding : one.verdict.findings()) {
      std::printf("      attempt %u, from step %llu, %s: %s\n",
                  finding.attempt(),
                  static_cast<unsigned long long>(finding.onset_step()),
                  finding.channel().c_str(), finding.evidence().c_str());
    }
    if (!one.replay.empty()) {
      std::printf("      again: %s\n", one.replay.c_str());
    }
  }
  for (const auto& [outcome, count] : counts) {
    std::printf("%d %s  ", count, outcome.c_str());
  }
  std::printf("\n");
  return not_passed == 0 && !counts.empty() ? ExitCode::EXIT_DONE
                                            : ExitCode::EXIT_TRAINING_FAILED;
}

}  // namespace
}  // namespace reprise::conformance

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    std::fprintf(stderr, "usage: verify DIR   (the --out of a campaign)\n");
    return reprise::ExitCode::EXIT_USAGE;
  }
  const std::filesystem::path base = reprise::conformance::PersonsFolder();
  return reprise::conformance::Verify((base / argv[1]).string());
}
