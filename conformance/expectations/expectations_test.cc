#include "conformance/expectations/expectations.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "format/vocabulary.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] = R"(
expectation {
  case_pattern: "default/second_.*"
  names: "sampler.cursor:STICKY"
  reason: "known to its owners"
  expires: "2030-05-31"
}
)";

absl::Time At(const std::string& day) {
  absl::Time time;
  std::string error;
  absl::ParseTime("%Y-%m-%d", day, absl::UTCTimeZone(), &time, &error);
  return time + absl::Hours(12);
}

v1::Report ReportWith(v1::VerdictOutcome outcome, Item item, Fault fault) {
  v1::Report report;
  v1::CaseResult& result = *report.add_results();
  result.set_profile("default");
  result.set_case_name("second_resume");
  result.mutable_verdict()->set_outcome(outcome);
  if (outcome == v1::FAIL) {
    v1::FaultName& name =
        *result.mutable_verdict()->add_findings()->add_names();
    name.set_item(item);
    name.set_fault(fault);
  }
  return report;
}

v1::VerdictOutcome OutcomeAfter(v1::Report report, const std::string& day) {
  auto expectations = ParseExpectations(kText);
  EXPECT_TRUE(expectations.ok()) << expectations.status();
  EXPECT_TRUE(ApplyExpectations(*expectations, At(day), &report).ok());
  return report.results(0).verdict().outcome();
}

TEST(Expectations, ExcuseExactlyTheFailureTheyName) {
  EXPECT_EQ(OutcomeAfter(
                ReportWith(v1::FAIL, Item::SAMPLER_CURSOR, Fault::FAULT_STICKY),
                "2030-05-31"),
            v1::XFAIL);
  EXPECT_EQ(
      OutcomeAfter(ReportWith(v1::FAIL, Item::SAMPLER_CURSOR, Fault::FAULT_LAG),
                   "2030-05-31"),
      v1::FAIL);
}

TEST(Expectations, ExcuseNothingOnceTheyHaveExpired) {
  EXPECT_EQ(OutcomeAfter(
                ReportWith(v1::FAIL, Item::SAMPLER_CURSOR, Fault::FAULT_STICKY),
                "2030-06-01"),
            v1::FAIL);
}

TEST(Expectations, MakeAPassAnError) {
  EXPECT_EQ(OutcomeAfter(ReportWith(v1::PASS, Item::RUN, Fault::FAULT_SHORT),
                         "2030-01-01"),
            v1::XPASS);
}

TEST(Expectations, LeaveWhatWasNotDecidedAlone) {
  for (v1::VerdictOutcome outcome :
       {v1::INCONCLUSIVE, v1::FLAKY, v1::HARNESS_ERROR, v1::NOT_RUN,
        v1::SKIP}) {
    EXPECT_EQ(OutcomeAfter(ReportWith(outcome, Item::RUN, Fault::FAULT_SHORT),
                           "2030-01-01"),
              outcome);
  }
}

TEST(Expectations, ThatMatchNoCaseAreAnError) {
  auto expectations = ParseExpectations(kText);
  ASSERT_TRUE(expectations.ok());
  v1::Report report;
  ASSERT_TRUE(ApplyExpectations(*expectations, At("2030-01-01"), &report).ok());
  ASSERT_EQ(report.results_size(), 1);
  EXPECT_EQ(report.results(0).verdict().outcome(), v1::HARNESS_ERROR);
}

TEST(Expectations, RefuseWhatIsIncompleteByName) {
  const std::pair<const char*, const char*> damages[] = {
      {"case_pattern: \"default/second_.*\"", "case_pattern is missing"},
      {"names: \"sampler.cursor:STICKY\"", "names are missing"},
      {"reason: \"known to its owners\"", "reason is missing"},
      {"expires: \"2030-05-31\"", "expected YYYY-MM-DD"},
  };
  for (const auto& [line, message] : damages) {
    const auto expectations =
        ParseExpectations(absl::StrReplaceAll(kText, {{line, ""}}));
    ASSERT_FALSE(expectations.ok()) << line;
    EXPECT_THAT(std::string(expectations.status().message()),
                HasSubstr(message));
  }
}

TEST(Expectations, RefuseUnknownWordsAndBadPatterns) {
  EXPECT_THAT(std::string(ParseExpectations(
                              absl::StrReplaceAll(kText, {{"STICKY", "STUCK"}}))
                              .status()
                              .message()),
              HasSubstr("expected item:FAULT"));
  EXPECT_THAT(std::string(ParseExpectations(
                              absl::StrReplaceAll(kText, {{"second_.*", "(("}}))
                              .status()
                              .message()),
              HasSubstr("case_pattern"));
  EXPECT_THAT(
      std::string(
          ParseExpectations("expectation { colour: 3 }").status().message()),
      HasSubstr("line 1"));
}

}  // namespace
}  // namespace reprise::conformance
