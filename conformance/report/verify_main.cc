// Recomputes every verdict of a campaign from its stored logs, without the
// trainer, and writes the report beside them.
//
//   bazel run //conformance/report:verify -- /tmp/out
//
// Exit codes: 0 the whole passed; 12 it did not; 2 the folder is not a
// campaign's; 1 usage.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/time/clock.h"
#include "conformance/expectations/expectations.h"
#include "conformance/judge/judge_campaign.h"
#include "conformance/report/outcome.h"
#include "conformance/report/terminal.h"
#include "conformance/report/write_report.h"
#include "conformance/runner/command_line.h"
#include "reprise/spec/vocabulary/v1/vocabulary.pb.h"

ABSL_FLAG(std::string, expectations, "",
          "text proto of failures that are known");
ABSL_FLAG(std::string, report, "",
          "folder for report.json, report.html and junit.xml; empty: DIR");
ABSL_FLAG(bool, all, false,
          "print every case, not only those that did not pass");
ABSL_FLAG(bool, write, true, "write the report's files");

namespace {

namespace vocabulary = ::reprise::vocabulary::v1;

int Fail(const absl::Status& status, int code) {
  fprintf(stderr, "verify: %s\n", std::string(status.message()).c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "recomputes the verdicts of a campaign from its folder.\n"
      "verify DIR");
  std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  if (rest.size() != 2) {
    fprintf(stderr, "usage: verify [--expectations=FILE] [--report=DIR] DIR\n");
    return vocabulary::EXIT_USAGE;
  }
  const std::filesystem::path here = reprise::conformance::PersonsFolder();
  const std::string folder = (here / rest[1]).string();
  absl::StatusOr<reprise::conformance::CampaignFiles> files =
      reprise::conformance::ReadCampaign(folder);
  if (!files.ok()) {
    return Fail(files.status(), vocabulary::EXIT_BAD_REQUEST);
  }
  reprise::conformance::v1::Report report =
      reprise::conformance::JudgeCampaign(*files);
  if (!absl::GetFlag(FLAGS_expectations).empty()) {
    absl::StatusOr<reprise::conformance::v1::Expectations> expectations =
        reprise::conformance::ReadExpectations(
            (here / absl::GetFlag(FLAGS_expectations)).string());
    if (!expectations.ok()) {
      return Fail(expectations.status(), vocabulary::EXIT_BAD_REQUEST);
    }
    absl::Status status = reprise::conformance::ApplyExpectations(
        *expectations, absl::Now(), &report);
    if (!status.ok()) return Fail(status, vocabulary::EXIT_BAD_REQUEST);
  }
  if (absl::GetFlag(FLAGS_write)) {
    const std::string out = absl::GetFlag(FLAGS_report).empty()
                                ? folder
                                : (here / absl::GetFlag(FLAGS_report)).string();
    absl::Status status = reprise::conformance::WriteReport(report, out);
    if (!status.ok()) return Fail(status, vocabulary::EXIT_TRAINING_FAILED);
  }
  reprise::conformance::TerminalOptions options;
  options.color = isatty(STDOUT_FILENO) != 0;
  options.all_cases = absl::GetFlag(FLAGS_all);
  const std::string text =
      reprise::conformance::RenderTerminal(report, options);
  fwrite(text.data(), 1, text.size(), stdout);
  return reprise::conformance::Passed(report)
             ? vocabulary::EXIT_DONE
             : vocabulary::EXIT_TRAINING_FAILED;
}
