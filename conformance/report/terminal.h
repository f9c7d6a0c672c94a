// A report for the terminal.
#ifndef REPRISE_CONFORMANCE_REPORT_TERMINAL_H_
#define REPRISE_CONFORMANCE_REPORT_TERMINAL_H_

#include <string>

#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance {

struct TerminalOptions {
  // ANSI colours; set it only when a terminal reads the text.
  bool color = false;
  // Every case, not only those that did not pass.
  bool all_cases = false;
};

std::string RenderTerminal(const v1::Report& report,
                           const TerminalOptions& options);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_REPORT_TERMINAL_H_
