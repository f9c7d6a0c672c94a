#include "trainer/schedule/warmup_cosine.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "format/random/read_vectors.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

double FromBits(const std::string& hex) {
  uint64_t bits = std::stoull(hex, nullptr, 16);
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

WarmupCosine Make(uint64_t warmup, uint64_t horizon, double final_fraction) {
  return WarmupCosine::Create({warmup, horizon, final_fraction}).value();
}

// Rules: SCHED-1
TEST(WarmupCosineV1, AgreesWithReleasedVectorsInEveryBit) {
  for (const auto& row : ReadVectors("warmup-cosine-v1")) {
    WarmupCosine schedule =
        Make(std::stoull(row[0]), std::stoull(row[1]), FromBits(row[2]));
    double found = schedule.Fraction(std::stoull(row[3]));
    double expected = FromBits(row[4]);
    EXPECT_EQ(std::memcmp(&found, &expected, sizeof found), 0)
        << row[0] << " " << row[1] << " " << row[2] << " position " << row[3]
        << ": expected " << expected << ", found " << found;
  }
}

TEST(WarmupCosine, FollowsTheClosedForm) {
  constexpr double kFinal = 0.01;
  WarmupCosine schedule = Make(20, 300, kFinal);
  for (uint64_t position = 20; position < 300; ++position) {
    double t = (position - 20) / 280.0;
    double expected = kFinal + (1 - kFinal) * (1 + std::cos(M_PI * t)) / 2;
    EXPECT_NEAR(schedule.Fraction(position), expected, 4e-16) << position;
  }
}

// Rules: SCHED-1
TEST(WarmupCosine, WarmsUpLinearlyFromOneShare) {
  WarmupCosine schedule = Make(4, 100, 0);
  EXPECT_EQ(schedule.Fraction(0), 0.25);
  EXPECT_EQ(schedule.Fraction(1), 0.5);
  EXPECT_EQ(schedule.Fraction(2), 0.75);
  EXPECT_EQ(schedule.Fraction(3), 1.0);
  EXPECT_EQ(schedule.Fraction(4), 1.0);  // the cosine starts at its top
  EXPECT_LT(schedule.Fraction(5), 1.0);
}

TEST(WarmupCosine, WithoutWarmupStartsAtTheTop) {
  EXPECT_EQ(Make(0, 10, 0.5).Fraction(0), 1.0);
}

// Rules: SCHED-1
TEST(WarmupCosine, HoldsTheFinalFractionFromTheHorizonOn) {
  WarmupCosine schedule = Make(2, 10, 0.125);
  EXPECT_GT(schedule.Fraction(9), 0.125);
  for (uint64_t position :
       {uint64_t{10}, uint64_t{11}, std::numeric_limits<uint64_t>::max()}) {
    EXPECT_EQ(schedule.Fraction(position), 0.125);
  }
}

TEST(WarmupCosine, NeverRisesAfterWarmup) {
  WarmupCosine schedule = Make(100, 5000, 0.01);
  for (uint64_t position = 100; position < 5001; ++position) {
    EXPECT_LE(schedule.Fraction(position + 1), schedule.Fraction(position))
        << position;
  }
}

TEST(WarmupCosine, RefusesEveryValueOutOfRangeByName) {
  absl::Status both = WarmupCosine::Create({10, 10, 1.5}).status();
  EXPECT_EQ(both.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(both.message(),
            "schedule warmup-cosine-v1: horizon: expected more than warmup "
            "(10), found 10; final_fraction: expected a number in [0, 1], "
            "found 1.5");
  EXPECT_FALSE(WarmupCosine::Create({0, 0, 0}).ok());
  EXPECT_FALSE(WarmupCosine::Create({0, 1, std::nan("")}).ok());
  EXPECT_FALSE(WarmupCosine::Create({0, (uint64_t{1} << 53) + 1, 0}).ok());
  EXPECT_TRUE(WarmupCosine::Create({0, uint64_t{1} << 53, 0}).ok());
}

}  // namespace
}  // namespace reprise
