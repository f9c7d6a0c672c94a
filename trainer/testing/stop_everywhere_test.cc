// Every signal that asks the trainer to stop, at every place where a run can
// stand: in start-up, at each point of a step, in an evaluation, in a save, at
// once or behind training. One signal: the state is saved within one
// micro-step, the process ends with exit code 13 and says what to type. A
// second signal: it ends at once, and nothing that was committed is lost. In
// both cases the process that is started again makes the uninterrupted run of
// it, bit for bit.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "format/run_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/signals/stop_request.h"
#include "trainer/testing/child_trainer.h"
#include "trainer/testing/kill_and_resume.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/small_run.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr uint64_t kSteps = 24;

// The small run in steps of two micro-steps, one checkpoint kept.
std::vector<std::string> Flags(const std::string& folder, bool behind) {
  return SmallRunFlags(
      folder, "fp16",
      {absl::StrCat("--steps=", kSteps), "--set=accumulation.steps=2",
       "--set=data.train_limit=640", "--set=run.eval_every=8",
       "--set=ema.decay=0.9", "--keep=1", "--set=save.keep_best=false",
       "--save_every=8", "--set=schedule.warmup=4",
       absl::StrCat("--set=save.background=", behind ? "true" : "false")});
}

// The uninterrupted run, whose saves are written behind or not.
const std::string& Whole(bool behind) {
  static std::map<bool, std::string>& folders =
      *new std::map<bool, std::string>;
  std::string& folder = folders[behind];
  if (!folder.empty()) return folder;
  folder = FreshFolder("whole");
  const TrainerResult run = RunTrainer(Flags(folder, behind));
  EXPECT_EQ(run.exit, TrainerExit::WithCode(0)) << run.output;
  return folder;
}

// An operation of the save of step 16 or of what follows it.
struct FileOperation {
  const char* name;
  const char* part_of_path;  // of where from or to
  bool Is(const ForwardingFileSystem::Operation& op) const {
    return op.name == name && (absl::StrContains(op.path, part_of_path) ||
                               absl::StrContains(op.to, part_of_path));
  }
};

// Where the signal comes, and where the run stands after one.
struct Where {
  const char* name;
  std::optional<Place> place;
  std::optional<FileOperation> operation;
  int number = 1;  // which of the operations
  uint64_t step;
  uint32_t micro;
  // The save is written behind; training waits until the signal has come.
  bool behind = false;
  // The process goes on from a checkpoint.
  bool resumes = false;
};

std::ostream& operator<<(std::ostream& out, const Where& where) {
  return out << where.name;
}

constexpr char kShard[] = ".tmp-step-000000000016/shard-";
constexpr char kManifest[] = ".tmp-step-000000000016/manifest";
constexpr char kCheckpoint[] = "step-000000000016";

const std::vector<Where>& Places() {
  using P = StepPoint;
  static const auto& places = *new std::vector<Where>{
      {"StartUpOfAFreshRun",
       {},
       FileOperation{"OpenOrCreate", "/lock"},
       1,
       0,
       0},
      {"StartUpReadingACheckpoint",
       {},
       FileOperation{"OpenForReading", "manifest.ckpt"},
       1,
       8,
       0,
       false,
       true},
      {"BeforeTheDraw", Place{P::kBeforeDraw, 13, 1}, {}, 1, 13, 0},
      {"AfterTheDraw", Place{P::kAfterDraw, 13, 0}, {}, 1, 12, 1},
      {"AfterTheBackwardPass", Place{P::kAfterBackward, 13, 0}, {}, 1, 12, 1},
      {"AfterTheUpdate", Place{P::kAfterUpdate, 13}, {}, 1, 13, 0},
      {"AfterTheScaler", Place{P::kAfterScaler, 13}, {}, 1, 13, 0},
      {"AfterTheSchedule", Place{P::kAfterSchedule, 13}, {}, 1, 13, 0},
      {"AtTheBoundary", Place{P::kBoundary, 13}, {}, 1, 13, 0},
      {"AnEvaluation", Place{P::kInEvaluation, 16}, {}, 1, 16, 0},
      {"TheLastEvaluation", Place{P::kInEvaluation, kSteps}, {}, 1, kSteps, 0},
      {"ASaveAtItsTensors", {}, FileOperation{"WriteAt", kShard}, 1, 16, 1},
      {"ASaveAtItsManifest",
       {},
       FileOperation{"SyncData", kManifest},
       1,
       16,
       1},
      {"ASaveAtItsCommit",
       {},
       FileOperation{"RenameNoReplace", kCheckpoint},
       1,
       16,
       1},
      // The second time: after the save of step 8.
      {"ASaveAtItsHint", {}, FileOperation{"Rename", "/latest"}, 2, 16, 1},
      {"APrune", {}, FileOperation{"Unlink", ".trash-"}, 1, 16, 1},
      {"ASaveBehindAtItsTensors",
       {},
       FileOperation{"WriteAt", kShard},
       1,
       16,
       1,
       true},
      {"ASaveBehindAtItsCommit",
       {},
       FileOperation{"RenameNoReplace", kCheckpoint},
       1,
       16,
       1,
       true},
      {"APruneBehind", {}, FileOperation{"Unlink", ".trash-"}, 1, 16, 1, true},
  };
  return places;
}

