// Saves behind training that meet the next save, and a stop in the middle of
// one. The trainer runs in a child process with a file system that holds a save
// where the test wants it, so that nothing depends on how fast a machine is.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "format/io/testing/forwarding_file_system.h"
#include "format/run_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/flags.h"
#include "trainer/session.h"
#include "trainer/signals/stop_request.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/small_run.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// The save of `step` stands still at its first tensor bytes until `held`
// returns.
class HoldingFiles : public ForwardingFileSystem {
 public:
  HoldingFiles(uint64_t step, std::function<void()> held)
      : ForwardingFileSystem(FileSystem::Real()),
        part_of_path_(CheckpointName(step)),
        held_(std::move(held)) {}

  absl::Status Before(const Operation& operation) override {
    if (operation.name == "WriteAt" && !done_ &&
        absl::StrContains(operation.path, part_of_path_)) {
      done_ = true;
      held_();
    }
    return absl::OkStatus();
  }

 private:
  const std::string part_of_path_;
  const std::function<void()> held_;
  bool done_ = false;  // only the thread that saves asks
};

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

struct ChildRun {
  int status = 0;  // of waitpid
  std::string output;
  std::vector<std::string> diary;
};

// Trains the small run in a child process, saving behind.
ChildRun TrainInChild(const std::string& folder,
                      const std::vector<std::string>& more, uint64_t held_step,
                      const std::function<void()>& held,
                      const std::function<void(uint64_t)>& after_step) {
  const std::string notes = FreshFolder("notes", /*create=*/true);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen((notes + "/output").c_str(), "w", stdout) == nullptr ||
        dup2(STDOUT_FILENO, STDERR_FILENO) < 0) {
      _exit(99);
    }
    std::vector<std::string> flags = {"trainer"};
    for (const std::string& flag : SmallRunFlags(folder, "fp16", more)) {
      flags.push_back(flag);
    }
    flags.push_back("--set=save.background=true");
    std::vector<char*> argv;
    for (std::string& flag : flags) argv.push_back(flag.data());
    const auto line =
        ParseCommandLine(static_cast<int>(argv.size()), argv.data());
    if (!line.ok()) _exit(98);
    HoldingFiles files(held_step, held);
    Diary diary(notes + "/diary", after_step);
    const ExitCode code = RunSession(*line, {&diary, &files});
    std::fflush(nullptr);
    _exit(code);
  }
  ChildRun run;
  EXPECT_EQ(waitpid(child, &run.status, 0), child);
  std::ifstream output(notes + "/output");
  run.output.assign(std::istreambuf_iterator<char>(output), {});
  std::ifstream diary(notes + "/diary");
  for (std::string entry; std::getline(diary, entry);) {
    run.diary.push_back(entry);
  }
  return run;
}

int ExitCodeOf(const ChildRun& run) {
  return WIFEXITED(run.status) ? WEXITSTATUS(run.status) : -1;
}

// The save of step 10 lasts until step 25 is trained.
TEST(BackgroundSave, C31_ASaveThatIsDueMeanwhileIsSkippedOnDemand) {
  const std::string folder = FreshFolder("skip");
  absl::Notification trained;
  const ChildRun run = TrainInChild(
      folder, {"--set=save.when_busy=skip"}, 10,
      [&trained] { trained.WaitForNotification(); },
      [&trained](uint64_t step) {
        if (step == 25) trained.Notify();
      });
  ASSERT_EQ(ExitCodeOf(run), 0) << run.output;
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
  const ChildRun run = TrainInChild(
      folder, {}, 10, [&trained] { trained.WaitForNotification(); },
      [&trained](uint64_t step) {
        if (step == 20) trained.Notify();
      });
  ASSERT_EQ(ExitCodeOf(run), 0) << run.output;
  std::vector<std::string> expected;
  for (uint64_t step = 10; step <= kSmallRunSteps; step += 10) {
    expected.push_back(absl::StrCat("begin ", step));
    expected.push_back(absl::StrCat("end ", step));
  }
  EXPECT_EQ(run.diary, expected);
  ExpectUninterrupted(folder);
}

void AskToStop() {
  kill(getpid(), SIGTERM);
  while (!StopRequest::Requested()) std::this_thread::yield();
}

TEST(BackgroundSave, ASecondSignalInOneEndsAtOnceAndLosesNothingCommitted) {
  const std::string folder = FreshFolder("signals");
  const auto twice = [] {
    AskToStop();
    kill(getpid(), SIGTERM);
    // The handler ends the process; nothing of step 20 is ever written.
    while (true) pause();
  };
  const ChildRun run = TrainInChild(folder, {}, 20, twice, {});
  EXPECT_EQ(ExitCodeOf(run), 128 + SIGTERM) << run.output;
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
  const ChildRun run = TrainInChild(folder, {}, 20, AskToStop, {});
  EXPECT_EQ(ExitCodeOf(run), ExitCode::EXIT_STOPPED_ON_REQUEST) << run.output;
  EXPECT_THAT(Entries(folder), Contains(CheckpointName(20)));
  const TrainerResult rest = RunTrainer(SmallRunFlags(folder));
  ASSERT_EQ(rest.exit, TrainerExit::WithCode(0)) << rest.output;
  ExpectUninterrupted(folder);
}

}  // namespace
}  // namespace reprise
