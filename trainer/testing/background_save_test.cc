// Saves behind training that meet the next save, and a stop in the middle of
// one. The trainer runs in a child process with a file system that holds a save
// where the test wants it, so that nothing depends on how fast a machine is.
#include <signal.h>

#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "format/run_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/testing/child_trainer.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/small_run.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Writes down what happens, in its order.
class Diary : public TrainObserver {
 public:
  Diary(const std::string& path, std::function<void(uint64_t)> after_step)
      : out_(path), after_step_(std::move(after_step)) {}

  void OnStep(const StepEvent& event) override {
    if (after_step_) after_step_(event.step);
  }
  void OnSaveBegin(const Snapshot& state) override {
    out_ << "begin " << state.step << std::endl;
  }
  void OnSaveEnd(uint64_t step, uint32_t,
                 const absl::StatusOr<std::string>& digest) override {
    out_ << (digest.ok() ? "end " : "failed ") << step << std::endl;
  }

 private:
  std::ofstream out_;
  const std::function<void(uint64_t)> after_step_;
};

struct ChildRun : TrainerResult {
  std::vector<std::string> diary;
};

// Trains the small run, saving behind; the save of `held_step` stands still at
// its first tensor bytes until `held` returns.
ChildRun TrainBehind(const std::string& folder,
                     const std::vector<std::string>& more, uint64_t held_step,
                     const std::function<void()>& held,
                     const std::function<void(uint64_t)>& after_step = {}) {
  const std::string notes = FreshFolder("diary");
  Diary diary(notes, after_step);
  AtOperation files(
      [part = CheckpointName(held_step)](const auto& operation) {
        return operation.name == "WriteAt" &&
               absl::StrContains(operation.path, part);
      },
      /*number=*/1, held);
  std::vector<std::string> flags = more;
  flags.push_back("--set=save.background=true");
  ChildRun run;
  static_cast<TrainerResult&>(run) =
      TrainInChild(SmallRunFlags(folder, "fp16", flags), {&diary, &files});
  std::ifstream in(notes);
  for (std::string entry; std::getline(in, entry);) run.diary.push_back(entry);
  return run;
}

// The save of step 10 lasts until step 25 is trained.
TEST(BackgroundSave, C31_ASaveThatIsDueMeanwhileIsSkippedOnDemand) {
  const std::string folder = FreshFolder("skip");
  absl::Notification trained;
  const ChildRun run = TrainBehind(
      folder, {"--set=save.when_busy=skip"}, 10,
      [&trained] { trained.WaitForNotification(); },
      [&trained](uint64_t step) {
        if (step == 25) trained.Notify();
      });
  ASSERT_EQ(run.exit, TrainerExit::WithCode(0)) << run.output;
  EXPECT_THAT(run.output, HasSubstr("Skipped the save of step 20: the one "
                                    "before is still being written"));
  EXPECT_THAT(run.diary, Not(Contains("begin 20")));
  EXPECT_THAT(Entries(folder), Contains(CheckpointName(10)));
  EXPECT_THAT(Entries(folder), Not(Contains(CheckpointName(20))));
  // The last step's is never skipped.
  EXPECT_THAT(run.diary, Contains(absl::StrCat("end ", kSmallRunSteps)));
  ExpectUninterrupted(folder);
}

// The save of step 10 lasts until step 20 is trained, whose own is due then.
TEST(BackgroundSave, C31_ASaveThatIsDueMeanwhileWaits) {
  const std::string folder = FreshFolder("wait");
  absl::Notification trained;
  const ChildRun run = TrainBehind(
      folder, {}, 10, [&trained] { trained.WaitForNotification(); },
      [&trained](uint64_t step) {
        if (step == 20) trained.Notify();
      });
  ASSERT_EQ(run.exit, TrainerExit::WithCode(0)) << run.output;
  std::vector<std::string> expected;
  for (uint64_t step = 10; step <= kSmallRunSteps; step += 10) {
    expected.push_back(absl::StrCat("begin ", step));
    expected.push_back(absl::StrCat("end ", step));
  }
  EXPECT_EQ(run.diary, expected);
  ExpectUninterrupted(folder);
}

TEST(BackgroundSave, ASecondSignalInOneEndsAtOnceAndLosesNothingCommitted) {
  const std::string folder = FreshFolder("signals");
  const ChildRun run = TrainBehind(folder, {}, 20, [] {
    SendToSelf(SIGTERM);
    // Ends the process; nothing of step 20 is ever written.
    EndSelf(SIGTERM);
  });
  EXPECT_EQ(run.exit, TrainerExit::WithCode(128 + SIGTERM)) << run.output;
  EXPECT_THAT(Entries(folder), Contains(CheckpointName(10)));
  EXPECT_THAT(Entries(folder), Not(Contains(CheckpointName(20))));
  EXPECT_THAT(run.diary, Contains("begin 20"));
  const TrainerResult rest = RunTrainer(SmallRunFlags(folder));
  ASSERT_EQ(rest.exit, TrainerExit::WithCode(0)) << rest.output;
  EXPECT_THAT(rest.output,
              HasSubstr("Restored from " + CheckpointFolder(folder, 10)));
  ExpectUninterrupted(folder);
}

TEST(BackgroundSave, OneSignalInOneWaitsForItAndSavesTheLastStep) {
  const std::string folder = FreshFolder("signal");
  const ChildRun run = TrainBehind(folder, {}, 20, [] { SendToSelf(SIGTERM); });
  EXPECT_EQ(run.exit, TrainerExit::WithCode(13)) << run.output;
  EXPECT_THAT(Entries(folder), Contains(CheckpointName(20)));
  const TrainerResult rest = RunTrainer(SmallRunFlags(folder));
  ASSERT_EQ(rest.exit, TrainerExit::WithCode(0)) << rest.output;
  ExpectUninterrupted(folder);
}

TEST(BackgroundSave, C31_KilledInOneIsTheUninterruptedRun) {
  const std::string folder = FreshFolder("killed");
  const ChildRun run = TrainBehind(folder, {}, 20, [] { EndSelf(SIGKILL); });
  EXPECT_EQ(run.exit, TrainerExit::BySignal(SIGKILL)) << run.output;
  EXPECT_THAT(Entries(folder), Not(Contains(CheckpointName(20))));
  const TrainerResult rest =
      RunTrainer(SmallRunFlags(folder, "fp16", {"--set=save.background=true"}));
  ASSERT_EQ(rest.exit, TrainerExit::WithCode(0)) << rest.output;
  EXPECT_THAT(rest.output,
              HasSubstr("Restored from " + CheckpointFolder(folder, 10)));
  ExpectUninterrupted(folder);
}

}  // namespace
}  // namespace reprise
