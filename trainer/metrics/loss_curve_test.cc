#include "trainer/metrics/loss_curve.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/metrics/metrics_log.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StepEvent Step(uint64_t attempt, uint64_t step, float loss) {
  StepEvent event;
  event.attempt = attempt;
  event.step = step;
  event.loss = loss;
  return event;
}

int Count(const std::string& text, const std::string& what) {
  int count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) {
    ++count;
  }
  return count;
}

TEST(LossCurve, ShowsALineAnAttemptAndWhereTheyJoin) {
  EvaluationEvent evaluation;
  evaluation.step = 2;
  evaluation.loss = 1.5;
  const std::string svg =
      LossCurveSvg({Step(1, 1, 2), Step(1, 2, 1.5), evaluation, Step(2, 3, 1.2),
                    Step(3, 4, 1)});
  EXPECT_EQ(Count(svg, "<polyline"), 3);
  EXPECT_EQ(Count(svg, "class=\"join\""), 2);
  EXPECT_EQ(Count(svg, "<circle"), 1);
  EXPECT_THAT(svg, HasSubstr("attempt 2 from step 2"));
  EXPECT_THAT(svg, HasSubstr("attempt 3 from step 3"));
  EXPECT_EQ(svg.rfind("</svg>\n"), svg.size() - 7);
}

TEST(LossCurve, HighestLossIsAtTheTopAndTheLastStepAtTheRight) {
  const std::string svg = LossCurveSvg({Step(1, 1, 5), Step(1, 2, 1)});
  EXPECT_THAT(svg, HasSubstr("points=\"475.0,40.0 880.0,370.0 \""));
}

TEST(LossCurve, LossesThatAreNotFiniteAreLeftOut) {
  const std::string svg = LossCurveSvg(
      {Step(1, 1, std::nanf("")), Step(1, 2, INFINITY), Step(1, 3, 1)});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_EQ(Count(svg, "<polyline"), 1);
}

TEST(LossCurve, LongRunIsNoLargePicture) {
  std::vector<MetricsEvent> events;
  for (int i = 1; i <= 100000; ++i) events.push_back(Step(1, i, 1.0f / i));
  EXPECT_LT(LossCurveSvg(events).size(), 40000u);
}

TEST(LossCurve, RunWithoutStepsIsAnEmptyFrame) {
  EXPECT_EQ(Count(LossCurveSvg({}), "<polyline"), 0);
}

TEST(LossCurve, IsWrittenIntoTheRunFolder) {
  const std::string run = std::string(std::getenv("TEST_TMPDIR"));
  {
    auto log = MetricsLog::OpenForResume(run, 0);
    ASSERT_TRUE(log.ok()) << log.status();
    ASSERT_TRUE(log->Append(Step(1, 1, 2)).ok());
  }
  const absl::Status status = WriteLossCurve(run);
  ASSERT_TRUE(status.ok()) << status;
  std::ifstream in(run + "/loss.svg");
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("<polyline"));
  EXPECT_FALSE(WriteLossCurve(run + "/nowhere").ok());
}

}  // namespace
}  // namespace reprise
