// The real trainer where things go wrong: no space, no permission, damaged or
// foreign checkpoints, two trainers at once, a wrong command line. What holds
// every time: the reason is said, the exit code is the right one, and no
// checkpoint that was whole is lost.
#include <sys/stat.h>
#include <sys/types.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/testing/child_trainer.h"
#include "trainer/testing/run_comparison.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/small_run.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kManifest[] = "/manifest.ckpt";

constexpr char kShard[] = "/shard-0000-0000.bin";

std::string ManifestOf(const std::string& folder, uint64_t step) {
  return CheckpointFolder(folder, step) + kManifest;
}

// Trains the run in `folder` on to its end, which must be the uninterrupted
// one. Returns what the trainer said.
std::string TrainToTheEnd(const std::string& folder) {
  const TrainerResult result = RunTrainer(SmallRunFlags(folder));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  ExpectUninterrupted(folder);
  return result.output;
}

// --- no space, no permission ---

// More than the records of the small run, less than one of its checkpoints.
constexpr uint64_t kTooSmallForACheckpoint = 64 << 10;

TrainerProcess::Restrictions MaxFileBytes(uint64_t bytes) {
  TrainerProcess::Restrictions restrictions;
  restrictions.max_file_bytes = bytes;
  return restrictions;
}

TEST(Adverse, C29_NoSpaceForACheckpointEndsWithSaveFailedAndLosesNothing) {
  const std::string folder = RunAsOfStep("fp16", 20, /*checkpoints=*/2);
  const auto before = ReadTree(folder);
  ASSERT_GT(before.at("step-000000000020/shard-0000-0000.bin").size(),
            kTooSmallForACheckpoint);
  const TrainerResult result =
      RunTrainer(SmallRunFlags(folder), MaxFileBytes(kTooSmallForACheckpoint));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(14)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("File too large"));
  EXPECT_THAT(result.output, HasSubstr("shard-0000-0000.bin"));
  const auto after = ReadTree(folder);
  for (const char* step : {"step-000000000010", "step-000000000020"}) {
    for (const char* file : {kManifest, kShard}) {
      const std::string name = std::string(step) + file;
      EXPECT_TRUE(before.at(name) == after.at(name)) << name;
    }
  }
  EXPECT_THAT(Entries(folder), Not(Contains(StartsWith(".tmp-"))));
  EXPECT_THAT(Entries(folder), Not(Contains("step-000000000030")));
  EXPECT_THAT(TrainToTheEnd(folder), HasSubstr("step-000000000020"));
}

TEST(Adverse, C29_NoSpaceForTheFirstCheckpointLeavesNoCheckpoint) {
  const std::string folder = FreshFolder("full", /*create=*/true);
  const TrainerResult result =
      RunTrainer(SmallRunFlags(folder), MaxFileBytes(kTooSmallForACheckpoint));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(14)) << result.output;
  EXPECT_THAT(Entries(folder),
              ElementsAre("lock", "loss.svg", "metrics.jsonl"));
  EXPECT_THAT(TrainToTheEnd(folder), Not(HasSubstr("Restored from")));
}

TEST(Adverse, C29_NoSpaceForTheRecordsEndsTheRunByName) {
  const std::string folder = FreshFolder("full", /*create=*/true);
  const TrainerResult result =
      RunTrainer(SmallRunFlags(folder), MaxFileBytes(2000));
  EXPECT_THAT(result.exit,
              AnyOf(TrainerExit::WithCode(12), TrainerExit::WithCode(14)))
      << result.output;
  EXPECT_THAT(result.output, HasSubstr("metrics.jsonl"));
  EXPECT_THAT(result.output,
              AnyOf(HasSubstr("File too large"), HasSubstr("disk full")));
  TrainToTheEnd(folder);
}

TrainerProcess::Restrictions ObeyFileModes() {
  TrainerProcess::Restrictions restrictions;
  restrictions.obey_file_modes = true;
  return restrictions;
}

