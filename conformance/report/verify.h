// From a campaign's folder to its verdicts, without the trainer: judges the
// stored logs again, applies expectations, writes the report and prints the
// summary.
//
//   VerifyOptions options;
//   options.folder = "/tmp/out";
//   absl::StatusOr<v1::Report> report = Verify(options);
//   if (report.ok() && Passed(*report)) ...
#ifndef REPRISE_CONFORMANCE_REPORT_VERIFY_H_
#define REPRISE_CONFORMANCE_REPORT_VERIFY_H_

#include <string>

#include "absl/status/statusor.h"
#include "reprise/conformance/proto/v1/expectations.pb.h"
#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance {

struct VerifyOptions {
  // Of the campaign.
  std::string folder;
  // Failures that are known.
  v1::Expectations expectations;
  // Where report.json, report.html and junit.xml go; empty: nowhere.
  std::string report_folder;
  // Print every case, not only those that did not pass.
  bool all_cases = false;
  // When the campaign began, RFC 3339; empty: not said.
  std::string started;
};

// Prints the summary to stdout, in color on a terminal. Errors: NotFound and
// InvalidArgument when the folder is not a campaign's, naming the file;
// Internal when the report cannot be written.
absl::StatusOr<v1::Report> Verify(const VerifyOptions& options);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_REPORT_VERIFY_H_