class StopEverywhere : public ::testing::TestWithParam<std::tuple<Where, int>> {
 protected:
  // Trains in `folder_`; `act` is what happens there.
  TrainerResult TrainTo(const Where& where, const std::function<void()>& act) {
    folder_ = FreshFolder("run");
    if (where.resumes)
      KillAt(Flags(folder_, false), {StepPoint::kAfterUpdate, 13});
    absl::Notification happened;
    const auto once = [&] {
      act();
      happened.Notify();
    };
    const Place next = {StepPoint::kBeforeDraw, where.step + 1, 0};
    AtPlace place(where.place.value_or(next), [&] {
      if (where.place.has_value()) {
        once();
      } else if (where.behind) {
        happened.WaitForNotification();
      }
    });
    AtOperation files(
        [&where](const ForwardingFileSystem::Operation& op) {
          return where.operation.has_value() && where.operation->Is(op);
        },
        where.number, once);
    return TrainInChild(Flags(folder_, where.behind), {&place, &files});
  }

  // The same command, and nobody asks it to stop.
  std::string TrainTheRest(const Where& where) {
    const TrainerResult rest = RunTrainer(Flags(folder_, where.behind));
    EXPECT_EQ(rest.exit, TrainerExit::WithCode(0)) << rest.output;
    // The last step's checkpoint, made when its evaluation was still to be
    // done, stays as it is.
    const bool last = where.step == kSteps;
    ExpectSameRun(folder_, Whole(where.behind), 1, /*same_state=*/!last);
    EXPECT_THAT(Entries(folder_), Not(Contains(StartsWith(".t"))));
    return rest.output;
  }

  std::string folder_;
};

TEST_P(StopEverywhere, C19_OneSignalSavesAndTheRestIsTheUninterruptedRun) {
  const auto& [where, signal] = GetParam();
  const TrainerResult stopped =
      TrainTo(where, [signal = signal] { SendToSelf(signal); });
  ASSERT_EQ(stopped.exit, TrainerExit::WithCode(13)) << stopped.output;
  EXPECT_THAT(
      stopped.output,
      HasSubstr(absl::StrCat(
          "Stopped by ", StopRequest::NameOf(signal), " at step ", where.step,
          " of ", kSteps,
          where.micro == 0 ? "\n" : absl::StrCat(" and ", where.micro))));
  EXPECT_THAT(stopped.output,
              HasSubstr("go on with   trainer --run_dir=" + folder_));
  const std::string name = CheckpointName(where.step, where.micro);
  EXPECT_THAT(stopped.output, HasSubstr(", the newest " + name + "\n"));
  EXPECT_THAT(TrainTheRest(where),
              HasSubstr("Restored from " + folder_ + "/" + name));
  if (!where.resumes) {
    EXPECT_EQ(ReadMetrics(folder_)->superseded.size(), 0)
        << "a step was done twice";
  }
}

TEST_P(StopEverywhere, ASecondSignalEndsAtOnceAndLosesNothingCommitted) {
  const auto& [where, first] = GetParam();
  // Each signal is the first one once and the second one once. A SIGHUP after a
  // SIGHUP is no second signal (stop_request.h).
  const std::vector<int> signals = StopRequest::Signals();
  const size_t at =
      std::find(signals.begin(), signals.end(), first) - signals.begin();
  const int second = signals[(at + 1) % signals.size()];
  const TrainerResult ended = TrainTo(where, [first = first, second] {
    SendToSelf(first);
    EndSelf(second);
  });
  ASSERT_EQ(ended.exit, TrainerExit::WithCode(128 + second)) << ended.output;
  EXPECT_THAT(ended.output, Not(HasSubstr("Stopped by")));
  const std::string output = TrainTheRest(where);
  EXPECT_EQ(absl::StrContains(output, "Restored from"), where.step > 0)
      << output;
}

INSTANTIATE_TEST_SUITE_P(
    All, StopEverywhere,
    ::testing::Combine(::testing::ValuesIn(Places()),
                       ::testing::ValuesIn(StopRequest::Signals())),
    [](const auto& info) {
      return absl::StrCat(std::get<0>(info.param).name, "_",
                          StopRequest::NameOf(std::get<1>(info.param)));
    });

}  // namespace
}  // namespace reprise
