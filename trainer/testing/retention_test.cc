// Which checkpoints a run keeps: the newest, those of round steps, the best.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/run_layout.h"
#include "format/run_listing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/testing/child_trainer.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/small_run.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

using ::testing::UnorderedElementsAre;

// A rate too high to learn at, so that the best evaluation is an early one.
std::vector<std::string> Flags(const std::string& folder,
                               std::vector<std::string> more) {
  more.insert(more.begin(),
              {"--keep=1", "--set=optimizer.lr=0.5", "--set=run.eval_every=10",
               "--set=best.metric=accuracy"});
  return SmallRunFlags(folder, "fp32", more);
}

std::vector<uint64_t> KeptSteps(const std::string& folder) {
  std::vector<uint64_t> steps;
  for (const std::string& entry : Entries(folder)) {
    const auto position = ParseCheckpointName(entry);
    if (position.has_value()) steps.push_back(position->step);
  }
  return steps;
}

std::optional<uint64_t> BestIn(const std::string& folder) {
  const auto listing = ListRun(folder);
  EXPECT_TRUE(listing.ok()) << listing.status();
  for (const ListedCheckpoint& checkpoint : listing->checkpoints) {
    if (checkpoint.is_best) return checkpoint.position->step;
  }
  return std::nullopt;
}

// The step of the best evaluation, whatever is kept.
uint64_t BestStep() {
  const std::string folder = FreshFolder("all");
  const TrainerResult all = RunTrainer(Flags(folder, {"--keep=100"}));
  EXPECT_EQ(all.exit, TrainerExit::WithCode(0)) << all.output;
  const std::optional<uint64_t> best = BestIn(folder);
  EXPECT_TRUE(best.has_value());
  return best.value_or(0);
}

TEST(Retention, TheBestCheckpointOutlivesKillAndPrune) {
  const uint64_t best = BestStep();
  // Two prunes later at least, or the newest would be kept all the same.
  ASSERT_LT(best + 2 * kSmallRunSaveEvery, kSmallRunSteps);
  const std::string folder = FreshFolder("best");
  KillAt(Flags(folder, {}),
         {StepPoint::kBoundary, best + kSmallRunSaveEvery + 3});
  const TrainerResult rest = RunTrainer(Flags(folder, {}));
  ASSERT_EQ(rest.exit, TrainerExit::WithCode(0)) << rest.output;
  EXPECT_THAT(KeptSteps(folder), UnorderedElementsAre(best, kSmallRunSteps));
  EXPECT_EQ(BestIn(folder), best);
}

TEST(Retention, TheBestCheckpointGoesWhereNobodyWantsIt) {
  const std::string folder = FreshFolder("newest");
  const TrainerResult run =
      RunTrainer(Flags(folder, {"--set=save.keep_best=false"}));
  ASSERT_EQ(run.exit, TrainerExit::WithCode(0)) << run.output;
  EXPECT_THAT(KeptSteps(folder), UnorderedElementsAre(kSmallRunSteps));
}

TEST(Retention, RoundStepsAreKept) {
  const std::string folder = FreshFolder("round");
  const TrainerResult run = RunTrainer(Flags(
      folder, {"--set=save.keep_best=false", "--set=save.keep_every=20"}));
  ASSERT_EQ(run.exit, TrainerExit::WithCode(0)) << run.output;
  EXPECT_THAT(KeptSteps(folder), UnorderedElementsAre(20, 40, 60));
}

}  // namespace
}  // namespace reprise
