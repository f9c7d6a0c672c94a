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
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/testing/folder_watch.h"
#include "trainer/testing/run_comparison.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/small_run.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A kill that comes too late, because the machine was busy, proves nothing: the
// run is tried again, so many times.
constexpr int kRounds = 10;

// Starts the trainer and kills it once it has recorded `step`. False when it
// came to its end before.
bool TrainAndKill(const std::string& folder, const std::string& precision,
                  uint64_t step) {
  FolderWatch watch(folder);
  auto trainer = TrainerProcess::Start(SmallRunFlags(folder, precision));
  const auto seen = watch.WaitForStep(step, *trainer);
  trainer->Signal(SIGKILL);
  const TrainerExit exit = trainer->Wait();
  if (exit == TrainerExit::BySignal(SIGKILL)) {
    std::printf("killed after step %d, wanted step %d\n",
                static_cast<int>(LastRecordedStep(folder)),
                static_cast<int>(step));
    return seen.has_value();
  }
  EXPECT_EQ(exit, TrainerExit::WithCode(0)) << trainer->Output();
  return false;
}

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

// Kills at each of `steps`, in turn, and trains to the end.
void ExpectSurvivesKillsAt(const std::vector<uint64_t>& steps,
                           const std::string& precision) {
  UninterruptedSmallRun(precision);
  for (int round = 0; round < kRounds; ++round) {
    const std::string folder = FreshFolder("killed", /*create=*/true);
    const bool killed = std::all_of(
        steps.begin(), steps.end(),
        [&](uint64_t step) { return TrainAndKill(folder, precision, step); });
    if (::testing::Test::HasFailure()) return;
    if (!killed) continue;
    TrainToTheEnd(folder, precision);
    ExpectUninterrupted(folder, precision);
    return;
  }
  FAIL() << "in " << kRounds << " rounds the trainer was never killed in time";
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
  std::vector<uint64_t> steps;
  for (int i = 0; i < 3; ++i) steps.push_back(1 + random() % 45);
  std::sort(steps.begin(), steps.end());
  ExpectSurvivesKillsAt(steps, "fp16");
}

TEST(Resume, C13_KilledTwiceInOneEpochIsTheUninterruptedRun) {
  ExpectSurvivesKillsAt({22, 34}, "fp16");
}

TEST(Resume, C11_KilledAtTheEndOfAnEpochIsTheUninterruptedRun) {
  ExpectSurvivesKillsAt({kSmallRunStepsAnEpoch - 1, kSmallRunStepsAnEpoch,
                         kSmallRunStepsAnEpoch + 1},
                        "fp16");
}

TEST(Resume, C04_KilledBeforeTheFirstCheckpointStartsAgain) {
  for (int round = 0; round < kRounds; ++round) {
    const std::string folder = FreshFolder("early", /*create=*/true);
    if (!TrainAndKill(folder, "fp16", 1)) continue;
    if (Entries(folder) != std::vector<std::string>{"lock", "metrics.jsonl"}) {
      continue;  // the first checkpoint was there already
    }
    const TrainerResult end = RunTrainer(SmallRunFlags(folder));
    EXPECT_EQ(end.exit, TrainerExit::WithCode(0)) << end.output;
    EXPECT_THAT(end.output, Not(HasSubstr("Restored from")));
    ExpectUninterrupted(folder, "fp16");
    return;
  }
  FAIL() << "in " << kRounds << " rounds the trainer was never killed in time";
}

TEST(Resume, KilledInFp32IsTheUninterruptedRun) {
  std::mt19937_64 random(TestSeed());
  ExpectSurvivesKillsAt({11 + random() % 34}, "fp32");
}

TEST(Resume, KilledInBf16IsTheUninterruptedRun) {
  std::mt19937_64 random(TestSeed());
  ExpectSurvivesKillsAt({11 + random() % 34}, "bf16");
}

