#include <algorithm>
#include <cmath>
#include <string>

#include "conformance/judge/context.h"
#include "conformance/report/html.h"
#include "conformance/report/junit.h"
#include "conformance/report/outcome.h"
#include "conformance/report/plain_words.h"
#include "conformance/report/plot.h"
#include "conformance/report/terminal.h"
#include "conformance/report/write_report.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::CaseResult* AddCase(const std::string& name, v1::VerdictOutcome outcome,
                        v1::Report* report) {
  v1::CaseResult* result = report->add_results();
  result->set_profile("default");
  result->set_case_name(name);
  result->mutable_verdict()->set_outcome(outcome);
  result->mutable_verdict()->set_summary("said of " + name);
  return result;
}

v1::Report FailingReport() {
  v1::Report report;
  report.set_testee("some <trainer>");
  AddCase("calm", v1::PASS, &report);
  v1::CaseResult* result = AddCase("kill_63", v1::FAIL, &report);
  result->set_replay_command("campaign --only='default/kill_63' & co");
  v1::Finding* finding = result->mutable_verdict()->add_findings();
  finding->add_names()->set_item(Item::SCALER_SCALE);
  finding->mutable_names(0)->set_fault(Fault::FAULT_RESET);
  finding->set_attempt(2);
  finding->set_onset_step(61);
  finding->set_channel("loss scale");
  finding->set_evidence("the scale is 65536, 1024 expected");
  for (uint32_t attempt : {0u, 2u}) {
    v1::Curve* curve = result->mutable_verdict()->add_curves();
    curve->set_channel("loss scale");
    curve->set_attempt(attempt);
    for (uint64_t step = 60; step < 80; ++step) {
      curve->add_step(step);
      curve->add_value(attempt == 0 ? 1024 : 65536);
    }
  }
  return report;
}

TEST(Outcome, OnlyPassPasses) {
  for (int value = v1::PASS; value <= v1::NOT_RUN; ++value) {
    v1::Report report;
    AddCase("calm", v1::PASS, &report);
    const auto outcome = static_cast<v1::VerdictOutcome>(value);
    AddCase("other", outcome, &report);
    const bool harmless =
        outcome == v1::PASS || outcome == v1::SKIP || outcome == v1::XFAIL;
    EXPECT_EQ(Passed(report), harmless) << OutcomeText(outcome);
  }
}

TEST(Outcome, NothingButSkippedCasesIsNoPass) {
  v1::Report report;
  EXPECT_FALSE(Passed(report));
  AddCase("left_out", v1::SKIP, &report);
  EXPECT_FALSE(Passed(report));
}

TEST(PlainWords, HasWordsForEveryItemAndFault) {
  for (Item item : AllValues<Item>()) {
    EXPECT_NE(ItemInWords(item), reprise::TextOf(item));
  }
  for (Fault fault : AllValues<Fault>()) {
    EXPECT_NE(FaultInWords(fault), reprise::TextOf(fault));
  }
}

TEST(PlainWords, SayWhenTheyCannotTell) {
  v1::Finding finding;
  for (Item item : {Item::RNG_CPU, Item::RNG_CUDA}) {
    v1::FaultName* name = finding.add_names();
    name->set_item(item);
    name->set_fault(Fault::FAULT_RESET);
  }
  EXPECT_EQ(FindingInWords(finding),
            "One of these, and what was recorded cannot tell which: the CPU's "
            "random generator was set back to its first value; or the GPU's "
            "random generator was set back to its first value.");
}

TEST(Terminal, NamesWhatWasLostAndHowToSeeItAgain) {
  const std::string text = RenderTerminal(FailingReport(), {});
  EXPECT_THAT(text, HasSubstr("FAIL          kill_63"));
  EXPECT_THAT(text, HasSubstr("scaler.scale:RESET  in 1 case"));
  EXPECT_THAT(text, HasSubstr("the scale is 65536, 1024 expected"));
  EXPECT_THAT(text, HasSubstr("again: campaign --only='default/kill_63'"));
  EXPECT_THAT(text, HasSubstr("1 PASS, 1 FAIL"));
  EXPECT_THAT(text, Not(HasSubstr("calm")));
}

TEST(Terminal, UsesColoursOnlyWhenAsked) {
  EXPECT_THAT(RenderTerminal(FailingReport(), {}), Not(HasSubstr("\033")));
  EXPECT_THAT(RenderTerminal(FailingReport(), {true, false}),
              HasSubstr("\033[1;31m"));
}

TEST(Junit, HasARealFailureElement) {
  const std::string xml = RenderJunit(FailingReport());
  EXPECT_THAT(xml, HasSubstr("tests=\"2\" failures=\"1\" errors=\"0\" "
                             "skipped=\"0\""));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"FAIL: said of kill_63\" "
                             "type=\"scaler.scale:RESET\">"));
  EXPECT_THAT(xml, HasSubstr("--only=&#39;default/kill_63&#39; &amp; co"));
  EXPECT_THAT(xml, HasSubstr("name=\"calm\" time=\"0.000\"/>"));
}

