// How a process begins and ends: what --resume and --init_from choose, a time
// budget, saves behind training, checkpoints between micro-steps, states that
// are not finite, the witness of the next loss.
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/run_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/next_loss.h"
#include "trainer/testing/kill_and_resume.h"
#include "trainer/testing/run_comparison.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/small_run.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TrainerResult Train(const std::string& folder,
                    const std::vector<std::string>& more = {}) {
  return RunTrainer(SmallRunFlags(folder, "fp16", more));
}

TEST(Start, ResumeFromAStepMovesWhatLiesBeyondAndIsTheSameRun) {
  const std::string folder = RunAsOfStep("fp16", 40, /*checkpoints=*/3);
  const TrainerResult result = Train(folder, {"--resume=20"});
  EXPECT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  EXPECT_THAT(result.output,
              HasSubstr("Restored from " + CheckpointFolder(folder, 20)));
  EXPECT_THAT(result.output, HasSubstr("Moved step-000000000040"));
  ExpectUninterrupted(folder);
}

TEST(Start, ResumeFromAFolderElsewhereGoesOnInAnEmptyRunFolder) {
  const std::string source =
      CheckpointFolder(UninterruptedSmallRun("fp16").folder, 30);
  const std::string folder = FreshFolder("elsewhere");
  const auto before = ReadTree(source);
  TrainerResult result = Train(folder, {"--resume=" + source});
  EXPECT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  ExpectSameRun(folder, UninterruptedSmallRun("fp16").folder, 31);
  EXPECT_THAT(ChangedFiles(before, ReadTree(source)), IsEmpty());
  // Not over another run.
  result = Train(folder, {"--resume=" + source});
  EXPECT_EQ(result.exit, TrainerExit::WithCode(2)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("without checkpoints"));
}

TEST(Start, WhatResumeDemandsOfTheRunFolderIsHeldToIt) {
  const std::string empty = FreshFolder("empty", /*create=*/true);
  EXPECT_EQ(Train(empty, {"--resume=required"}).exit, TrainerExit::WithCode(2));
  EXPECT_EQ(Train(empty, {"--resume=20"}).exit, TrainerExit::WithCode(2));
  EXPECT_EQ(Train(empty, {"--resume=20", "--fresh"}).exit,
            TrainerExit::WithCode(1));
  EXPECT_THAT(Entries(empty), Not(Contains(StartsWith("step-"))));
  const std::string folder = RunAsOfStep("fp16", 20);
  const auto before = ReadTree(folder);
  EXPECT_EQ(Train(folder, {"--resume=never"}).exit, TrainerExit::WithCode(2));
  EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
}

// Not even an empty folder or a lock.
TEST(Start, WhatIsRefusedAtOnceLeavesNothing) {
  const std::string absent = FreshFolder("absent");
  const std::vector<std::string> no_data = {"--set=data.name=fashion_mnist",
                                            "--data_dir=/nonexistent/data"};
  const std::string whole =
      CheckpointFolder(UninterruptedSmallRun("fp16").folder, 60);
  const std::string cut = FreshFolder("cut");
  std::filesystem::copy(whole, cut, std::filesystem::copy_options::recursive);
  // Committed files are read-only, which counts unless one is root.
  std::filesystem::permissions(cut + "/manifest.ckpt",
                               std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);
  std::filesystem::resize_file(cut + "/manifest.ckpt", 500);
  struct Start {
    std::vector<std::string> flags;
    std::string said;
    int code = 2;
  };
  for (const Start& start : std::vector<Start>{
           {{"--resume=required"},
            absent +
                ": expected a checkpoint to resume from, found no such folder"},
           {{"--resume=20"}, CheckpointFolder(absent, 20)},
           {{"--resume=" + absent + "-elsewhere"}, absent + "-elsewhere"},
           {no_data, "/nonexistent/data"},
           {{"--set=data.name=text", "--set=model.kind=gpt",
             "--data_dir=/nonexistent/data"},
            "/nonexistent/data/train.txt"},
           {{"--resume=" + cut}, "found 500", 11},
           {{"--resume=" + whole, "--set=model.hidden=64"},
            "model.hidden",
            11}}) {
    const TrainerResult result = Train(absent, start.flags);
    EXPECT_EQ(result.exit, TrainerExit::WithCode(start.code)) << result.output;
    EXPECT_THAT(result.output, HasSubstr(start.said));
    EXPECT_FALSE(std::filesystem::exists(absent)) << start.said;
  }
  // Nor does --fresh move the run that is there.
  const std::string folder = RunAsOfStep("fp16", 20);
  const auto before = ReadTree(folder);
  EXPECT_EQ(Train(folder, {"--fresh", no_data[0], no_data[1]}).exit,
            TrainerExit::WithCode(2));
  EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
}