// Kills inside three saves of one run, each a random moment after the save's
// temporary folder appeared. Only that folder, left behind, is evidence.
TEST(Resume, C27_KilledInsideSavesIsTheUninterruptedRun) {
  std::mt19937_64 random(TestSeed());
  UninterruptedSmallRun("fp16");
  constexpr int kKills = 3;
  for (int round = 0; round < kRounds; ++round) {
    const std::string folder = FreshFolder("killed-in-save", /*create=*/true);
    int kills = 0;
    bool finished = false;
    while (kills < kKills && !finished) {
      FolderWatch watch(folder);
      auto trainer = TrainerProcess::Start(SmallRunFlags(folder));
      // A save that this process should survive comes first, now and then.
      if (random() % 2 == 0) watch.WaitForCreation(".tmp-step-", *trainer);
      // The first kill is before the commit for sure, the others may also come
      // between it and the hint to the newest.
      const auto name =
          watch.WaitForCreation(kills == 0 ? ".tmp-step-" : ".tmp-", *trainer);
      const absl::Time kill = absl::Now() + absl::Microseconds(random() % 3000);
      while (absl::Now() < kill) {
      }
      trainer->Signal(SIGKILL);
      const TrainerExit exit = trainer->Wait();
      finished = !(exit == TrainerExit::BySignal(SIGKILL));
      if (finished) {
        EXPECT_EQ(exit, TrainerExit::WithCode(0)) << trainer->Output();
        break;
      }
      const std::vector<std::string> left = Entries(folder);
      if (!name.has_value() || !std::count(left.begin(), left.end(), *name)) {
        continue;
      }
      ++kills;
      std::printf("killed inside a save: %s was left with %d bytes\n",
                  name->c_str(),
                  static_cast<int>(TreeBytes(folder + "/" + *name)));
    }
    if (::testing::Test::HasFailure()) return;
    if (kills < kKills) continue;
    TrainToTheEnd(folder, "fp16");
    ExpectUninterrupted(folder, "fp16");
    return;
  }
  FAIL() << "in " << kRounds << " rounds too few kills came inside a save";
}

