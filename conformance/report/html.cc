#include "conformance/report/html.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "conformance/judge/context.h"
#include "conformance/judge/judge.h"
#include "conformance/report/html_style.h"
#include "conformance/report/junit.h"
#include "conformance/report/outcome.h"
#include "conformance/report/plain_words.h"
#include "conformance/report/plot.h"

namespace reprise::conformance {
namespace {

std::string Escape(const std::string& text) { return EscapeXml(text); }

const char* ClassOf(v1::VerdictOutcome outcome) {
  switch (ToneOf(outcome)) {
    case Tone::kPass:
      return "pass";
    case Tone::kFail:
      return "fail";
    case Tone::kWarn:
      return "warn";
    case Tone::kMute:
      break;
  }
  return "mute";
}

std::string Badge(v1::VerdictOutcome outcome, const std::string& text = "") {
  return absl::StrCat("<span class=\"badge ", ClassOf(outcome), "\">",
                      text.empty() ? OutcomeText(outcome) : text, "</span>");
}

std::string Plural(uint64_t count, const std::string& word) {
  return absl::StrCat(count, " ", word, count == 1 ? "" : "s");
}

class Page {
 public:
  explicit Page(const v1::Report& report) : report_(report) {}

  std::string Render() {
    const std::string testee =
        report_.testee().empty() ? "testee" : report_.testee();
    Put("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width,"
        "initial-scale=1\"><title>",
        Passed(report_) ? "PASS" : "FAIL", " \xC2\xB7 ", Escape(testee),
        "</title><style>", kStyle, "</style></head><body><main>");
    Header(testee);
    Table();
    Footer();
    Put("</main></body></html>\n");
    return out_;
  }

 private:
  template <typename... Parts>
  void Put(const Parts&... parts) {
    absl::StrAppend(&out_, parts...);
  }

  void Header(const std::string& testee) {
    const bool passed = Passed(report_);
    uint64_t resumes = 0, records = 0;
    for (const v1::CaseResult& result : report_.results()) {
      resumes += result.verdict().resumes_size();
      records += result.verdict().records();
    }
    Put("<header class=\"", passed ? "pass" : "fail",
        "\"><p class=\"eyebrow\">Resume conformance of ", Escape(testee), " ",
        Escape(report_.testee_version()), "</p><h1>");
    const std::map<std::string, Loss> lost = Losses(report_);
    if (passed) {
      Put("<b>Pass.</b> Wherever it was killed here, the resumed run is the "
          "run "
          "that was never killed.");
    } else if (!lost.empty()) {
      Put("<b>Fail.</b> ",
          lost.size() == 1 ? "Something is" : "Some things are",
          " lost between a kill and the resume.");
    } else {
      Put("<b>Not shown.</b> Nothing was found lost, and not every case could "
          "be decided.");
    }
    Put("</h1><p>", Plural(resumes, "resume"), " judged, ",
        Plural(records, "record"), " compared with uninterrupted runs.");
    const int skipped = CountOutcomes(report_)[v1::SKIP];
    if (skipped > 0) {
      Put(" ", Plural(skipped, "case"), " left out: the trainer lacks what ",
          skipped == 1 ? "it needs" : "they need",
          ", or the number of kills was used up.");
    }
    Put("</p>");
    if (!lost.empty()) {
      Put("<ul class=\"lost\">");
      for (const auto& [name, loss] : lost) {
        Put("<li><span class=\"badge fail name\">", Escape(name),
            "</span><span>", Escape(FindingInWords(*loss.finding)),
            " \xC2\xB7 in ", Plural(loss.cases, "case"), "</span></li>");
      }
      Put("</ul>");
    }
    Put("<ul class=\"chips\">");
    for (const auto& [outcome, count] : CountOutcomes(report_)) {
      Put("<li>",
          Badge(outcome, absl::StrCat(count, " ", OutcomeText(outcome))),
          " <small class=\"said\">", OutcomeMeaning(outcome), "</small></li>");
    }
    Put("</ul></header>");
  }

