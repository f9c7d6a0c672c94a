// Known failures. A case that fails exactly as an expectation says is XFAIL;
// one that passes is XPASS, and one that fails otherwise, or after the
// expectation has expired, stays FAIL with the reason why it is not excused.
//
// Example:
//
//   expectation {
//     case_pattern: "default/second_resume"
//     names: "sampler.cursor:STICKY"
//     reason: "the loader keeps the position it was loaded with; see its bug
//     list" expires: "2027-03-31"
//   }
#ifndef REPRISE_CONFORMANCE_EXPECTATIONS_EXPECTATIONS_H_
#define REPRISE_CONFORMANCE_EXPECTATIONS_EXPECTATIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "reprise/conformance/proto/v1/expectations.pb.h"
#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance {

// Errors: InvalidArgument with line and column, or for an expectation without
// pattern, names, reason or date, with a pattern that RE2 refuses, a name that
// is not item:FAULT, or a date that is not YYYY-MM-DD.
absl::StatusOr<v1::Expectations> ParseExpectations(absl::string_view text);

// The same from a file; errors name it. NotFound when there is none.
absl::StatusOr<v1::Expectations> ReadExpectations(const std::string& path);

// Applies them to the results of `report`, and adds a failing result for each
// expectation that matches no case. The first one that matches a case counts.
// `now` decides what has expired (UTC).
absl::Status ApplyExpectations(const v1::Expectations& expectations,
                               absl::Time now, v1::Report* report);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_EXPECTATIONS_EXPECTATIONS_H_