TEST(Terminal, SaysOnceHowManyCasesWereNotRun) {
  v1::Report report;
  for (int i = 0; i < 300; ++i) AddCase("late", v1::NOT_RUN, &report);
  const std::string text = RenderTerminal(report, {});
  EXPECT_THAT(text, HasSubstr("300 cases"));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 5);
}

TEST(Junit, TellsErrorsAndSkipsFromFailures) {
  v1::Report report;
  AddCase("a", v1::HARNESS_ERROR, &report);
  AddCase("b", v1::NOT_RUN, &report);
  AddCase("c", v1::SKIP, &report);
  AddCase("d", v1::XFAIL, &report);
  AddCase("e", v1::INCONCLUSIVE, &report);
  AddCase("f", v1::FLAKY, &report);
  AddCase("g", v1::XPASS, &report);
  EXPECT_THAT(RenderJunit(report),
              HasSubstr("tests=\"7\" failures=\"3\" errors=\"2\" "
                        "skipped=\"2\""));
}

TEST(Junit, EscapesWhatXmlForbids) {
  EXPECT_EQ(EscapeXml("a<b>&\"'\x01\n"), "a&lt;b&gt;&amp;&quot;&#39;?\n");
}

TEST(Html, IsSelfContainedAndEscaped) {
  const std::string page = RenderHtml(FailingReport());
  EXPECT_THAT(page, HasSubstr("some &lt;trainer&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<trainer>")));
  for (const char* outside : {"http:", "https:", "src=", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
}

TEST(Html, ShowsTheFindingItsCurveAndTheReplay) {
  const std::string page = RenderHtml(FailingReport());
  EXPECT_THAT(page, HasSubstr("scaler.scale:RESET"));
  EXPECT_THAT(page, HasSubstr("The loss scale of the gradient scaler was set "
                              "back to its first value."));
  EXPECT_THAT(page,
              HasSubstr("aria-label=\"loss scale over attempted steps\""));
  EXPECT_THAT(page, HasSubstr("differs from 61"));
  EXPECT_THAT(page, HasSubstr("class=\"replay\""));
}

TEST(Html, MarksNoDifferenceInCurvesThatAreEqual) {
  v1::Report report = FailingReport();
  v1::Verdict* verdict = report.mutable_results(1)->mutable_verdict();
  v1::Finding* finding = verdict->mutable_findings(0);
  finding->mutable_names(0)->set_item(Item::BEST);
  finding->mutable_names(0)->set_fault(Fault::FAULT_CHANGED);
  finding->set_channel(kEndOfTheRun);
  for (v1::Curve& curve : *verdict->mutable_curves()) curve.set_channel("loss");
  const std::string page = RenderHtml(report);
  EXPECT_THAT(page, HasSubstr("best:CHANGED"));
  EXPECT_THAT(page, HasSubstr("aria-label=\"loss over attempted steps\""));
  EXPECT_THAT(page, Not(HasSubstr("differs from")));
}

TEST(Plot, LeavesGapsWhereValuesAreNotFinite) {
  v1::Verdict verdict;
  v1::Curve* curve = verdict.add_curves();
  curve->set_channel("loss");
  for (uint64_t step = 1; step <= 5; ++step) {
    curve->add_step(step);
    curve->add_value(step == 3 ? std::nan("") : static_cast<double>(step));
  }
  PlotOptions options;
  options.channel = "loss";
  const std::string svg = RenderPlot(verdict, options);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  const size_t path = svg.find(" d=\"");
  ASSERT_NE(path, std::string::npos);
  const std::string drawn = svg.substr(path, svg.find('"', path + 4) - path);
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), 'M'), 2) << drawn;
}

TEST(Plot, IsEmptyWithoutTheChannel) {
  PlotOptions options;
  options.channel = "loss";
  EXPECT_EQ(RenderPlot(v1::Verdict(), options), "");
}

TEST(Plot, DrawsAConstantCurve) {
  v1::Verdict verdict;
  v1::Curve* curve = verdict.add_curves();
  curve->set_channel("loss");
  for (uint64_t step : {1, 2, 3}) {
    curve->add_step(step);
    curve->add_value(0);
  }
  PlotOptions options;
  options.channel = "loss";
  const std::string svg = RenderPlot(verdict, options);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(WriteReport, ReadsBackWhatItWrote) {
  const std::string folder = ::testing::TempDir();
  ASSERT_TRUE(WriteReport(FailingReport(), folder).ok());
  const auto read = ReadReport(folder + "/report.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), FailingReport().SerializeAsString());
}

TEST(WriteReport, NamesTheFolderItCannotWriteTo) {
  const absl::Status status = WriteReport(FailingReport(), "/nowhere/at/all");
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere/at/all"));
}

}  // namespace
}  // namespace reprise::conformance
