#include "trainer/time_budget.h"

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(TimeBudget, LeavesRoomForTheLongestTurnAndTheLongestSave) {
  double now = 100;
  TimeBudget budget([&now] { return now; });
  now += 10;  // start-up, which is no turn
  budget.Begin(60);
  EXPECT_FALSE(budget.Spent());
  now += 5;
  budget.Lap();  // 5 s
  now += 2;
  budget.Lap();  // 2 s
  budget.SaveTook(8);
  budget.SaveTook(3);
  now = 100 + 46.5;  // 5 + 8 still fit
  EXPECT_FALSE(budget.Spent());
  now = 100 + 47;
  EXPECT_TRUE(budget.Spent());
}

TEST(TimeBudget, IsNeverSpentBeforeOneTurn) {
  double now = 100;
  TimeBudget budget([&now] { return now; });
  now += 1e6;
  budget.Begin(1e-9);
  EXPECT_FALSE(budget.Spent());
  budget.Lap();
  EXPECT_TRUE(budget.Spent());
}

TEST(TimeBudget, ZeroIsNoLimit) {
  double now = 0;
  TimeBudget budget([&now] { return now; });
  budget.Begin(0);
  now = 1e9;
  budget.Lap();
  EXPECT_FALSE(budget.Spent());
  EXPECT_EQ(budget.Elapsed(), 1e9);
}

TEST(TimeBudget, RealClockGoesOn) {
  TimeBudget budget;
  budget.Begin(1e9);
  budget.Lap();
  EXPECT_GE(budget.Elapsed(), 0);
  EXPECT_FALSE(budget.Spent());
}

}  // namespace
}  // namespace reprise
