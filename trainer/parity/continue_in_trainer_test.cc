// The trainer itself goes on from a file that Python's torch.save wrote in the
// middle of a run: `ckpt import` makes a checkpoint of it, the trainer refuses
// to go on until it is told what may begin anew, and then its losses are those
// that Python comes to from that file on the same batches.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/accepted_missing.h"
#include "format/checkpoint_store.h"
#include "format/run_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/parity/python_run.h"
#include "trainer/testing/child_trainer.h"
#include "trainer/testing/metrics_records.h"
#include "trainer/testing/run_comparison.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// The same model, optimizer, schedule and data as tools/parity/fixtures.py.
std::vector<std::string> Flags(const std::string& folder, uint64_t steps,
                               const std::vector<std::string>& more) {
  std::vector<std::string> flags = {
      absl::StrCat("--run_dir=", folder),
      absl::StrCat("--steps=", steps),
      "--precision=fp16",
      "--threads=1",
      "--seed=3",
      "--save_every=50",
      "--keep=100",
      "--set=model.kind=mlp",
      "--set=model.hidden=8",
      "--set=model.dropout=0",
      "--set=data.name=synthetic",
      "--set=data.synthetic_size=4",
      "--set=data.train_limit=40",
      "--set=data.test_limit=20",
      "--set=data.batch_size=8",
      "--set=data.augment=false",
      "--set=optimizer.lr=0.01",
      "--set=optimizer.weight_decay=0.1",
      "--set=optimizer.clip_norm=0",
      "--set=schedule.form=step-v1",
      "--set=schedule.step_size=3",
      "--set=schedule.gamma=0.5",
      "--set=schedule.warmup=0",
      "--set=schedule.horizon=1000",
      "--set=run.eval_every=100",
  };
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

Imported ImportSevenSteps() {
  return ImportFixture("continue_from_python", 7,
                       "--group_names=decay,no_decay --schedule_unit=applied");
}

TEST(ContinueInTrainer, IsRefusedNamingEachMissingItemAndTheFlag) {
  const Imported imported = ImportSevenSteps();
  const auto before = ReadTree(imported.folder);
  const std::string folder = FreshFolder("refused");
  const TrainerResult result =
      RunTrainer(Flags(folder, 17, {"--resume=" + imported.checkpoint}));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(11)) << result.output;
  for (const std::string& item : imported.lacking) {
    EXPECT_THAT(result.output, HasSubstr(item));
  }
  EXPECT_THAT(result.output, HasSubstr("--accept_missing=" +
                                       absl::StrJoin(imported.lacking, ",")));
  EXPECT_THAT(Entries(folder), Not(Contains(StartsWith("step-"))));
  EXPECT_THAT(ChangedFiles(before, ReadTree(imported.folder)), IsEmpty());
}

TEST(ContinueInTrainer, AListThatIsNotExactlyWhatIsMissingIsRefusedByName) {
  const Imported imported = ImportSevenSteps();
  const std::string folder = FreshFolder("wrong");
  const std::string all = absl::StrJoin(imported.lacking, ",");
  const auto train = [&](const std::string& list) {
    return RunTrainer(
        Flags(folder, 17,
              {"--resume=" + imported.checkpoint, "--accept_missing=" + list}));
  };
  std::vector<std::string> incomplete = imported.lacking;
  incomplete.pop_back();
  TrainerResult result = train(absl::StrJoin(incomplete, ","));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(11)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("lacks: " + imported.lacking.back()));

  result = train(all + ",optim.step");
  EXPECT_EQ(result.exit, TrainerExit::WithCode(2)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("optim.step (not missing)"));

  result = train(all + ",sampler.curser");
  EXPECT_EQ(result.exit, TrainerExit::WithCode(2)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("sampler.curser (no item's name)"));
  EXPECT_THAT(Entries(folder), Not(Contains(StartsWith("step-"))));

  // And where there is nothing to go on from.
  result =
      RunTrainer(Flags(FreshFolder("fresh"), 17, {"--accept_missing=mode"}));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(2)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("--accept_missing"));
  result = RunTrainer(
      Flags(FreshFolder("fresh"), 17, {"--accept_missing=mode", "--fresh"}));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(1)) << result.output;
}

void ExpectPythonsLosses(const std::string& folder, const std::string& fixture,
                         const std::string& scale) {
  const PythonsLosses found = CompareWithPython(folder, fixture, scale);
  EXPECT_EQ(found.compared, 10);
  EXPECT_EQ(found.first_ulp, 0) << "the first loss after the import";
  // Another CPU has other kernels; on the one of the fixture it is 0.
  EXPECT_LE(found.worst_ulp, 64) << "units in the last place of a loss";
}

TEST(ContinueInTrainer, TheNextLossesAreThoseOfPythonItself) {
  const Imported imported = ImportSevenSteps();
  const std::string folder = FreshFolder("python");
  const TrainerResult result =
      RunTrainer(Flags(folder, 17, Accepting(imported)));
  ASSERT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("Not in the checkpoint and begun anew, as "
                              "--accept_missing allows: " +
                              absl::StrJoin(imported.lacking, ", ")),
                    HasSubstr("Resume level STATISTICAL")));

  ExpectPythonsLosses(folder, "continue_in_trainer.txt", /*2^18*/ "48800000");

  // The next checkpoint tells what began anew, in the file and to people.
  const auto next = ReadCheckpoint(folder + "/step-000000000017");
  ASSERT_TRUE(next.ok()) << next.status();
  std::vector<std::string> recorded;
  for (Item item : next->snapshot.accepted_missing) {
    recorded.push_back(TextOf(item));
  }
  EXPECT_EQ(recorded, imported.lacking);
  EXPECT_EQ(next->snapshot.parent->step, 7);
  EXPECT_THAT(OutputOf(absl::StrCat("tools/ckpt/ckpt show ", folder)),
              HasSubstr("begun anew    at step 7: " +
                        absl::StrJoin(imported.lacking, " ")));
}