TEST(Start, WeightsAloneAreAnotherRunAndItSaysSo) {
  const std::string source =
      CheckpointFolder(UninterruptedSmallRun("fp16").folder, 60);
  const std::string folder = FreshFolder("weights");
  TrainerResult result =
      Train(folder, {"--init_from=" + source, "--set=run.seed=9"});
  EXPECT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("Weights only"));
  EXPECT_THAT(result.output, HasSubstr("This is no resume"));
  EXPECT_THAT(result.output, Not(HasSubstr("Restored from")));
  const auto records = ReadMetrics(folder);
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ(records->kept.front().step, 1);
  const auto begun = ReadCheckpoint(CheckpointFolder(folder, 10));
  ASSERT_TRUE(begun.ok()) << begun.status();
  const auto origin = ReadCheckpoint(source);
  bool recorded = false;
  for (const ConfigField& field : begun->snapshot.config) {
    if (field.path != "run.init_from") continue;
    recorded = field.value.size() == 32;
  }
  EXPECT_TRUE(recorded);
  EXPECT_NE(begun->snapshot.run_id, origin->snapshot.run_id);
  EXPECT_FALSE(begun->snapshot.parent.has_value());
  // The same command again is a resume.
  result = Train(folder, {"--init_from=" + source, "--set=run.seed=9"});
  EXPECT_THAT(result.output, HasSubstr("--init_from is not used again"));
}

// However short the time is, a process that is started again gets on.
TEST(Start, TimeBudgetSavesAndAsksToBeStartedAgain) {
  const std::string folder = FreshFolder("budget");
  for (uint64_t step = 1; step <= 3; ++step) {
    const TrainerResult result =
        Train(folder, {"--max_seconds=1e-9", "--save_every=1000"});
    ASSERT_EQ(result.exit, TrainerExit::WithCode(13)) << result.output;
    EXPECT_THAT(result.output,
                HasSubstr(absl::StrCat("Stopped by run.max_seconds at step ",
                                       step, " of 60\n")));
    EXPECT_EQ(LastRecordedStep(folder), step);
  }
  const TrainerResult rest = Train(folder, {"--max_seconds=0"});
  ASSERT_EQ(rest.exit, TrainerExit::WithCode(0)) << rest.output;
  EXPECT_THAT(rest.output, HasSubstr("Restored from"));
  EXPECT_EQ(ReadMetrics(folder)->superseded.size(), 0);
  ExpectUninterrupted(folder);
}

// Rules: COMMIT-9
TEST(Start, C31_SavesBehindTrainingAreThoseOfTheirStep) {
  const std::string folder = FreshFolder("behind");
  const TrainerResult result =
      Train(folder, {"--set=save.background=true", "--save_every=10"});
  ASSERT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  ExpectUninterrupted(folder);
  const std::string& whole = UninterruptedSmallRun("fp16").folder;
  for (uint64_t step = 10; step <= kSmallRunSteps; step += 10) {
    const auto a = ReadCheckpoint(CheckpointFolder(whole, step));
    const auto b = ReadCheckpoint(CheckpointFolder(folder, step));
    ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
    EXPECT_THAT(CompareState(a->snapshot, b->snapshot), IsEmpty()) << step;
  }
}

TEST(Start, C29_ErrorOfASaveBehindEndsTheRunAndLosesNothing) {
  const std::string folder = RunAsOfStep("fp16", 20, /*checkpoints=*/2);
  TrainerProcess::Restrictions small;
  small.max_file_bytes = 64 << 10;
  const TrainerResult result = RunTrainer(
      SmallRunFlags(folder, "fp16", {"--set=save.background=true"}), small);
  EXPECT_EQ(result.exit, TrainerExit::WithCode(14)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("File too large"));
  EXPECT_THAT(Entries(folder), Contains("step-000000000020"));
  EXPECT_THAT(Entries(folder), Not(Contains(StartsWith(".tmp-"))));
}

const std::vector<std::string> kAccumulating = {
    "--set=accumulation.steps=4", "--set=save.at_micro=2",
    "--set=data.train_limit=2560", "--set=ema.decay=0.9"};

std::vector<std::string> With(std::vector<std::string> flags,
                              const std::string& one) {
  flags.push_back(one);
  return flags;
}