TEST(Adverse, C29_ReadOnlyRunFolderIsABadRequestAndNothingIsWritten) {
  const std::string folder = RunAsOfStep("fp16", 20);
  const auto before = ReadTree(folder);
  ASSERT_EQ(chmod(folder.c_str(), 0555), 0);
  const TrainerResult result =
      RunTrainer(SmallRunFlags(folder), ObeyFileModes());
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(result.exit, TrainerExit::WithCode(2)) << result.output;
  EXPECT_THAT(result.output, HasSubstr(folder));
  EXPECT_THAT(result.output, HasSubstr("Permission denied"));
  EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
  EXPECT_THAT(Entries(folder), Not(Contains("lock")));
}

TEST(Adverse, C29_RunFolderThatCannotBeMadeIsABadRequest) {
  const std::string parent = FreshFolder("parent", /*create=*/true);
  ASSERT_EQ(chmod(parent.c_str(), 0555), 0);
  const TrainerResult result =
      RunTrainer(SmallRunFlags(parent + "/run"), ObeyFileModes());
  ASSERT_EQ(chmod(parent.c_str(), 0755), 0);
  EXPECT_EQ(result.exit, TrainerExit::WithCode(2)) << result.output;
  EXPECT_THAT(result.output, HasSubstr(parent + "/run"));
  EXPECT_THAT(Entries(parent), IsEmpty());
}

// --- damaged checkpoints ---

// The ways a manifest goes bad, each by name.
std::map<std::string, std::string> DamagedForms(const std::string& whole) {
  std::map<std::string, std::string> forms;
  for (size_t at : {size_t{0}, size_t{9}, whole.size() / 2, whole.size() - 1}) {
    std::string flipped = whole;
    flipped[at] ^= 0x10;
    forms[absl::StrCat("bit flipped in byte ", at)] = flipped;
  }
  forms["cut in half"] = whole.substr(0, whole.size() / 2);
  forms["last byte gone"] = whole.substr(0, whole.size() - 1);
  forms["empty"] = "";
  forms["one byte more"] = whole + '\0';
  return forms;
}

TEST(Adverse, C26_DamagedNewestIsPassedOverAloudAndTheRunIsTheSame) {
  const std::string newest =
      CheckpointFolder(UninterruptedSmallRun("fp16").folder, 30);
  std::vector<std::tuple<std::string, std::string, std::string>> forms;
  for (const char* file : {kManifest, kShard}) {
    for (const auto& [how, damaged] :
         DamagedForms(ReadFileOrDie(newest + file))) {
      forms.emplace_back(file, how, damaged);
    }
  }
  for (const auto& [file, how, damaged] : forms) {
    SCOPED_TRACE(absl::StrCat(file, ": ", how));
    const std::string folder = RunAsOfStep("fp16", 30, /*checkpoints=*/2);
    Overwrite(CheckpointFolder(folder, 30) + file, damaged);
    const std::string output = TrainToTheEnd(folder);
    EXPECT_THAT(output, HasSubstr("Passed over step-000000000030"));
    EXPECT_THAT(output,
                HasSubstr("Restored from " + CheckpointFolder(folder, 20)));
    // Set aside, not deleted.
    int kept = 0;
    for (const auto& [name, content] : ReadTree(folder + "/abandoned")) {
      kept += absl::StrContains(name, "step-000000000030") &&
              absl::EndsWith(name, file) && content == damaged;
    }
    EXPECT_EQ(kept, 1);
  }
}

TEST(Adverse, C27_CheckpointFolderWithoutManifestIsPassedOver) {
  const std::string folder = RunAsOfStep("fp16", 30, /*checkpoints=*/2);
  std::filesystem::remove(ManifestOf(folder, 30));
  EXPECT_THAT(TrainToTheEnd(folder),
              HasSubstr("Passed over step-000000000030"));
}

// Rules: LOAD-5
TEST(Adverse, LevelOfTheResumeIsSaidWithItsReason) {
  const std::string folder = RunAsOfStep("fp16", 20);
  TrainerResult result = RunTrainer(SmallRunFlags(folder, "fp16", {}));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("Resume level BITWISE: same kernels"));
  const std::string other = RunAsOfStep("fp16", 20);
  result = RunTrainer(SmallRunFlags(other, "fp16", {"--threads=2"}));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("Resume level SAME_ORDER: "));
  EXPECT_THAT(result.output, HasSubstr("threads 1 -> 2"));
}