  void Table() {
    for (const ProfileResults& profile : ByProfile(report_)) {
      std::vector<const v1::CaseResult*> cases = profile.cases;
      int passed = 0, skipped = 0;
      for (const v1::CaseResult* result : cases) {
        passed += result->verdict().outcome() == v1::PASS;
        skipped += result->verdict().outcome() == v1::SKIP;
      }
      Put("<h2>", Escape(profile.name), "<small>", passed, " of ",
          Plural(cases.size() - skipped, "case"), " passed",
          skipped > 0 ? absl::StrCat(", ", skipped, " skipped") : "",
          "</small></h2><div class=\"card\">");
      Strip(cases);
      // What failed first, then in the order in which it ran.
      std::stable_sort(cases.begin(), cases.end(),
                       [](const v1::CaseResult* a, const v1::CaseResult* b) {
                         return ToneOf(a->verdict().outcome()) <
                                ToneOf(b->verdict().outcome());
                       });
      bool opened = false;
      std::vector<const v1::CaseResult*> left_out;
      for (const v1::CaseResult* result : cases) {
        if (result->verdict().outcome() == v1::SKIP) {
          left_out.push_back(result);
          continue;
        }
        // The first failure is open, so that the page shows what it found.
        const bool open =
            !opened_ && !opened && result->verdict().findings_size() > 0;
        opened |= open;
        Case(*result, open);
      }
      opened_ |= opened;
      LeftOut(left_out);
      Put("</div>");
    }
  }

  void LeftOut(const std::vector<const v1::CaseResult*>& cases) {
    if (cases.empty()) return;
    Put("<details class=\"case\"><summary><span>", Badge(v1::SKIP),
        "</span><span class=\"case-name\">", Plural(cases.size(), "case"),
        "</span><span class=\"said\">not run, and why</span></summary>"
        "<div class=\"body\"><table>");
    for (const v1::CaseResult* result : cases) {
      Put("<tr><td class=\"case-name\">", Escape(result->case_name()),
          "</td><td class=\"said\">", Escape(result->verdict().summary()),
          "</td></tr>");
    }
    Put("</table></div></details>");
  }

  // Where along the run it was resumed, and how that ended.
  void Strip(const std::vector<const v1::CaseResult*>& cases) {
    uint64_t last = 0;
    for (const v1::CaseResult* result : cases) {
      for (const v1::Curve& curve : result->verdict().curves()) {
        if (curve.step_size() > 0) {
          last = std::max(last, curve.step(curve.step_size() - 1));
        }
      }
    }
    if (last == 0) return;
    constexpr double kWidth = 1040, kLeft = 16, kRight = 16;
    auto x = [&](uint64_t step) {
      return kLeft + static_cast<double>(step) / static_cast<double>(last) *
                         (kWidth - kLeft - kRight);
    };
    std::map<uint64_t, int> stacked;
    std::string marks;
    int rows = 1;
    for (const v1::CaseResult* result : cases) {
      for (const v1::ResumePoint& resume : result->verdict().resumes()) {
        const uint64_t column = resume.resumed_step() * 100 / last;
        const int row = stacked[column]++;
        rows = std::max(rows, row + 1);
        absl::StrAppendFormat(
            &marks,
            "<circle class=\"%s\" cx=\"%.1f\" cy=\"%d\" r=\"4\"><title>%s: "
            "resumed at step %d</title></circle>",
            ClassOf(result->verdict().outcome()), x(resume.resumed_step()),
            -6 - 10 * row, Escape(result->case_name()), resume.resumed_step());
      }
    }
    const int height = 10 * rows + 22;
    Put(absl::StrFormat(
        "<svg class=\"strip\" viewBox=\"0 %d %.0f %d\" role=\"img\" "
        "aria-label=\"resumes along the run\"><line class=\"axis\" "
        "x1=\"%.0f\" y1=\"0\" x2=\"%.0f\" y2=\"0\"/>%s<text class=\"tick\" "
        "x=\"%.0f\" y=\"14\">step 0</text><text class=\"tick\" x=\"%.0f\" "
        "y=\"14\" text-anchor=\"end\">step %d</text><text class=\"tick\" "
        "x=\"%.0f\" y=\"14\" text-anchor=\"middle\">each dot is a resume"
        "</text></svg>",
        -10 * rows - 4, kWidth, height, kLeft, kWidth - kRight, marks, kLeft,
        kWidth - kRight, last, kWidth / 2));
  }

