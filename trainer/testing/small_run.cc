#include "trainer/testing/small_run.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

namespace fs = std::filesystem;

std::vector<std::string> SmallRunFlags(const std::string& run_folder,
                                       const std::string& precision,
                                       const std::vector<std::string>& more) {
  std::vector<std::string> flags = {
      absl::StrCat("--run_dir=", run_folder),
      absl::StrCat("--precision=", precision),
      absl::StrCat("--steps=", kSmallRunSteps),
      absl::StrCat("--save_every=", kSmallRunSaveEvery),
      "--keep=100",
      "--threads=1",
      "--seed=7",
      "--set=model.kind=mlp",
      "--set=model.hidden=32",
      "--set=data.name=synthetic",
      absl::StrCat("--set=data.train_limit=",
                   kSmallRunStepsAnEpoch * kSmallRunBatch),
      "--set=data.test_limit=100",
      absl::StrCat("--set=data.batch_size=", kSmallRunBatch),
      "--set=schedule.warmup=5",
      "--set=run.eval_every=20",
      "--set=precision.growth_interval=5",
      "--set=precision.init_scale=16777216",
  };
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

std::string CheckpointFolder(const std::string& run_folder, uint64_t step) {
  return absl::StrFormat("%s/step-%012d", run_folder, step);
}

const Uninterrupted& UninterruptedSmallRun(const std::string& precision) {
  static auto& runs =
      *new std::map<std::string, std::unique_ptr<Uninterrupted>>;
  std::unique_ptr<Uninterrupted>& run = runs[precision];
  if (run != nullptr) return *run;
  run = std::make_unique<Uninterrupted>();
  run->folder = FreshFolder(absl::StrCat("uninterrupted-", precision));
  const TrainerResult result =
      RunTrainer(SmallRunFlags(run->folder, precision));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  const auto records = ReadMetrics(run->folder);
  EXPECT_TRUE(records.ok()) << records.status();
  if (!records.ok()) return *run;
  EXPECT_EQ(records->superseded.size(), 0);
  auto steps = StepTable::Of(records->kept);
  EXPECT_TRUE(steps.ok()) << steps.status();
  if (steps.ok()) run->steps = *std::move(steps);
  EXPECT_EQ(run->steps.last_step(), kSmallRunSteps);
  auto end = ReadCheckpoint(CheckpointFolder(run->folder, kSmallRunSteps));
  EXPECT_TRUE(end.ok()) << end.status();
  if (end.ok()) run->end = std::move(end->snapshot);
  return *run;
}

void ExpectUninterrupted(const std::string& folder,
                         const std::string& precision) {
  const Uninterrupted& expected = UninterruptedSmallRun(precision);
  const auto records = ReadMetrics(folder);
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_THAT(Compare(expected.steps, *records), IsEmpty());
  const auto end = ReadCheckpoint(CheckpointFolder(folder, kSmallRunSteps));
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_THAT(CompareState(expected.end, end->snapshot), IsEmpty());
  EXPECT_THAT(Entries(folder), Not(Contains(StartsWith(".tmp-"))));
}

std::string RunAsOfStep(const std::string& precision, uint64_t step,
                        int checkpoints) {
  const std::string& source = UninterruptedSmallRun(precision).folder;
  const std::string folder = FreshFolder(absl::StrCat("as-of-", step), true);
  for (int i = 0; i < checkpoints; ++i) {
    const uint64_t saved = step - i * kSmallRunSaveEvery;
    fs::copy(CheckpointFolder(source, saved), CheckpointFolder(folder, saved),
             fs::copy_options::recursive);
  }
  std::ifstream in(absl::StrCat(source, "/metrics.jsonl"));
  std::ofstream out(absl::StrCat(folder, "/metrics.jsonl"));
  for (std::string line; std::getline(in, line);) {
    const auto record = ParseMetricsLine(line);
    if (record.ok() && record->step <= step) out << line << "\n";
  }
  return folder;
}

void EditCheckpoint(const std::string& path,
                    const std::function<void(Snapshot*)>& edit,
                    bool keep_witness) {
  auto loaded = ReadCheckpoint(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  Snapshot& snapshot = loaded->snapshot;
  if (!keep_witness) {
    snapshot.witness.reset();
    snapshot.MarkNotApplicable(Item::WITNESS, "taken out by a test");
  }
  edit(&snapshot);
  fs::remove_all(path);
  CheckpointStore::Options options;
  options.format_major = 2;
  auto store =
      CheckpointStore::Open(fs::path(path).parent_path().string(), options);
  ASSERT_TRUE(store.ok()) << store.status();
  const auto saved = (*store)->Save(snapshot);
  ASSERT_TRUE(saved.ok()) << saved.status();
}

uint64_t TestSeed() {
  uint64_t seed = 0;
  const char* given = std::getenv("REPRISE_SEED");
  if (given == nullptr || !absl::SimpleAtoi(given, &seed)) {
    seed = std::random_device()() & 0x7fffffff;
  }
  const char* target = std::getenv("TEST_TARGET");
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::printf(
      "Seed %d. Replay: bazel test %s --test_env=REPRISE_SEED=%d "
      "--test_filter=%s.%s --test_output=all\n",
      static_cast<int>(seed),
      target != nullptr ? target : "//trainer/testing/...",
      static_cast<int>(seed), test->test_suite_name(), test->name());
  return seed;
}

}  // namespace reprise