TEST(Adverse, C26_AllDamagedIsRefusedAndNothingIsLost) {
  const std::string folder = RunAsOfStep("fp16", 30, /*checkpoints=*/3);
  for (uint64_t step : {10, 20, 30}) {
    std::string content = ReadFileOrDie(ManifestOf(folder, step));
    content[content.size() / 2] ^= 1;
    Overwrite(ManifestOf(folder, step), content);
  }
  const auto before = ReadTree(folder);
  const TrainerResult result = RunTrainer(SmallRunFlags(folder));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(11)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("step-0000000000"));
  EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
}

// --- checkpoints of something else ---

TEST(Adverse, C21_AnotherModelOnTheCommandLineIsRefusedByField) {
  const std::string folder = RunAsOfStep("fp16", 20);
  const auto before = ReadTree(folder);
  const TrainerResult result =
      RunTrainer(SmallRunFlags(folder, "fp16", {"--set=model.hidden=48"}));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(11)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("model.hidden"));
  EXPECT_THAT(result.output, HasSubstr("32"));
  EXPECT_THAT(result.output, HasSubstr("48"));
  EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
}

TEST(Adverse, C15_AnotherBatchSizeOrPrecisionIsRefusedByField) {
  const std::string folder = RunAsOfStep("fp16", 20);
  const auto before = ReadTree(folder);
  for (const auto& [flag, field] : std::map<std::string, std::string>{
           {"--set=data.batch_size=16", "data.batch_size"},
           {"--precision=bf16", "precision.mode"},
           {"--seed=8", "run.seed"}}) {
    SCOPED_TRACE(flag);
    const TrainerResult result =
        RunTrainer(SmallRunFlags(folder, "fp16", {flag}));
    EXPECT_EQ(result.exit, TrainerExit::WithCode(11)) << result.output;
    EXPECT_THAT(result.output, HasSubstr(field));
    EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
  }
}

// Rules: CONF-1 CONF-2
TEST(Adverse, C22_ChangeThatIsAllowedIsSaidAndRecorded) {
  const std::string folder = RunAsOfStep("fp16", 20);
  const TrainerResult result =
      RunTrainer(SmallRunFlags(folder, "fp16", {"--set=optimizer.lr=0.001"}));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("optimizer.lr from 0.003 to 0.001"));
  const auto end = ReadCheckpoint(CheckpointFolder(folder, 30));
  ASSERT_TRUE(end.ok()) << end.status();
  bool recorded = false;
  for (const ConfigField& field : end->snapshot.config) {
    if (field.path != "optimizer.lr") continue;
    EXPECT_EQ(field.value, "0.001");
    EXPECT_EQ(field.previous.value_or("none"), "0.003");
    recorded = true;
  }
  EXPECT_TRUE(recorded);
  const auto differences =
      Compare(UninterruptedSmallRun("fp16").steps, *ReadMetrics(folder));
  EXPECT_EQ(FirstStep(differences, "lr"), 21);
  EXPECT_EQ(FirstStep(differences, "ids"), 0);
}

// The same bytes under another name, or in another shape.
Tensor Renamed(const Tensor& tensor, const std::string& name,
               std::vector<int64_t> shape = {}) {
  if (shape.empty()) shape = tensor.shape();
  auto owner = std::make_shared<Tensor>(tensor);
  return Tensor::Shared(name, tensor.dtype(), shape, owner, tensor.data());
}

