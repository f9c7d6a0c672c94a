// A report as JUnit XML: one test suite a profile, one test case a case.
#ifndef REPRISE_CONFORMANCE_REPORT_JUNIT_H_
#define REPRISE_CONFORMANCE_REPORT_JUNIT_H_

#include <string>

#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance {

// FAIL, XPASS, FLAKY and INCONCLUSIVE are <failure>, HARNESS_ERROR and NOT_RUN
// <error>, SKIP and XFAIL <skipped>. Characters that XML forbids become "?".
std::string RenderJunit(const v1::Report& report);

// Text with the five special characters as entities.
std::string EscapeXml(const std::string& text);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_REPORT_JUNIT_H_