  void Case(const v1::CaseResult& result, bool open) {
    const v1::Verdict& verdict = result.verdict();
    Put("<details class=\"case\"", open ? " open" : "", "><summary><span>",
        Badge(verdict.outcome()), "</span><span class=\"case-name\">",
        Escape(result.case_name()), "</span><span class=\"said\">");
    if (verdict.findings_size() > 0) {
      std::vector<std::string> names;
      for (const std::string& name : NamesOf(verdict)) {
        names.push_back(
            absl::StrCat("<span class=\"name\">", Escape(name), "</span>"));
      }
      Put(absl::StrJoin(names, ", "));
    } else {
      Put(Escape(verdict.summary()));
    }
    Put("</span></summary><div class=\"body\">");
    for (const std::string& remark : result.remarks()) {
      Put("<p>", Escape(Sentence(remark)), "</p>");
    }
    for (const v1::Finding& finding : verdict.findings()) Found(finding);
    Plots(verdict);
    Tables(verdict);
    for (const std::string& note : verdict.notes()) {
      Put("<p>", Escape(Sentence(note)), "</p>");
    }
    if (!result.replay_command().empty()) {
      Put("<h3>Run this case again</h3><code class=\"replay\">",
          Escape(result.replay_command()), "</code>");
    }
    Put("</div></details>");
  }

  static std::string Sentence(std::string text) {
    if (text.empty()) return text;
    text[0] = static_cast<char>(std::toupper(text[0]));
    if (text.back() != '.') text += '.';
    return text;
  }

  void Found(const v1::Finding& finding) {
    Put("<div class=\"finding\"><p><span class=\"name\">",
        Escape(NamesText(finding)), "</span></p><p>",
        Escape(FindingInWords(finding)), "</p><p class=\"evidence\">",
        Escape(Sentence(finding.evidence())), "</p><p class=\"where\">Seen in ",
        Escape(finding.channel()), ", attempt ", finding.attempt(),
        ", from step ", finding.onset_step());
    if (finding.again_in_attempts_size() > 0) {
      Put("; again in attempt ",
          absl::StrJoin(finding.again_in_attempts(), ", "));
    }
    Put(".");
    const std::string look = WhereToLook(finding.names(0));
    if (!look.empty()) Put(" ", Escape(look));
    Put("</p></div>");
  }

  // Loss always; with findings, every channel that one was seen in and those
  // next to it in the chain of causes.
  void Plots(const v1::Verdict& verdict) {
    if (verdict.curves_size() == 0) return;
    std::vector<std::string> channels = {"loss"};
    std::optional<uint64_t> divergence;
    auto add = [&channels](const std::string& channel) {
      if (std::find(channels.begin(), channels.end(), channel) ==
          channels.end()) {
        channels.push_back(channel);
      }
    };
    for (const v1::Finding& finding : verdict.findings()) {
      // What is wrong with the files that a run left shows in no curve.
      if (finding.channel() == kEndOfTheRun && finding.names_size() == 1 &&
          (finding.names(0).item() == Item::SAVE ||
           finding.names(0).item() == Item::BEST)) {
        continue;
      }
      if (!divergence.has_value() || finding.onset_step() < *divergence) {
        divergence = finding.onset_step();
      }
      add(finding.channel());
      for (const v1::FaultName& name : finding.names()) {
        const std::string item = reprise::TextOf(name.item());
        if (absl::StartsWith(item, "sched") || item == "optim.groups") {
          add("learning rate");
        }
        if (absl::StartsWith(item, "scaler")) add("loss scale");
        if (absl::StartsWith(item, "optim")) add("update norm");
        if (absl::StartsWith(item, "ema")) {
          add("evaluation loss of the averaged weights");
        }
        if (item == "model.buffers" || item == "best" || item == "early_stop") {
          add("evaluation loss");
        }
        if (item == "step") add("gradient norm");
      }
    }
    PlotOptions options;
    options.divergence = divergence;
    for (const v1::ResumePoint& resume : verdict.resumes()) {
      options.kills.push_back(resume.killed_after_step());
    }
    Legend(verdict, divergence.has_value());
    for (const std::string& channel : channels) {
      options.channel = channel;
      options.logarithmic = channel == "loss scale";
      options.from = options.to = 0;
      options.width = divergence.has_value() ? 680 : 1040;
      const std::string whole = RenderPlot(verdict, options);
      if (whole.empty()) continue;
      if (!divergence.has_value()) {
        Put(whole);
        continue;
      }
      options.from = *divergence > 12 ? *divergence - 12 : 1;
      options.to = *divergence + 28;
      options.width = 340;
      Put("<div class=\"pair\">", whole, RenderPlot(verdict, options),
          "</div>");
    }
  }

