// A report as one page of HTML that needs nothing else: no script from
// elsewhere, no font, no network.
#ifndef REPRISE_CONFORMANCE_REPORT_HTML_H_
#define REPRISE_CONFORMANCE_REPORT_HTML_H_

#include <string>

#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance {

std::string RenderHtml(const v1::Report& report);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_REPORT_HTML_H_