TEST(Resume, RecordsOfAReplayedStepAreKeptApart) {
  for (int round = 0; round < kRounds; ++round) {
    const std::string folder = FreshFolder("replayed", /*create=*/true);
    if (!TrainAndKill(folder, "fp16", 13)) continue;
    const uint64_t reached = LastRecordedStep(folder);
    if (reached % kSmallRunSaveEvery == 0) continue;  // nothing to replay
    const uint64_t saved = reached / kSmallRunSaveEvery * kSmallRunSaveEvery;
    TrainToTheEnd(folder, "fp16");
    const auto records = ReadMetrics(folder);
    ASSERT_TRUE(records.ok()) << records.status();
    uint64_t next = saved;
    for (const MetricsRecord& record : records->superseded) {
      if (record.type != "step") continue;
      EXPECT_EQ(record.step, ++next);
      EXPECT_EQ(record.attempt, 1);
    }
    EXPECT_EQ(next, reached);
    for (const MetricsRecord& record : records->kept) {
      EXPECT_EQ(record.attempt, record.step <= saved ? 1 : 2)
          << "step " << record.step;
    }
    return;
  }
  FAIL() << "in " << kRounds << " rounds the trainer was never killed in time";
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

// Stops the trainer, so that its records stand still, sends `signal` and lets
// it go on: whatever it records from then on, it did after the signal.
void ExpectStopsWithinOneStep(int signal) {
  for (int round = 0; round < kRounds; ++round) {
    const std::string folder = FreshFolder("stopped", /*create=*/true);
    FolderWatch watch(folder);
    auto trainer = TrainerProcess::Start(SmallRunFlags(folder));
    watch.WaitForStep(23, *trainer);
    trainer->Signal(SIGSTOP);
    absl::SleepFor(absl::Milliseconds(20));
    if (trainer->Poll().has_value()) continue;  // came too late
    const uint64_t before = LastRecordedStep(folder);
    trainer->Signal(signal);
    trainer->Signal(SIGCONT);
    const TrainerExit exit = trainer->Wait();
    if (before >= kSmallRunSteps) continue;  // nothing was left to stop
    ASSERT_EQ(exit, TrainerExit::WithCode(13)) << trainer->Output();
    const uint64_t after = LastRecordedStep(folder);
    EXPECT_LE(after, before + 1);
    EXPECT_THAT(trainer->Output(), HasSubstr(absl::StrCat("at step ", after)));
    const auto checkpoint = ReadCheckpoint(CheckpointFolder(folder, after));
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
    EXPECT_EQ(checkpoint->snapshot.step, after);
    TrainToTheEnd(folder, "fp16");
    const auto records = ReadMetrics(folder);
    ASSERT_TRUE(records.ok()) << records.status();
    EXPECT_EQ(records->superseded.size(), 0) << "a step was done twice";
    ExpectUninterrupted(folder, "fp16");
    return;
  }
  FAIL() << "in " << kRounds << " rounds no signal came in time";
}

TEST(Resume, SigtermSavesWithinOneStepAndTheRestIsTheUninterruptedRun) {
  ExpectStopsWithinOneStep(SIGTERM);
}

TEST(Resume, SigintSavesWithinOneStepAndTheRestIsTheUninterruptedRun) {
  ExpectStopsWithinOneStep(SIGINT);
}

TEST(Resume, SigusrSavesWithinOneStepAndTheRestIsTheUninterruptedRun) {
  ExpectStopsWithinOneStep(SIGUSR1);
}

TEST(Resume, SecondSignalEndsAtOnceAndTheRestIsTheUninterruptedRun) {
  for (int round = 0; round < kRounds; ++round) {
    const std::string folder = FreshFolder("twice", /*create=*/true);
    FolderWatch watch(folder);
    auto trainer = TrainerProcess::Start(SmallRunFlags(folder));
    watch.WaitForStep(33, *trainer);
    trainer->Signal(SIGSTOP);
    absl::SleepFor(absl::Milliseconds(20));
    if (trainer->Poll().has_value()) continue;  // came too late
    const uint64_t before = LastRecordedStep(folder);
    if (before >= kSmallRunSteps) continue;
    trainer->Signal(SIGTERM);
    trainer->Signal(SIGINT);
    trainer->Signal(SIGCONT);
    EXPECT_THAT(trainer->Wait(), AnyOf(TrainerExit::WithCode(128 + SIGTERM),
                                       TrainerExit::WithCode(128 + SIGINT)));
    EXPECT_EQ(LastRecordedStep(folder), before);
    TrainToTheEnd(folder, "fp16");
    ExpectUninterrupted(folder, "fp16");
    return;
  }
  FAIL() << "in " << kRounds << " rounds no signal came in time";
}

// Asks the run to stop as soon as it has recorded `step`, when an evaluation
// that takes a while is due: it must be answered, and made up for on resume.
void ExpectSignalDuringAnEvaluationIsMadeUpFor(uint64_t step) {
  const std::vector<std::string> slow = {"--set=data.test_limit=150000"};
  const std::string whole = FreshFolder("slow-evaluation");
  TrainerResult result = RunTrainer(SmallRunFlags(whole, "fp16", slow));
  ASSERT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  const auto baseline = StepTable::Of(ReadMetrics(whole)->kept);
  ASSERT_TRUE(baseline.ok()) << baseline.status();
  for (int round = 0; round < kRounds; ++round) {
    const std::string folder = FreshFolder("evaluation", /*create=*/true);
    FolderWatch watch(folder);
    auto trainer = TrainerProcess::Start(SmallRunFlags(folder, "fp16", slow));
    watch.WaitForStep(step, *trainer);
    trainer->Signal(SIGTERM);
    const TrainerExit exit = trainer->Wait();
    const auto stopped = ReadMetrics(folder);
    ASSERT_TRUE(stopped.ok()) << stopped.status();
    if (stopped->kept.back().type != "step" ||
        stopped->kept.back().step != step) {
      continue;  // the evaluation was over before the signal came
    }
    EXPECT_EQ(exit, TrainerExit::WithCode(13)) << trainer->Output();
    result = RunTrainer(SmallRunFlags(folder, "fp16", slow));
    EXPECT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
    const auto records = ReadMetrics(folder);
    ASSERT_TRUE(records.ok()) << records.status();
    EXPECT_THAT(Compare(*baseline, *records), IsEmpty());
    EXPECT_EQ(records->superseded.size(), 0) << "a step was done twice";
    return;
  }
  FAIL() << "in " << kRounds << " rounds no signal came in an evaluation";
}

TEST(Resume, C19_SignalDuringAnEvaluationIsMadeUpForOnResume) {
  ExpectSignalDuringAnEvaluationIsMadeUpFor(kSmallRunStepsAnEpoch);
}

TEST(Resume, C19_SignalDuringTheLastEvaluationIsMadeUpForOnResume) {
  ExpectSignalDuringAnEvaluationIsMadeUpFor(kSmallRunSteps);
}

}  // namespace
}  // namespace reprise
