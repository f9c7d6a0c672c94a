#include "conformance/report/terminal.h"

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "conformance/judge/judge.h"
#include "conformance/report/outcome.h"
#include "conformance/report/plain_words.h"

namespace reprise::conformance {
namespace {

const char* ColorOf(v1::VerdictOutcome outcome) {
  switch (ToneOf(outcome)) {
    case Tone::kPass:
      return "\033[32m";
    case Tone::kFail:
      return "\033[1;31m";
    case Tone::kWarn:
      return "\033[33m";
    case Tone::kMute:
      break;
  }
  return "\033[2m";
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
  absl::StrAppend(
      out, "  ",
      Paint(absl::StrFormat("%-13s", OutcomeText(verdict.outcome())),
            ColorOf(verdict.outcome()), options.color),
      " ", absl::StrFormat("%-26s", result.case_name()), " ",
      verdict.findings_size() > 0 ? absl::StrJoin(NamesOf(verdict), ", ")
                                  : verdict.summary(),
      "\n");
}

// What a name means, what shows it, and how to see it again: once, from the
// first case that has it.
void AppendName(const std::string& name, const Loss& loss,
                const TerminalOptions& options, std::string* out) {
  const v1::CaseResult& result = *loss.result;
  absl::StrAppend(out, "\n", Paint(name, "\033[1m", options.color), "  in ",
                  loss.cases, loss.cases == 1 ? " case\n" : " cases\n",
                  Wrap(FindingInWords(*loss.finding), "  "),
                  Wrap(absl::StrCat(result.profile(), "/", result.case_name(),
                                    ", ", loss.finding->evidence()),
                       "  "));
  const std::string look = WhereToLook(loss.finding->names(0));
  if (!look.empty()) absl::StrAppend(out, Wrap(look, "  "));
  if (!result.replay_command().empty()) {
    absl::StrAppend(out, "  again: ", result.replay_command(), "\n");
  }
}

}  // namespace

std::string RenderTerminal(const v1::Report& report,
                           const TerminalOptions& options) {
  std::string out;
  std::string profile = "\n";
  // Profile, reason, cases.
  std::map<std::string, std::map<std::string, int>> not_run;
  for (const v1::CaseResult& result : report.results()) {
    const v1::VerdictOutcome outcome = result.verdict().outcome();
    if (!options.all_cases && (outcome == v1::PASS || outcome == v1::SKIP)) {
      continue;
    }
    // Hundreds of cases that time did not suffice for are one line.
    if (outcome == v1::NOT_RUN && !options.all_cases) {
      ++not_run[result.profile()][result.verdict().summary()];
      continue;
    }
    if (result.profile() != profile) {
      profile = result.profile();
      absl::StrAppend(&out, ProfileText(profile), "\n");
    }
    AppendCase(result, options, &out);
  }
  for (const auto& [where, reasons] : not_run) {
    for (const auto& [reason, cases] : reasons) {
      absl::StrAppend(&out, "  ",
                      Paint(absl::StrFormat("%-13s", OutcomeText(v1::NOT_RUN)),
                            ColorOf(v1::NOT_RUN), options.color),
                      " ", cases, cases == 1 ? " case" : " cases",
                      where.empty() ? "" : absl::StrCat(" of ", where), ": ",
                      reason, "\n");
    }
  }
  for (const auto& [name, loss] : Losses(report)) {
    AppendName(name, loss, options, &out);
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
  return out;
}

}  // namespace reprise::conformance
