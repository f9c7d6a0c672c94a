#include "conformance/judge/noise.h"

#include <cmath>
#include <string>
#include <vector>

#include "conformance/protocol/number.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

Timeline WithLosses(const std::vector<double>& losses, uint64_t resumed = 0) {
  AttemptEvidence attempt;
  attempt.events.emplace_back().mutable_start()->set_resumed_step(resumed);
  for (size_t i = 0; i < losses.size(); ++i) {
    v1::StepEvent& step = *attempt.events.emplace_back().mutable_step();
    step.set_step(resumed + i + 1);
    *step.mutable_loss() = NumberOf(losses[i]);
  }
  return Timeline::From(attempt);
}

TEST(Noise, DemandsEveryBitWhereEqualRunsGiveEveryBit) {
  const Noise noise({WithLosses({1, 2, 3}), WithLosses({1, 2, 3})}, {});
  EXPECT_TRUE(noise.Exact(Channel::kLoss));
  EXPECT_EQ(noise.Threshold(Channel::kLoss, 2), 0);
}

TEST(Noise, TakesTheLargestDeviationTimesTheMargin) {
  const Noise noise({WithLosses({1, 1, 1}), WithLosses({1, 1.001, 1})}, {});
  EXPECT_TRUE(noise.Noisy());
  EXPECT_FALSE(noise.Exact(Channel::kLoss));
  EXPECT_NEAR(noise.Threshold(Channel::kLoss, 1),
              Noise::kMargin * 0.001 / 1.001, 1e-9);
}

TEST(Noise, GrowsAlongTheRun) {
  std::vector<double> a(200, 1.0), b(200, 1.0);
  b[10] = 1.0001;
  b[150] = 1.01;
  const Noise noise({WithLosses(a), WithLosses(b)}, {});
  EXPECT_LT(noise.Threshold(Channel::kLoss, 20), 0.01);
  EXPECT_GT(noise.Threshold(Channel::kLoss, 160), 0.1);
}

TEST(Noise, MeasuresReplaysByTheirDistanceFromTheResume) {
  std::vector<double> a(100, 1.0), b(100, 1.0);
  b[90] = 1.5;
  const Noise noise(
      {WithLosses(a), WithLosses(b)},
      {WithLosses({1, 1, 1}, 60), WithLosses({1, 1.00001, 1}, 60)});
  EXPECT_EQ(noise.ReplayThreshold(Channel::kLoss, 1), Noise::kReplayFloor);
  EXPECT_GT(noise.Threshold(Channel::kLoss, 95), 1);
}

TEST(Noise, AllowsWhatTheChannelVariesByAnyway) {
  // Alternates by a half: one in three, from one step to the next.
  std::vector<double> a, b;
  for (int i = 0; i < 60; ++i) a.push_back(i % 2 == 0 ? 1 : 1.5);
  b = a;
  b[3] *= 1.000001;
  const Noise noise({WithLosses(a), WithLosses(b)}, {});
  EXPECT_NEAR(noise.Threshold(Channel::kLoss, 30),
              Noise::kClimate / 3 / std::sqrt(2.0), 1e-3);
}

TEST(Noise, ComparesNothingOnceEqualRunsHaveForgottenEachOther) {
  std::vector<double> a(60, 1.0), b(60, 1.0);
  b[0] = 1 + 1e-7;
  b[30] = 1.002;
  const Noise noise({WithLosses(a), WithLosses(b)}, {});
  EXPECT_EQ(noise.forgotten(), 31u);
  EXPECT_LT(noise.Threshold(Channel::kLoss, 30), 0.1);
  EXPECT_TRUE(std::isinf(noise.Threshold(Channel::kLoss, 31)));
  // What is far apart from the start has not drifted there.
  b[0] = 1.001;
  const Noise coarse({WithLosses(a), WithLosses(b)}, {});
  EXPECT_FALSE(std::isinf(coarse.Threshold(Channel::kLoss, 31)));
}

TEST(Noise, DoesNotJudgeTokensThatEqualRunsDisagreeOn) {
  AttemptEvidence a, b;
  a.events.emplace_back().mutable_step()->set_step(1);
  b = a;
  a.events[0].mutable_step()->set_ids("aa");
  b.events[0].mutable_step()->set_ids("bb");
  const Noise noise({Timeline::From(a), Timeline::From(b)}, {});
  EXPECT_TRUE(std::isinf(noise.Threshold(Channel::kIds, 1)));
}

TEST(Channel, ComparesPrintedNumbersByTheirDigits) {
  v1::StepEvent a, b;
  *a.mutable_loss() = NumberOfText("0.6931");
  *b.mutable_loss() = NumberOfText("0.6932");
  const auto read = [](const v1::StepEvent& step) {
    return ReadChannel(Channel::kLoss, &step, nullptr);
  };
  EXPECT_TRUE(Equal(read(a), read(b)));
  *b.mutable_loss() = NumberOfText("0.6933");
  EXPECT_FALSE(Equal(read(a), read(b)));
}

TEST(Channel, TellsZerosAndNonFiniteValuesApartByTheirBits) {
  v1::StepEvent a, b;
  *a.mutable_loss() = NumberOf(0.0);
  *b.mutable_loss() = NumberOf(-0.0);
  const auto read = [](const v1::StepEvent& step) {
    return ReadChannel(Channel::kLoss, &step, nullptr);
  };
  EXPECT_FALSE(Equal(read(a), read(b)));
  *b.mutable_loss() = NumberOf(std::nan(""));
  EXPECT_TRUE(std::isinf(Deviation(read(a), read(b))));
}

TEST(Timeline, InfersSkippedStepsFromARateThatStandsStill) {
  AttemptEvidence attempt;
  for (int step = 1; step <= 10; ++step) {
    v1::StepEvent& record = *attempt.events.emplace_back().mutable_step();
    record.set_step(step);
    *record.add_lr() = NumberOf(0.1 * (step <= 5 ? step : step - 1));
  }
  const Timeline timeline = Timeline::From(attempt);
  for (int step = 1; step < 10; ++step) {
    EXPECT_EQ(timeline.Find(step)->skipped(), step == 5) << step;
  }
  EXPECT_FALSE(timeline.Find(10)->has_skipped());
}

TEST(Timeline, InfersNothingFromAConstantRate) {
  AttemptEvidence attempt;
  for (int step = 1; step <= 10; ++step) {
    v1::StepEvent& record = *attempt.events.emplace_back().mutable_step();
    record.set_step(step);
    *record.add_lr() = NumberOf(0.1);
  }
  EXPECT_FALSE(Timeline::From(attempt).Find(3)->has_skipped());
}

}  // namespace
}  // namespace reprise::conformance