TEST(Start, C10_StateBetweenMicroStepsIsTheUninterruptedRun) {
  const std::string whole = FreshFolder("accumulating");
  ASSERT_EQ(Train(whole, kAccumulating).exit, TrainerExit::WithCode(0));
  // Saved inside step 30, after two of its four micro-steps.
  const std::string name = CheckpointName(29, 2);
  ASSERT_THAT(Entries(whole), Contains(name));
  const auto inside = ReadCheckpoint(whole + "/" + name);
  ASSERT_TRUE(inside.ok()) << inside.status();
  EXPECT_EQ(inside->snapshot.accumulation->count, 2);
  EXPECT_EQ(inside->snapshot.Find(Item::ACCUM_GRADS)->presence,
            Presence::PRESENCE_SAVED);
  EXPECT_EQ(inside->snapshot.counters->samples, (29 * 4 + 2) * kSmallRunBatch);
  const std::string folder = FreshFolder("inside");
  const TrainerResult result =
      Train(folder, With(kAccumulating, "--resume=" + whole + "/" + name));
  ASSERT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  ExpectSameRun(folder, whole, 30);
}

TEST(Start, StateThatIsNotFiniteIsRefusedAndTheOneBeforeGoesOn) {
  const std::string folder = RunAsOfStep("fp16", 30, /*checkpoints=*/2);
  EditCheckpoint(
      CheckpointFolder(folder, 30),
      [](Snapshot* s) {
        Tensor& tensor = s->parameters[0];
        auto bytes = std::make_shared<std::string>(tensor.bytes());
        const float nan = std::nanf("");
        bytes->replace(0, 4, reinterpret_cast<const char*>(&nan), 4);
        tensor = Tensor::Shared(tensor.name(), tensor.dtype(), tensor.shape(),
                                bytes, bytes->data());
      },
      /*keep_witness=*/true);
  const auto before = ReadTree(folder);
  TrainerResult result = Train(folder);
  EXPECT_EQ(result.exit, TrainerExit::WithCode(11)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("not finite (fc1."));
  EXPECT_THAT(result.output, HasSubstr("--resume=STEP"));
  EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
  result = Train(folder, {"--resume=20"});
  EXPECT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  ExpectUninterrupted(folder);
}

TEST(Start, LossOfTheNextStepIsHeldToTheWitness) {
  const std::string& whole = UninterruptedSmallRun("fp16").folder;
  const std::string name = CheckpointName(30);
  const auto checkpoint = ReadCheckpoint(whole + "/" + name);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  const auto loss = ReadNextLoss(whole, name, checkpoint->manifest_digest);
  ASSERT_TRUE(loss.has_value());
  const std::string folder = RunAsOfStep("fp16", 30);
  ASSERT_TRUE(
      WriteNextLoss(folder, name, {checkpoint->manifest_digest, 31, *loss})
          .ok());
  EXPECT_EQ(Train(folder).exit, TrainerExit::WithCode(0));
  const std::string other = RunAsOfStep("fp16", 30);
  ASSERT_TRUE(WriteNextLoss(other, name,
                            {checkpoint->manifest_digest, 31,
                             std::nextafter(*loss, 0.0f)})
                  .ok());
  const TrainerResult result = Train(other);
  EXPECT_EQ(result.exit, TrainerExit::WithCode(11)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("witness: step 31 had loss"));
}

TEST(Start, PrunedCheckpointsTakeTheirWitnessWithThem) {
  const std::string folder = FreshFolder("pruned");
  ASSERT_EQ(Train(folder, {"--keep=2"}).exit, TrainerExit::WithCode(0));
  EXPECT_EQ(Entries(folder + "/witness"),
            std::vector<std::string>{"step-000000000050.pb"});
}

TEST(Start, EarlyStopEndsTheRunAndStaysEnded) {
  const std::string folder = FreshFolder("early");
  const std::vector<std::string> flags = {"--set=run.eval_every=5",
                                          "--set=best.patience=2",
                                          "--set=best.min_delta=0.9"};
  TrainerResult result = Train(folder, flags);
  ASSERT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("Finished early: 15 of 60 steps"));
  result = Train(folder, flags);
  EXPECT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("Nothing to do"));
}

TEST(Start, LossCurveShowsTheJoin) {
  const std::string folder = RunAsOfStep("fp16", 30);
  ASSERT_EQ(Train(folder).exit, TrainerExit::WithCode(0));
  EXPECT_THAT(ReadFileOrDie(folder + "/loss.svg"),
              HasSubstr("attempt 2 from step 30"));
}

}  // namespace
}  // namespace reprise
