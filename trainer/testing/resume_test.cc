// The question this repository exists for, asked of the real trainer: is a run
// that was killed and resumed the run that was never killed, to the last bit?
//
// Every record of every attempt is compared: loss, learning rates, scale,
// sample ids, skipped, gradient norm, counters, evaluations; then the whole
// state in the last checkpoint. resume_power_test shows that the comparison
// sees what it should see.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "format/run_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/testing/child_trainer.h"
#include "trainer/testing/run_comparison.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/small_run.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void TrainToTheEnd(const std::string& folder, const std::string& precision) {
  const std::vector<std::string> entries = Entries(folder);
  const bool saved = std::any_of(
      entries.begin(), entries.end(),
      [](const std::string& name) { return absl::StartsWith(name, "step-"); });
  const TrainerResult end = RunTrainer(SmallRunFlags(folder, precision));
  EXPECT_EQ(end.exit, TrainerExit::WithCode(0)) << end.output;
  EXPECT_EQ(absl::StrContains(end.output, "Restored from"), saved)
      << end.output;
}

// Kills at each of `places`, in turn, and trains to the end.
void ExpectSurvivesKillsAt(const std::vector<Place>& places,
                           const std::string& precision) {
  UninterruptedSmallRun(precision);
  const std::string folder = FreshFolder("killed");
  for (const Place& place : places) {
    std::printf("killed in step %d at point %d\n", static_cast<int>(place.step),
                static_cast<int>(place.point));
    KillAt(SmallRunFlags(folder, precision), place);
    if (::testing::Test::HasFailure()) return;
  }
  TrainToTheEnd(folder, precision);
  ExpectUninterrupted(folder, precision);
}

// Any point of a step in [first, last].
Place RandomPlace(std::mt19937_64& random, uint64_t first, uint64_t last) {
  const auto point = static_cast<StepPoint>(
      random() % (static_cast<int>(StepPoint::kBoundary) + 1));
  return {point, first + random() % (last - first + 1)};
}

TEST(Resume, SmallRunMovesEverythingThatACheckpointHolds) {
  const StepTable& steps = UninterruptedSmallRun("fp16").steps;
  std::set<std::string> scales, losses, norms, lrs, ids;
  int skipped = 0;
  for (const MetricsRecord* record : steps.All("step")) {
    scales.insert(record->channels.at("scale"));
    losses.insert(record->channels.at("loss"));
    norms.insert(record->channels.at("grad_norm"));
    lrs.insert(record->channels.at("lr"));
    ids.insert(record->channels.at("ids"));
    skipped += record->channels.at("skipped") == "true";
  }
  EXPECT_GE(scales.size(), 4);
  EXPECT_GE(skipped, 3);
  EXPECT_EQ(ids.size(), kSmallRunSteps);
  EXPECT_EQ(losses.size(), kSmallRunSteps);
  EXPECT_GE(lrs.size(), kSmallRunSteps / 2);
  EXPECT_GE(norms.size(), kSmallRunSteps / 2);
  EXPECT_EQ(steps.All("eval").size(), 3);
}

TEST(Resume, TwoUninterruptedRunsAreTheSame) {
  const std::string folder = FreshFolder("second");
  const TrainerResult result = RunTrainer(SmallRunFlags(folder));
  ASSERT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  ExpectUninterrupted(folder, "fp16");
}

TEST(Resume, AnotherSeedIsAnotherRun) {
  const std::string folder = FreshFolder("other-seed");
  const TrainerResult result =
      RunTrainer(SmallRunFlags(folder, "fp16", {"--seed=8"}));
  ASSERT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  const auto differences =
      Compare(UninterruptedSmallRun("fp16").steps, *ReadMetrics(folder));
  EXPECT_EQ(FirstStep(differences, "loss"), 1);
  EXPECT_EQ(FirstStep(differences, "ids"), 1);
}

TEST(Resume, C27_KilledAtThreeRandomStepsIsTheUninterruptedRun) {
  std::mt19937_64 random(TestSeed());
  // Each beyond the one before, however far the saves between bring the run.
  ExpectSurvivesKillsAt(
      {RandomPlace(random, 1, 19), RandomPlace(random, 20, 34),
       RandomPlace(random, 35, 60)},
      "fp16");
}

TEST(Resume, C13_KilledTwiceInOneEpochIsTheUninterruptedRun) {
  ExpectSurvivesKillsAt(
      {{StepPoint::kAfterUpdate, 22}, {StepPoint::kBoundary, 34}}, "fp16");
}

TEST(Resume, C11_KilledAtTheEndOfAnEpochIsTheUninterruptedRun) {
  ExpectSurvivesKillsAt({{StepPoint::kBoundary, kSmallRunStepsAnEpoch - 1},
                         {StepPoint::kBoundary, kSmallRunStepsAnEpoch},
                         {StepPoint::kBeforeDraw, kSmallRunStepsAnEpoch + 1}},
                        "fp16");
}

TEST(Resume, C04_KilledBeforeTheFirstCheckpointStartsAgain) {
  const std::string folder = FreshFolder("early");
  KillAt(SmallRunFlags(folder), {StepPoint::kBoundary, 1});
  EXPECT_EQ(Entries(folder),
            (std::vector<std::string>{"lock", "metrics.jsonl"}));
  const TrainerResult end = RunTrainer(SmallRunFlags(folder));
  EXPECT_EQ(end.exit, TrainerExit::WithCode(0)) << end.output;
  EXPECT_THAT(end.output, Not(HasSubstr("Restored from")));
  ExpectUninterrupted(folder, "fp16");
}

