#include "conformance/report/terminal.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "conformance/judge/context.h"
#include "conformance/report/outcome.h"
#include "conformance/report/plain_words.h"

namespace reprise::conformance {
namespace {

const char* ColorOf(v1::VerdictOutcome outcome) {
  switch (outcome) {
    case v1::PASS:
      return "\033[32m";
    case v1::FAIL:
    case v1::XPASS:
    case v1::HARNESS_ERROR:
      return "\033[1;31m";
    case v1::FLAKY:
    case v1::INCONCLUSIVE:
      return "\033[33m";
    default:
      return "\033[2m";
  }
}

std::string Paint(const std::string& text, const char* color, bool on) {
  return on ? absl::StrCat(color, text, "\033[0m") : text;
}

// Ends lines at 100 columns, at spaces, with `indent` in front of each.
std::string Wrap(const std::string& text, const std::string& indent) {
  constexpr size_t kColumns = 100;
  std::string out, line = indent;
  bool empty = true;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(at, end - at);
    if (!empty && line.size() + 1 + word.size() > kColumns) {
      absl::StrAppend(&out, line, "\n");
      line = indent;
      empty = true;
    }
    absl::StrAppend(&line, empty ? "" : " ", word);
    empty = false;
    at = end + 1;
  }
  return absl::StrCat(out, line, "\n");
}

void AppendCase(const v1::CaseResult& result, const TerminalOptions& options,
                std::string* out) {
  const v1::Verdict& verdict = result.verdict();
  absl::StrAppend(out, "  ",
                  Paint(absl::StrFormat("%-13s", OutcomeText(verdict.outcome())),
                        ColorOf(verdict.outcome()), options.color),
                  " ", result.profile(), result.profile().empty() ? "" : "/",
                  result.case_name(), "\n");
  if (verdict.outcome() == v1::PASS && !options.all_cases) return;
  if (verdict.findings_size() == 0) {
    absl::StrAppend(out, Wrap(verdict.summary(), "                "));
  }
  for (const v1::Finding& finding : verdict.findings()) {
    absl::StrAppend(out, "                ",
                    Paint(NamesText(finding), "\033[1m", options.color), "\n",
                    Wrap(FindingInWords(finding), "                  "),
                    Wrap(finding.evidence(), "                  "));
  }
  for (const std::string& remark : result.remarks()) {
    absl::StrAppend(out, Wrap(remark, "                "));
  }
  if (!result.replay_command().empty() && verdict.outcome() != v1::PASS &&
      verdict.outcome() != v1::SKIP) {
    absl::StrAppend(out, "                again: ", result.replay_command(),
                    "\n");
  }
}

}  // namespace

std::string RenderTerminal(const v1::Report& report,
                           const TerminalOptions& options) {
  std::string out;
  std::string profile = "\n";
  for (const v1::CaseResult& result : report.results()) {
    const v1::VerdictOutcome outcome = result.verdict().outcome();
    if (!options.all_cases && (outcome == v1::PASS || outcome == v1::SKIP)) {
      continue;
    }
    if (result.profile() != profile) {
      profile = result.profile();
      absl::StrAppend(&out, profile.empty() ? "campaign" : profile, "\n");
    }
    AppendCase(result, options, &out);
  }
  std::vector<std::string> counts;
  for (const auto& [outcome, count] : CountOutcomes(report)) {
    counts.push_back(absl::StrCat(count, " ", OutcomeText(outcome)));
  }
  const bool passed = Passed(report);
  absl::StrAppend(&out, out.empty() ? "" : "\n",
                  Paint(passed ? "PASS" : "FAIL",
                        ColorOf(passed ? v1::PASS : v1::FAIL), options.color),
                  "  ", report.testee().empty() ? "testee" : report.testee(),
                  ": ", absl::StrJoin(counts, ", "), "\n");
  for (const auto& [name, cases] : LostNames(report)) {
    absl::StrAppend(&out, "      lost: ",
                    Paint(name, "\033[1m", options.color), "  (", cases,
                    cases == 1 ? " case)\n" : " cases)\n");
  }
  return out;
}

}  // namespace reprise::conformance
