// Every model, in every precision, with every family of optimizers, killed and
// resumed with all features on: dropout, batch norm or a tied embedding,
// accumulation with checkpoints inside a step, an average of the weights,
// clipping, a gradient scaler that overflows, early stop and best, batches
// drawn ahead, saves behind training. Every record and the whole last
// checkpoint must be those of the uninterrupted run, bit for bit.
#include <signal.h>

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/testing/folder_watch.h"
#include "trainer/testing/run_comparison.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/small_run.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kSteps = 12;
constexpr int kRounds = 10;

using Family = std::tuple<std::string, std::string, std::string>;

std::vector<std::string> Flags(const std::string& folder,
                               const Family& family) {
  const auto& [model, precision, optimizer] = family;
  std::vector<std::string> flags = {
      absl::StrCat("--steps=", kSteps), "--save_every=3",
      "--set=run.eval_every=4",         "--set=schedule.warmup=2",
      "--set=precision.scaler=true",    "--set=precision.growth_interval=2",
      "--set=accumulation.steps=2",     "--set=save.at_micro=1",
      "--set=save.background=true",     "--set=ema.decay=0.9",
      "--set=best.metric=ema/loss",     "--set=best.patience=100",
      "--set=data.workers=2",           "--set=data.batch_size=4",
      "--set=data.train_limit=50",      "--set=data.test_limit=8",
      "--set=model.kind=" + model,      "--set=optimizer.kind=" + optimizer,
  };
  if (model == "gpt") {
    for (const char* flag :
         {"--set=data.name=text", "--set=data.sequence_length=16",
          "--set=data.augment=false", "--set=model.layers=2",
          "--set=model.heads=2", "--set=data.tail=span"}) {
      flags.push_back(flag);
    }
  } else if (model == "resnet18") {
    flags.push_back("--set=data.synthetic_size=32");
    // At the paper's width with one optimizer, in every precision: 134 MB a
    // checkpoint. The parts of the state are the same at any width.
    if (optimizer != "adamw") flags.push_back("--set=model.width=8");
  } else {
    flags.push_back("--set=data.synthetic_size=12");
  }
  return SmallRunFlags(folder, precision, flags);
}

class EveryFamily : public ::testing::TestWithParam<Family> {};

TEST_P(EveryFamily, KilledAndResumedIsTheUninterruptedRun) {
  const auto& [model, precision, optimizer] = GetParam();
  const std::string name = absl::StrCat(model, "-", precision, "-", optimizer);
  const std::string whole = FreshFolder("whole-" + name);
  const TrainerResult uninterrupted = RunTrainer(Flags(whole, GetParam()));
  ASSERT_EQ(uninterrupted.exit, TrainerExit::WithCode(0))
      << uninterrupted.output;
  const auto baseline = StepTable::Of(ReadMetrics(whole)->kept);
  ASSERT_TRUE(baseline.ok()) << baseline.status();
  ASSERT_EQ(baseline->last_step(), kSteps);
  const auto end = ReadCheckpoint(CheckpointFolder(whole, kSteps));
  ASSERT_TRUE(end.ok()) << end.status();

  for (int round = 0; round < kRounds; ++round) {
    const std::string folder = FreshFolder("killed-" + name, /*create=*/true);
    FolderWatch watch(folder);
    auto trainer = TrainerProcess::Start(Flags(folder, GetParam()));
    watch.WaitForStep(5 + round % 3, *trainer);
    trainer->Signal(SIGKILL);
    if (trainer->Wait() == TrainerExit::WithCode(0)) continue;
    const TrainerResult resumed = RunTrainer(Flags(folder, GetParam()));
    ASSERT_EQ(resumed.exit, TrainerExit::WithCode(0)) << resumed.output;
    if (!absl::StrContains(resumed.output, "Restored from")) continue;
    const auto records = ReadMetrics(folder);
    ASSERT_TRUE(records.ok()) << records.status();
    EXPECT_THAT(Compare(*baseline, *records), IsEmpty());
    const auto found = ReadCheckpoint(CheckpointFolder(folder, kSteps));
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_THAT(CompareState(end->snapshot, found->snapshot), IsEmpty());
    return;
  }
  FAIL() << "in " << kRounds << " rounds the trainer was never killed in time";
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryFamily,
    ::testing::Combine(::testing::Values("mlp", "convnet", "resnet18", "gpt"),
                       ::testing::Values("fp32", "bf16", "fp16"),
                       ::testing::Values("adamw", "adam", "sgd")),
    [](const auto& info) {
      return absl::StrCat(std::get<0>(info.param), "_", std::get<1>(info.param),
                          "_", std::get<2>(info.param));
    });

}  // namespace
}  // namespace reprise