  void Legend(const v1::Verdict& verdict, bool divergence) {
    std::set<uint32_t> attempts;
    for (const v1::Curve& curve : verdict.curves()) {
      attempts.insert(curve.attempt());
    }
    Put("<div class=\"legend\">");
    for (uint32_t attempt : attempts) {
      if (attempt == 0) {
        Put("<span><i style=\"border-color:var(--base);border-top-width:6px\">"
            "</i>uninterrupted</span>");
      } else {
        Put("<span><i style=\"border-color:var(--a", 1 + (attempt - 1) % 5,
            ")\"></i>attempt ", attempt, "</span>");
      }
    }
    Put("<span><i class=\"dash\" style=\"border-color:var(--soft)\"></i>kill"
        "</span>");
    if (divergence) {
      Put("<span><i style=\"border-color:var(--fail)\"></i>first difference"
          "</span>");
    }
    Put("</div>");
  }

  void Tables(const v1::Verdict& verdict) {
    if (verdict.resumes_size() == 0 && verdict.power_size() == 0) return;
    Put("<div class=\"two\">");
    if (verdict.resumes_size() > 0) {
      Put("<div><h3>Resumes</h3><table><tr><th class=\"num\">attempt</th>"
          "<th>before it</th><th class=\"num\">last step</th>"
          "<th class=\"num\">resumed at</th><th class=\"num\">replayed</th>"
          "<th class=\"num\">beyond</th></tr>");
      for (const v1::ResumePoint& resume : verdict.resumes()) {
        Put("<tr><td class=\"num\">", resume.attempt(), "</td><td>",
            Escape(resume.how()), "</td><td class=\"num\">",
            resume.killed_after_step(), "</td><td class=\"num\">",
            resume.resumed_step(), "</td><td class=\"num\">",
            resume.replayed_steps(), "</td><td class=\"num\">",
            resume.baseline_steps(), "</td></tr>");
      }
      Put("</table></div>");
    }
    if (verdict.tolerances_size() > 0) {
      Put("<div><h3>How closely it is compared</h3><table>");
      std::vector<std::string> exact;
      for (const v1::Tolerance& tolerance : verdict.tolerances()) {
        if (tolerance.exact()) {
          exact.push_back(tolerance.channel());
          continue;
        }
        Put("<tr><td>", Escape(tolerance.channel()), "</td><td>within ",
            absl::StrFormat("%.2g", tolerance.threshold()),
            " (equal runs differ by up to ",
            absl::StrFormat("%.2g", tolerance.measured()), ")</td></tr>");
      }
      if (!exact.empty()) {
        Put("<tr><td class=\"key\">to the last bit</td><td>",
            Escape(absl::StrJoin(exact, ", ")), "</td></tr>");
      }
      Put("</table></div>");
    }
    if (verdict.power_size() > 0) {
      Put("<div><h3>Would a loss have shown?</h3><table>");
      for (const v1::Power& power : verdict.power()) {
        Put("<tr><td>",
            power.status() == v1::Power::SHOWN ? Badge(v1::PASS, "shown")
            : power.status() == v1::Power::NOT_SHOWN
                ? Badge(v1::FLAKY, "not shown")
                : Badge(v1::SKIP, "nothing there"),
            "</td><td>", Escape(power.text()), "</td></tr>");
      }
      Put("</table></div>");
    }
    Put("</div>");
  }

  void Footer() {
    Put("<footer>");
    if (!report_.command().empty()) {
      Put("<p>Everything again: <code>", Escape(report_.command()),
          "</code></p>");
    }
    if (!report_.started().empty())
      Put("<p>", Escape(report_.started()), "</p>");
    Put("<p>A verdict reads <code>item:FAULT</code>. Only PASS passes: a case "
        "that could not show a loss is INCONCLUSIVE.</p></footer>");
  }

  const v1::Report& report_;
  std::string out_;
  bool opened_ = false;
};

}  // namespace

std::string RenderHtml(const v1::Report& report) {
  return Page(report).Render();
}

}  // namespace reprise::conformance