// The checkpoint in the folder is well-formed and of another architecture than
// the one its configuration makes.
TEST(Adverse, C21_CheckpointOfAnotherArchitectureIsRefusedByParameter) {
  const std::string folder = RunAsOfStep("fp16", 20);
  const auto rename = [](std::string* name) {
    if (*name == "fc1.weight") *name = "conv1.weight";
  };
  EditCheckpoint(CheckpointFolder(folder, 20), [&](Snapshot* s) {
    for (Tensor& tensor : s->parameters) {
      std::string name = tensor.name();
      rename(&name);
      tensor = Renamed(tensor, name);
    }
    for (ParameterGroup& group : s->optimizer->groups) {
      for (std::string& name : group.parameters) rename(&name);
    }
    for (ParameterState& state : s->optimizer->states) {
      rename(&state.parameter);
    }
  });
  const auto before = ReadTree(folder);
  const TrainerResult result = RunTrainer(SmallRunFlags(folder));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(11)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("model.params"));
  EXPECT_THAT(result.output, HasSubstr("fc1.weight"));
  EXPECT_THAT(result.output, HasSubstr("conv1.weight"));
  EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
}

TEST(Adverse, C21_CheckpointWithAnotherShapeIsRefusedByParameter) {
  const std::string folder = RunAsOfStep("fp16", 20);
  EditCheckpoint(CheckpointFolder(folder, 20), [](Snapshot* s) {
    // [10, 32] becomes [32, 10], moments alike: as many bytes.
    for (Tensor& tensor : s->parameters) {
      if (tensor.name() == "fc3.weight") {
        tensor = Renamed(tensor, tensor.name(), {32, 10});
      }
    }
    for (ParameterState& state : s->optimizer->states) {
      if (state.parameter != "fc3.weight") continue;
      for (Tensor& moment : state.moments) {
        moment = Renamed(moment, moment.name(), {32, 10});
      }
    }
  });
  const TrainerResult result = RunTrainer(SmallRunFlags(folder));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(11)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("fc3.weight"));
}

// Puts `major` into the envelope of a manifest and makes its CRC right. The
// layout is the same for ever: major at 12, CRC-32 of the first 44 bytes at 44.
void SetMajor(const std::string& manifest, uint32_t major) {
  std::string content = ReadFileOrDie(manifest);
  const auto put = [&](size_t at, uint32_t value) {
    for (int i = 0; i < 4; ++i) content[at + i] = (value >> (8 * i)) & 0xff;
  };
  put(12, major);
  put(44, crc32(0, reinterpret_cast<const Bytef*>(content.data()), 44));
  Overwrite(manifest, content);
}

TEST(Adverse, C37_NewerVersionStopsTheRunThoughAnOlderCheckpointIsWhole) {
  const std::string folder = RunAsOfStep("fp16", 30, /*checkpoints=*/2);
  SetMajor(ManifestOf(folder, 30), 1000);
  const auto before = ReadTree(folder);
  const TrainerResult result = RunTrainer(SmallRunFlags(folder));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(11)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("step-000000000030"));
  EXPECT_THAT(result.output, HasSubstr("newer"));
  EXPECT_THAT(result.output, HasSubstr("1000"));
  EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
}

// --- two at once ---

TEST(Adverse, C30_SecondTrainerInTheFolderIsRefusedNamingTheHolder) {
  const std::string folder = FreshFolder("shared");
  std::map<std::string, std::string> before, after;
  TrainerResult second;
  pid_t holder = 0;
  const TrainerResult first =
      TrainAndMeet(SmallRunFlags(folder), {StepPoint::kBoundary, 2},
                   [&](pid_t standing_still) {
                     holder = standing_still;
                     before = ReadTree(folder);
                     second = RunTrainer(SmallRunFlags(folder));
                     after = ReadTree(folder);
                   });
  EXPECT_EQ(second.exit, TrainerExit::WithCode(2)) << second.output;
  EXPECT_THAT(second.output, HasSubstr(absl::StrCat(holder)));
  EXPECT_THAT(ChangedFiles(before, after), IsEmpty());
  EXPECT_EQ(first.exit, TrainerExit::WithCode(0)) << first.output;
  ExpectUninterrupted(folder);
}

TEST(Adverse, C30_LockOfAKilledTrainerIsTakenOver) {
  const std::string folder = FreshFolder("stale");
  KillAt(SmallRunFlags(folder), {StepPoint::kBoundary, 2});
  EXPECT_THAT(Entries(folder), Contains("lock"));
  TrainToTheEnd(folder);
}

// --- command line ---

