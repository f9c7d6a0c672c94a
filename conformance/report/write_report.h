// Writes a report's three files, and reads it back.
#ifndef REPRISE_CONFORMANCE_REPORT_WRITE_REPORT_H_
#define REPRISE_CONFORMANCE_REPORT_WRITE_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance {

// `folder`/report.json, report.html and junit.xml, each whole or not at all.
// Errors: Internal, naming the path.
absl::Status WriteReport(const v1::Report& report, const std::string& folder);

// Errors: NotFound, InvalidArgument, naming the path.
absl::StatusOr<v1::Report> ReadReport(const std::string& path);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_REPORT_WRITE_REPORT_H_
