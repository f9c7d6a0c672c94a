#include "conformance/report/verify.h"

#include <unistd.h>

#include <cstdio>

#include "absl/time/clock.h"
#include "conformance/expectations/expectations.h"
#include "conformance/judge/judge_campaign.h"
#include "conformance/report/terminal.h"
#include "conformance/report/write_report.h"
#include "conformance/runner/lineage.h"

namespace reprise::conformance {

absl::StatusOr<v1::Report> Verify(const VerifyOptions& options) {
  absl::StatusOr<CampaignFiles> files = ReadCampaign(options.folder);
  if (!files.ok()) return files.status();
  v1::Report report = JudgeCampaign(*files);
  report.set_started(options.started);
  absl::Status status =
      ApplyExpectations(options.expectations, absl::Now(), &report);
  if (!status.ok()) return status;
  if (!options.report_folder.empty()) {
    status = WriteReport(report, options.report_folder);
    if (!status.ok()) return status;
  }
  TerminalOptions terminal;
  terminal.color = isatty(STDOUT_FILENO) != 0;
  terminal.all_cases = options.all_cases;
  const std::string text = RenderTerminal(report, terminal);
  fwrite(text.data(), 1, text.size(), stdout);
  fflush(stdout);
  return report;
}

}  // namespace reprise::conformance
