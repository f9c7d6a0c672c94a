#include "conformance/report/junit.h"

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "conformance/judge/context.h"
#include "conformance/judge/judge.h"
#include "conformance/report/outcome.h"
#include "conformance/report/plain_words.h"

namespace reprise::conformance {
namespace {

// "failure", "error", "skipped" or "".
std::string ElementOf(v1::VerdictOutcome outcome) {
  switch (outcome) {
    case v1::PASS:
      return "";
    case v1::SKIP:
    case v1::XFAIL:
      return "skipped";
    case v1::HARNESS_ERROR:
    case v1::NOT_RUN:
      return "error";
    default:
      return "failure";
  }
}

std::string Details(const v1::CaseResult& result) {
  std::string text;
  for (const v1::Finding& finding : result.verdict().findings()) {
    absl::StrAppend(&text, NamesText(finding), ": ", FindingInWords(finding),
                    "\n  ", finding.evidence(), "\n");
  }
  for (const std::string& note : result.verdict().notes()) {
    absl::StrAppend(&text, note, "\n");
  }
  for (const std::string& remark : result.remarks()) {
    absl::StrAppend(&text, remark, "\n");
  }
  if (!result.replay_command().empty()) {
    absl::StrAppend(&text, "again: ", result.replay_command(), "\n");
  }
  return text;
}

void AppendCase(const v1::CaseResult& result, std::string* out) {
  absl::StrAppend(out, "    <testcase classname=\"conformance.",
                  EscapeXml(ProfileText(result.profile())), "\" name=\"",
                  EscapeXml(result.case_name()), "\" time=\"",
                  absl::StrFormat("%.3f", result.seconds()), "\"");
  const std::string element = ElementOf(result.verdict().outcome());
  if (element.empty()) {
    absl::StrAppend(out, "/>\n");
    return;
  }
  const std::vector<std::string> names = NamesOf(result.verdict());
  absl::StrAppend(
      out, ">\n      <", element, " message=\"",
      EscapeXml(absl::StrCat(OutcomeText(result.verdict().outcome()), ": ",
                             result.verdict().summary())),
      "\"");
  if (element != "skipped") {
    absl::StrAppend(
        out, " type=\"",
        EscapeXml(names.empty() ? OutcomeText(result.verdict().outcome())
                                : absl::StrJoin(names, ", ")),
        "\"");
  }
  absl::StrAppend(out, ">", EscapeXml(Details(result)), "</", element,
                  ">\n    </testcase>\n");
}

}  // namespace

std::string EscapeXml(const std::string& text) {
  std::string out;
  for (char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        // Strings of a message are UTF-8 already.
        if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
          out += '?';
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string RenderJunit(const v1::Report& report) {
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const ProfileResults& profile : ByProfile(report)) {
    std::map<std::string, int> counts;
    double seconds = 0;
    for (const v1::CaseResult* result : profile.cases) {
      ++counts[ElementOf(result->verdict().outcome())];
      seconds += result->seconds();
    }
    absl::StrAppend(&out, "  <testsuite name=\"", EscapeXml(profile.name),
                    "\" tests=\"", profile.cases.size(), "\" failures=\"",
                    counts["failure"], "\" errors=\"", counts["error"],
                    "\" skipped=\"", counts["skipped"], "\" time=\"",
                    absl::StrFormat("%.3f", seconds), "\">\n");
    for (const v1::CaseResult* result : profile.cases) {
      AppendCase(*result, &out);
    }
    absl::StrAppend(&out, "  </testsuite>\n");
  }
  return out + "</testsuites>\n";
}

}  // namespace reprise::conformance
