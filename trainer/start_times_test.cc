#include "trainer/start_times.h"

#include <time.h>

#include <cstdio>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(StartTimes, SaysWhatEachPhaseTookAndTakesReadingOutOfChoosing) {
  double now = 100;
  StartTimes times([&now] { return now; }, /*before=*/0.25);
  now = 100.25;
  times.Ended(StartPhase::kStart);
  now = 101.25;
  times.Ended(StartPhase::kChoose);
  now = 101.5;
  times.Ended(StartPhase::kRebuild);
  now = 101.625;
  EXPECT_EQ(times.FirstStepDone({0.75, 0.25}),
            "First step 1.875 s after the process began: start 0.500, choose "
            "0.250, verify 0.250, read 0.500, rebuild 0.250, first step 0.125");
}

TEST(StartTimes, AFreshRunReadsNothing) {
  double now = 0;
  StartTimes times([&now] { return now; }, /*before=*/0);
  now = 1;
  times.Ended(StartPhase::kStart);
  now = 3;
  times.Ended(StartPhase::kRebuild);
  now = 7;
  EXPECT_EQ(times.FirstStepDone({}),
            "First step 7.000 s after the process began: start 1.000, choose "
            "0.000, verify 0.000, read 0.000, rebuild 2.000, first step 4.000");
}

// A process that has slept is older than the one that has not, by the kernel's
// word; in tests at most a day.
TEST(StartTimes, BeginsAtTheCreationOfTheProcess) {
  double now = 0;
  const timespec pause = {0, 50'000'000};
  nanosleep(&pause, nullptr);
  StartTimes times([&now] { return now; });
  times.Ended(StartPhase::kStart);
  const std::string line = times.FirstStepDone({});
  double total = 0;
  ASSERT_EQ(sscanf(line.c_str(), "First step %lf", &total), 1) << line;
  EXPECT_GE(total, 0.03);
  EXPECT_LT(total, 86400);
}

}  // namespace
}  // namespace reprise