// What is refused before a run folder is made, and what the message names.
struct BadCommandLine {
  std::vector<std::string> flags;
  std::vector<std::string> named;
  std::vector<int> codes;
};

TEST(Adverse, WrongCommandLineIsRefusedByNameAndMakesNoRunFolder) {
  const BadCommandLine cases[] = {
      {{"--stepz=5"}, {"stepz"}, {1}},
      {{"--steps=five"}, {"steps", "five"}, {1}},
      {{"--steps=0"}, {"run.steps"}, {1, 2}},
      {{"extra"}, {"extra"}, {1}},
      {{"--precision=fp8"}, {"precision.mode", "fp8"}, {1, 2}},
      {{"--set=data.batch_size=zero"}, {"data.batch_size", "zero"}, {1, 2}},
      {{"--set=data.batch_size=0"}, {"data.batch_size"}, {1, 2}},
      {{"--set=data.bach_size=8"}, {"data.bach_size"}, {1, 2}},
      {{"--set=data.batch_size"}, {"data.batch_size"}, {1}},
      {{"--set=model.dropout=1"}, {"model.dropout"}, {1, 2}},
      {{"--set=optimizer.lr=nan"}, {"optimizer.lr"}, {1, 2}},
      {{"--config=/nonexistent/run.textproto"},
       {"/nonexistent/run.textproto"},
       {1, 2}},
      {{"--device=tpu"}, {"run.device", "tpu"}, {1, 2}},
  };
  for (const BadCommandLine& bad : cases) {
    SCOPED_TRACE(bad.flags[0]);
    const std::string folder = FreshFolder("never");
    const TrainerResult result =
        RunTrainer(SmallRunFlags(folder, "fp16", bad.flags));
    EXPECT_EQ(result.exit.how, TrainerExit::How::kCode);
    EXPECT_THAT(bad.codes, Contains(result.exit.number)) << result.output;
    for (const std::string& name : bad.named) {
      EXPECT_THAT(result.output, HasSubstr(name));
    }
    EXPECT_FALSE(std::filesystem::exists(folder));
  }
}

TEST(Adverse, MissingDataIsABadRequestNamingTheFile) {
  const std::string folder = FreshFolder("no-data");
  const TrainerResult result = RunTrainer(SmallRunFlags(
      folder, "fp16",
      {"--set=data.name=fashion_mnist", "--data_dir=/nonexistent/data"}));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(2)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("/nonexistent/data"));
}

// No GPU is visible to the process (trainer_process.cc), whatever the machine.
TEST(Adverse, CudaWithoutADeviceIsUnsupportedAndMakesNoRunFolder) {
  const std::string folder = FreshFolder("cuda");
  const TrainerResult result =
      RunTrainer(SmallRunFlags(folder, "fp16", {"--device=cuda"}));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(10)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("cuda"));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Adverse, FreshMovesTheOldRunAsideAndDeletesNothing) {
  const std::string folder = RunAsOfStep("fp16", 20, /*checkpoints=*/2);
  for (int turn = 0; turn < 2; ++turn) {
    const auto before = ReadTree(folder);
    const TrainerResult result =
        RunTrainer(SmallRunFlags(folder, "fp16", {"--fresh"}));
    EXPECT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
    EXPECT_THAT(result.output, HasSubstr("/abandoned/"));
    EXPECT_THAT(result.output, Not(HasSubstr("Restored from")));
    // Each file that was there is there, with its content, perhaps one folder
    // further in.
    const auto after = ReadTree(folder);
    for (const auto& [name, content] : before) {
      if (name == "latest") continue;  // a hint, rewritten at every save
      bool found = false;
      for (const auto& [other, other_content] : after) {
        found |= (other == name || (absl::StartsWith(other, "abandoned/") &&
                                    absl::EndsWith(other, "/" + name))) &&
                 other_content == content;
      }
      EXPECT_TRUE(found) << name << " of turn " << turn;
    }
    EXPECT_EQ(Entries(folder + "/abandoned").size(), turn + 1);
    ExpectUninterrupted(folder);
  }
}

}  // namespace
}  // namespace reprise
