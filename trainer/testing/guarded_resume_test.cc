// What a resume is held to: every field of the configuration that must match,
// and each form of --resume, with what is there and what is not.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/config/config.h"
#include "trainer/testing/child_trainer.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/small_run.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

// Another value of the field's type than `value`.
std::string Another(const std::string& path, const std::string& value) {
  for (const char* other : {"other", "false", "true", "7", "8", "0.125"}) {
    TrainerConfig config = Defaults();
    if (value != other && SetField(&config, path, other).ok()) return other;
  }
  ADD_FAILURE() << path << " has no other value";
  return value;
}

// By reflection: a field that is added is tested too.
// Rules: CONF-1
TEST(GuardedResume, EveryFieldThatMustMatchIsRefusedByNameOldAndNew) {
  const std::string folder = RunAsOfStep("fp16", 20);
  const auto checkpoint = ReadCheckpoint(CheckpointFolder(folder, 20));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  const auto before = ReadTree(folder);
  int fields = 0;
  for (const ConfigField& field : checkpoint->snapshot.config) {
    if (field.rule != vocabulary::v1::MUST_MATCH) continue;
    SCOPED_TRACE(field.path);
    const std::string asked = Another(field.path, field.value);
    const TrainerResult result = TrainInChild(
        {"--run_dir=" + folder, absl::StrCat("--set=", field.path, "=", asked)},
        {});
    EXPECT_EQ(result.exit, TrainerExit::WithCode(11)) << result.output;
    EXPECT_THAT(result.output,
                HasSubstr(absl::StrCat(field.path, ": the checkpoint has ",
                                       field.value, ", asked for ", asked)));
    ++fields;
  }
  EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
  std::printf("%d fields must match\n", fields);
  EXPECT_GT(fields, 40);
}

// A field that may change is applied, said, and recorded in the next file.
// Rules: CONF-2
TEST(GuardedResume, C22_EveryFieldThatMayChangeIsSaidAndRecorded) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"data.prefetch", "3"},
      {"data.test_limit", "50"},
      {"data.workers", "0"},
      {"model.frozen", "^fc1"},
      {"optimizer.beta1", "0.8"},
      {"optimizer.beta2", "0.99"},
      {"optimizer.clip_norm", "0"},
      {"optimizer.clip_value", "0.5"},
      {"optimizer.eps", "1e-07"},
      {"optimizer.lr", "0.001"},
      {"optimizer.weight_decay", "0.5"},
      {"run.eval_every", "7"},
      {"run.keep_last", "5"},
      {"run.log_every", "3"},
      {"run.max_seconds", "1000"},
      {"run.save_every", "6"},
      {"run.threads", "2"},
      {"save.background", "true"},
      {"save.keep_best", "false"},
      {"save.keep_every", "30"},
      {"save.when_busy", "skip"}};
  // These need what the small run has not, and are tested elsewhere: a GPU,
  // steps of several micro-steps.
  const std::vector<std::string> elsewhere = {"run.device", "save.at_micro"};
  const std::string folder = RunAsOfStep("fp16", 20);
  const auto old = ReadCheckpoint(CheckpointFolder(folder, 20));
  ASSERT_TRUE(old.ok()) << old.status();
  std::vector<std::string> flags = {"--run_dir=" + folder};
  for (const auto& [path, value] : changes) {
    flags.push_back(absl::StrCat("--set=", path, "=", value));
  }
  const TrainerResult result = RunTrainer(flags);
  ASSERT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  const auto next = ReadCheckpoint(CheckpointFolder(folder, 24));
  ASSERT_TRUE(next.ok()) << next.status();
  size_t changed = 0, may_change = 0;
  for (size_t i = 0; i < next->snapshot.config.size(); ++i) {
    const ConfigField& before = old->snapshot.config[i];
    const ConfigField& field = next->snapshot.config[i];
    ASSERT_EQ(field.path, before.path);
    may_change += field.rule == vocabulary::v1::MAY_CHANGE;
    for (const auto& [path, value] : changes) {
      if (path != field.path) continue;
      ++changed;
      EXPECT_EQ(field.value, value) << path;
      EXPECT_EQ(field.previous.value_or("nothing"), before.value) << path;
      EXPECT_THAT(result.output,
                  HasSubstr(absl::StrCat("Changed on resume: ", path, " from ",
                                         before.value, " to ", value, "\n")));
    }
  }
  EXPECT_EQ(changed, changes.size());
  // A field that is added to the schema must be added here.
  EXPECT_EQ(may_change, changes.size() + elsewhere.size());
}

// --- every form of --resume ---

struct Ask {
  const char* name;
  // Of {run}: as of step 40 with 20, 30 and 40; {empty}: a folder with nothing;
  // {absent}: no folder; {other}: the checkpoint 30 of another folder.
  const char* run_dir;
  const char* resume;
  int code;
  const char* said;  // {run} and so on are replaced
};