TEST(Resume, KilledInFp32IsTheUninterruptedRun) {
  std::mt19937_64 random(TestSeed());
  ExpectSurvivesKillsAt({RandomPlace(random, 11, 60)}, "fp32");
}

TEST(Resume, KilledInBf16IsTheUninterruptedRun) {
  std::mt19937_64 random(TestSeed());
  ExpectSurvivesKillsAt({RandomPlace(random, 11, 60)}, "bf16");
}

// The operations of one save: from its temporary folder to the sync after its
// hint. Nothing else uses the file system meanwhile.
std::function<bool(const ForwardingFileSystem::Operation&)> OfTheSaveOf(
    uint64_t step) {
  enum class Stage { kBefore, kIn, kHinted, kAfter };
  return [name = CheckpointName(step), stage = Stage::kBefore](
             const ForwardingFileSystem::Operation& op) mutable {
    if (stage == Stage::kBefore && absl::StrContains(op.path, name)) {
      stage = Stage::kIn;
    }
    const bool its_own = stage == Stage::kIn || stage == Stage::kHinted;
    if (stage == Stage::kHinted && op.name == "SyncFolder") {
      stage = Stage::kAfter;
    } else if (stage == Stage::kIn && absl::EndsWith(op.to, "/latest")) {
      stage = Stage::kHinted;
    }
    return its_own;
  };
}

// Before each file operation of the save of step 20 in turn: the first half of
// a run is trained once, what follows is done again for each of them.
TEST(Resume, C27_KilledInsideASaveIsTheUninterruptedRun) {
  UninterruptedSmallRun("fp16");
  uint64_t operation = 1;
  for (; operation < 200; ++operation) {
    const std::string folder = RunAsOfStep("fp16", 10);
    AtOperation killer(OfTheSaveOf(20), operation, [] { EndSelf(SIGKILL); });
    const TrainerResult run =
        TrainInChild(SmallRunFlags(folder), {nullptr, &killer});
    if (run.exit == TrainerExit::WithCode(0)) break;  // it has no more
    ASSERT_EQ(run.exit, TrainerExit::BySignal(SIGKILL)) << run.output;
    EXPECT_EQ(LastRecordedStep(folder), 20);
    TrainToTheEnd(folder, "fp16");
    ExpectUninterrupted(folder, "fp16");
    if (::testing::Test::HasFailure()) {
      FAIL() << "before operation " << operation << " of the save";
    }
  }
  std::printf("killed before each of %d operations\n",
              static_cast<int>(operation - 1));
  // The folder, a shard and the manifest, each written and synced, the commit,
  // the hint.
  EXPECT_GE(operation, 9);
  EXPECT_LT(operation, 200);
}

TEST(Resume, RecordsOfAReplayedStepAreKeptApart) {
  const std::string folder = FreshFolder("replayed");
  constexpr uint64_t kSaved = 10, kReached = 13;
  KillAt(SmallRunFlags(folder), {StepPoint::kBoundary, kReached});
  TrainToTheEnd(folder, "fp16");
  const auto records = ReadMetrics(folder);
  ASSERT_TRUE(records.ok()) << records.status();
  uint64_t next = kSaved;
  for (const MetricsRecord& record : records->superseded) {
    if (record.type != "step") continue;
    EXPECT_EQ(record.step, ++next);
    EXPECT_EQ(record.attempt, 1);
  }
  EXPECT_EQ(next, kReached);
  for (const MetricsRecord& record : records->kept) {
    EXPECT_EQ(record.attempt, record.step <= kSaved ? 1 : 2)
        << "step " << record.step;
  }
}

TEST(Resume, FinishedRunStartedAgainDoesNothingAndSaysSo) {
  const std::string folder = FreshFolder("finished");
  TrainerResult result = RunTrainer(SmallRunFlags(folder));
  ASSERT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  const std::vector<std::string> entries = Entries(folder);
  result = RunTrainer(SmallRunFlags(folder));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("finished"));
  EXPECT_THAT(result.output, HasSubstr("Nothing to do"));
  EXPECT_EQ(Entries(folder), entries);
  ExpectUninterrupted(folder, "fp16");
}

// From outside, as a scheduler does it, to a process that nobody has touched;
// stop_everywhere_test has every signal at every place.
TEST(Resume, SignalFromOutsideSavesAndAsksToBeStartedAgain) {
  const std::string folder = FreshFolder("stopped", /*create=*/true);
  auto trainer =
      TrainerProcess::Start(SmallRunFlags(folder, "fp16", {"--steps=1000000"}));
  while (LastRecordedStep(folder) < 23 && !trainer->Poll().has_value()) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  trainer->Signal(SIGTERM);
  EXPECT_EQ(trainer->Wait(), TrainerExit::WithCode(13)) << trainer->Output();
  const uint64_t step = LastRecordedStep(folder);
  EXPECT_THAT(
      trainer->Output(),
      HasSubstr(absl::StrCat("Stopped by SIGTERM at step ", step, " of")));
  const auto checkpoint = ReadCheckpoint(CheckpointFolder(folder, step));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
}

}  // namespace
}  // namespace reprise