// SGD of Python's counts no steps; this file has no scheduler and no scaler
// either.
TEST(ContinueInTrainer, WithoutScheduleTheNextLossesAreThoseOfPythonItself) {
  const Imported imported = ImportFixture("continue_from_python_sgd", 4,
                                          "--group_names=decay,no_decay");
  EXPECT_THAT(imported.lacking,
              AllOf(Contains("optim.step"), Contains("sched.position"),
                    Contains("sched.base"), Contains("scaler.scale")));
  const std::string folder = FreshFolder("sgd");
  std::vector<std::string> more = Accepting(imported);
  for (const char* flag :
       {"--precision=fp32", "--set=optimizer.kind=sgd",
        "--set=optimizer.nesterov=true", "--set=optimizer.lr=0.05",
        "--set=schedule.form=constant-v1"}) {
    more.push_back(flag);
  }
  const TrainerResult result = RunTrainer(Flags(folder, 14, more));
  ASSERT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  EXPECT_THAT(result.output,
              HasSubstr("Rate in force, of the schedule that begins anew: "
                        "decay 0.05"));
  ExpectPythonsLosses(folder, "continue_in_trainer_sgd.txt", "");
  const auto end = ReadCheckpoint(folder + "/step-000000000014");
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->snapshot.counters->applied, 14);
  EXPECT_EQ(end->snapshot.schedule->position, 14);
  for (const ParameterState& state : end->snapshot.optimizer->states) {
    EXPECT_EQ(state.step, 14) << state.parameter;
  }
}

TEST(ContinueInTrainer, GoesOnInTheFolderThatWasImportedTo) {
  const Imported imported = ImportSevenSteps();
  const std::string elsewhere = FreshFolder("elsewhere");
  ASSERT_EQ(RunTrainer(Flags(elsewhere, 17, Accepting(imported))).exit,
            TrainerExit::WithCode(0));
  const TrainerResult result = RunTrainer(
      Flags(imported.folder, 17,
            {"--accept_missing=" + absl::StrJoin(imported.lacking, ",")}));
  ASSERT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  const auto a = ReadCheckpoint(elsewhere + "/step-000000000017");
  const auto b = ReadCheckpoint(imported.folder + "/step-000000000017");
  ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  EXPECT_THAT(CompareState(a->snapshot, b->snapshot), IsEmpty());
  // From now on nothing is missing, and nothing may be said to be.
  const TrainerResult again = RunTrainer(
      {absl::StrCat("--run_dir=", imported.folder), "--accept_missing=mode"});
  EXPECT_EQ(again.exit, TrainerExit::WithCode(2)) << again.output;
  EXPECT_THAT(again.output, HasSubstr("mode (not missing)"));
}

// Every record of `run` is the baseline's of that step, and all are there.
void ExpectSameRecords(const MetricsRecords& baseline,
                       const MetricsRecords& run) {
  std::map<std::pair<std::string, uint64_t>, const MetricsRecord*> expected;
  for (const MetricsRecord& record : baseline.kept) {
    expected[{record.type, record.step}] = &record;
  }
  std::set<std::pair<std::string, uint64_t>> kept;
  const auto compare = [&expected](const MetricsRecord& record) {
    const auto found = expected.find({record.type, record.step});
    ASSERT_NE(found, expected.end()) << record.type << " " << record.step;
    EXPECT_EQ(found->second->channels, record.channels)
        << record.type << " " << record.step;
  };
  for (const MetricsRecord& record : run.kept) {
    compare(record);
    EXPECT_TRUE(kept.insert({record.type, record.step}).second)
        << record.step << " is there twice";
  }
  for (const MetricsRecord& record : run.superseded) compare(record);
  EXPECT_EQ(kept.size(), expected.size());
}

TEST(ContinueInTrainer, KilledAndPlainlyResumedIsTheUninterruptedContinuation) {
  constexpr uint64_t kSteps = 150;
  const Imported imported = ImportSevenSteps();
  const std::string whole = FreshFolder("whole");
  const TrainerResult uninterrupted =
      RunTrainer(Flags(whole, kSteps, Accepting(imported)));
  ASSERT_EQ(uninterrupted.exit, TrainerExit::WithCode(0))
      << uninterrupted.output;
  const auto baseline = ReadMetrics(whole);
  ASSERT_TRUE(baseline.ok()) << baseline.status();

  const std::string folder = FreshFolder("killed");
  KillAt(Flags(folder, kSteps, Accepting(imported)),
         {StepPoint::kAfterUpdate, 120});
  const TrainerResult resumed =
      RunTrainer({absl::StrCat("--run_dir=", folder)});
  ASSERT_EQ(resumed.exit, TrainerExit::WithCode(0)) << resumed.output;
  EXPECT_THAT(resumed.output, Not(HasSubstr("accept_missing")));
  EXPECT_THAT(resumed.output, HasSubstr("Resume level BITWISE"));
  const auto records = ReadMetrics(folder);
  ASSERT_TRUE(records.ok()) << records.status();
  ExpectSameRecords(*baseline, *records);
  const auto a =
      ReadCheckpoint(absl::StrCat(whole, "/", CheckpointName(kSteps)));
  const auto b =
      ReadCheckpoint(absl::StrCat(folder, "/", CheckpointName(kSteps)));
  ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  EXPECT_THAT(CompareState(a->snapshot, b->snapshot), IsEmpty());
}

}  // namespace
}  // namespace reprise