std::ostream& operator<<(std::ostream& out, const Ask& ask) {
  return out << ask.name;
}

class EveryResume : public ::testing::TestWithParam<Ask> {};

TEST_P(EveryResume, IsHeldTo) {
  const Ask& ask = GetParam();
  const std::string run = RunAsOfStep("fp16", 40, /*checkpoints=*/3);
  const std::string empty = FreshFolder("empty", /*create=*/true);
  const std::string absent = FreshFolder("absent");
  const std::string other =
      CheckpointFolder(RunAsOfStep("fp16", 30, /*checkpoints=*/1), 30);
  const std::string damaged =
      CheckpointFolder(RunAsOfStep("fp16", 30, /*checkpoints=*/1), 30);
  Overwrite(damaged + "/manifest.ckpt",
            ReadFileOrDie(damaged + "/manifest.ckpt").substr(0, 500));
  const std::string file = FreshFolder("file", /*create=*/true) + "/file";
  std::ofstream(file) << "no folder";
  const auto filled = [&](std::string text) {
    return absl::StrReplaceAll(text, {{"{run}", run},
                                      {"{empty}", empty},
                                      {"{absent}", absent},
                                      {"{other}", other},
                                      {"{damaged}", damaged},
                                      {"{file}", file}});
  };
  const std::string folder = filled(ask.run_dir);
  const bool was_there = fs::exists(folder);
  using Files = std::map<std::string, std::string>;
  const Files before = was_there ? ReadTree(folder) : Files();
  const TrainerResult result = TrainInChild(
      SmallRunFlags(folder, "fp16",
                    {absl::StrCat("--resume=", filled(ask.resume))}),
      {});
  EXPECT_EQ(result.exit, TrainerExit::WithCode(ask.code)) << result.output;
  EXPECT_THAT(result.output, HasSubstr(filled(ask.said)));
  if (ask.code == 0) return;
  EXPECT_EQ(fs::exists(folder), was_there);
  if (was_there) {
    EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
  }
}

constexpr char kFresh[] = "Starting on step 0 of 60, attempt 1";

INSTANTIATE_TEST_SUITE_P(
    Form, EveryResume,
    ::testing::Values(
        Ask{"NewestGoesOn", "{run}", "newest", 0,
            "Restored from {run}/step-000000000040"},
        Ask{"NewestOfNothingIsFresh", "{empty}", "newest", 0, kFresh},
        Ask{"NewestWithoutAFolderIsFresh", "{absent}", "newest", 0, kFresh},
        Ask{"RequiredGoesOn", "{run}", "required", 0,
            "Restored from {run}/step-000000000040"},
        Ask{"RequiredOfNothing", "{empty}", "required", 2,
            "{empty}: expected a checkpoint to resume from, found none"},
        Ask{"RequiredWithoutAFolder", "{absent}", "required", 2,
            "found no such folder"},
        Ask{"NeverBegins", "{empty}", "never", 0, kFresh},
        Ask{"NeverWithoutAFolderBegins", "{absent}", "never", 0, kFresh},
        Ask{"NeverOverARun", "{run}", "never", 2,
            "{run}: expected no run there, found {run}/step-000000000040"},
        Ask{"Step", "{run}", "30", 0, "Restored from {run}/step-000000000030"},
        Ask{"StepWithLeadingZeros", "{run}", "0030", 0,
            "Restored from {run}/step-000000000030"},
        Ask{"StepThatIsNotThere", "{run}", "25", 2, "{run}/step-000000000025"},
        Ask{"StepOfNothing", "{empty}", "20", 2, "{empty}/step-000000000020"},
        Ask{"StepWithoutAFolder", "{absent}", "20", 2,
            "{absent}/step-000000000020"},
        Ask{"StepBelowZero", "{run}", "-20", 2, "-20"},
        Ask{"StepTooGreatForAnyRun", "{run}", "99999999999999999999", 2,
            "99999999999999999999"},
        Ask{"WordThatIsNone", "{run}", "newst", 2, "newst"},
        Ask{"Nothing", "{run}", "", 1,
            "--resume: expected newest, required, never"},
        Ask{"PathInTheRunFolder", "{run}", "{run}/step-000000000030", 0,
            "Restored from {run}/step-000000000030"},
        Ask{"PathElsewhere", "{empty}", "{other}", 0, "Restored from {other}"},
        Ask{"PathElsewhereOverARun", "{run}", "{other}", 2,
            "expected a run folder without checkpoints, found 3 in {run}"},
        Ask{"PathThatIsNotThere", "{empty}", "{absent}", 2, "{absent}"},
        Ask{"PathOfAFile", "{empty}", "{file}", 11, "{file}"},
        Ask{"PathOfAFolderThatIsNoCheckpoint", "{absent}", "{empty}", 11,
            "{empty}"},
        Ask{"PathOfADamagedCheckpoint", "{empty}", "{damaged}", 11,
            "found 500"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace reprise
