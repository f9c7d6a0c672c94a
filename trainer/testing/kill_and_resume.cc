#include "trainer/testing/kill_and_resume.h"

#include "format/checkpoint_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/testing/metrics_records.h"
#include "trainer/testing/run_comparison.h"
#include "trainer/testing/small_run.h"

namespace reprise {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

void ExpectSameRun(const std::string& folder, const std::string& whole,
                   uint64_t first_step, bool same_state) {
  const auto baseline = StepTable::Of(ReadMetrics(whole)->kept);
  ASSERT_TRUE(baseline.ok()) << baseline.status();
  ASSERT_GT(baseline->last_step(), 0);
  const auto records = ReadMetrics(folder);
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_THAT(Compare(*baseline, *records, first_step), IsEmpty());
  if (!same_state) return;
  const uint64_t last = baseline->last_step();
  const auto a = ReadCheckpoint(CheckpointFolder(whole, last));
  const auto b = ReadCheckpoint(CheckpointFolder(folder, last));
  ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  EXPECT_THAT(CompareState(a->snapshot, b->snapshot), IsEmpty());
}

void ExpectKilledIsUninterrupted(
    const FlagsFor& flags, const Place& kill,
    const std::vector<std::string>& more_on_resume) {
  const std::string whole = FreshFolder("whole");
  const TrainerResult uninterrupted = RunTrainer(flags(whole));
  ASSERT_EQ(uninterrupted.exit, TrainerExit::WithCode(0))
      << uninterrupted.output;
  const std::string folder = FreshFolder("killed");
  KillAt(flags(folder), kill);
  std::vector<std::string> again = flags(folder);
  again.insert(again.end(), more_on_resume.begin(), more_on_resume.end());
  const TrainerResult resumed = RunTrainer(again);
  ASSERT_EQ(resumed.exit, TrainerExit::WithCode(0)) << resumed.output;
  EXPECT_THAT(resumed.output, HasSubstr("Restored from"));
  ExpectSameRun(folder, whole, 1, more_on_resume.empty());
}

}  // namespace reprise
