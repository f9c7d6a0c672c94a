// The forms in which people save a run of Python's (tools/parity/
// continuations.py), each gone on with by the trainer with Python's own losses.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/checkpoint_store.h"
#include "format/run_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/parity/python_run.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// How far the losses may be apart where the kernels are not the fixtures'. On
// the processor that they were recorded on, the figures are in
// trainer/README.md.
constexpr uint64_t kMostUlp = 64;

std::vector<std::string> Flags(const std::string& folder, uint64_t steps,
                               std::vector<std::string> more) {
  for (const char* flag :
       {"--threads=1", "--seed=3", "--save_every=50", "--keep=100",
        "--set=model.dropout=0", "--set=data.train_limit=40",
        "--set=data.test_limit=20", "--set=data.batch_size=8",
        "--set=data.augment=false", "--set=optimizer.weight_decay=0.1",
        "--set=run.eval_every=100"}) {
    more.push_back(flag);
  }
  more.push_back(absl::StrCat("--run_dir=", folder));
  more.push_back(absl::StrCat("--steps=", steps));
  return more;
}

std::vector<std::string> Mlp() {
  return {"--set=model.kind=mlp", "--set=model.hidden=8",
          "--set=data.name=synthetic", "--set=data.synthetic_size=4",
          "--set=optimizer.clip_norm=0"};
}

std::vector<std::string> Joined(std::vector<std::string> a,
                                const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Trains ten steps from the checkpoint and compares them with Python's.
void ExpectPythonsNextSteps(const std::string& name, const Imported& imported,
                            uint64_t step,
                            const std::vector<std::string>& flags,
                            const std::string& scale = "") {
  const std::string folder = FreshFolder("on-" + name);
  const TrainerResult result =
      RunTrainer(Flags(folder, step + 10, Joined(flags, Accepting(imported))));
  ASSERT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  const PythonsLosses found = CompareWithPython(folder, name + ".txt", scale);
  EXPECT_EQ(found.compared, 10);
  EXPECT_LE(found.first_ulp, kMostUlp);
  EXPECT_LE(found.worst_ulp, kMostUlp);
}

// Takes a wrapper's prefix off every name; what is lacking stays the same.
Imported Renamed(const Imported& imported, const std::string& rules,
                 uint64_t step) {
  Imported renamed = imported;
  renamed.folder = imported.folder + "-renamed";
  renamed.checkpoint = absl::StrCat(renamed.folder, "/", CheckpointName(step));
  OutputOf(absl::StrCat("tools/ckpt_migrate/ckpt_migrate ", imported.folder,
                        " --out=", renamed.folder, " '--rename=", rules, "'"));
  return renamed;
}

TEST(ContinueForms, C21_NanoGptWithTheNamesOfACompiledModelAndATiedEmbedding) {
  const Imported imported =
      ImportFixture("nanogpt", 6, "--group_names=decay,no_decay");
  EXPECT_THAT(imported.output,
              AllOf(HasSubstr("_orig_mod.lm_head.weight is "
                              "_orig_mod.transformer.wte.weight"),
                    HasSubstr("ckpt_migrate --rename")));
  EXPECT_THAT(imported.lacking, Contains("sched.position"));
  const std::vector<std::string> flags = {
      "--precision=fp32",
      "--set=model.kind=gpt",
      "--set=model.hidden=8",
      "--set=model.layers=1",
      "--set=model.heads=2",
      "--set=data.sequence_length=16",
      "--set=optimizer.lr=0.01",
      "--set=optimizer.beta2=0.95",
      "--set=optimizer.clip_norm=1",
      "--set=schedule.form=constant-v1",
      "--set=schedule.warmup=0",
  };
  // As it is, no name is the trainer's, and it says so.
  const std::string folder = FreshFolder("as-it-is");
  const TrainerResult refused =
      RunTrainer(Flags(folder, 16, Joined(flags, Accepting(imported))));
  EXPECT_EQ(refused.exit, TrainerExit::WithCode(11)) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("_orig_mod.transformer."));
  EXPECT_THAT(Entries(folder), Not(Contains(HasSubstr("step-"))));

  const Imported renamed =
      Renamed(imported, "^_orig_mod\\.(transformer\\.)? -> ", 6);
  ExpectPythonsNextSteps("nanogpt", renamed, 6, flags);
  // nanoGPT's own values are there still.
  const auto after = ReadCheckpoint(renamed.checkpoint);
  ASSERT_TRUE(after.ok()) << after.status();
  std::vector<std::string> names;
  for (const UserValue& value : after->snapshot.user) {
    names.push_back(value.name);
  }
  EXPECT_THAT(names, AllOf(Contains("model_args.n_embd"),
                           Contains("config.learning_rate")));
  ASSERT_EQ(after->snapshot.user_tensors.size(), 1);
  EXPECT_EQ(after->snapshot.user_tensors[0].name(), "best_val_loss");
}

TEST(ContinueForms, C23_MatricesInBf16WithTheirFp32MastersAndALambdaLR) {
  const Imported imported =
      ImportFixture("bf16_masters", 7,
                    "--group_names=decay,no_decay --schedule_unit=applied");
  EXPECT_THAT(imported.lacking, Not(Contains("master")));
  const auto read = ReadCheckpoint(imported.checkpoint);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->snapshot.masters.size(), 3);
  EXPECT_EQ(read->snapshot.masters[0].dtype(), DType::kF32);
  ExpectPythonsNextSteps(
      "bf16_masters", imported, 7,
      Joined(Mlp(), {"--precision=bf16", "--set=model.dtype=bf16",
                     "--set=optimizer.lr=0.02", "--set=schedule.warmup=4",
                     "--set=schedule.horizon=60"}));
}

TEST(ContinueForms, C23_MastersThatAreNotThereAreMissedAndNotMadeUp) {
  // The same file, read as if its masters were something else.
  const Imported imported = ImportFixture(
      "bf16_masters", 7,
      "--group_names=decay,no_decay --schedule_unit=applied --master_key=");
  EXPECT_THAT(imported.lacking, Contains("master"));
  const TrainerResult result = RunTrainer(
      Flags(FreshFolder("no-masters"), 17,
            Joined(Joined(Mlp(), {"--precision=bf16", "--set=model.dtype=bf16",
                                  "--set=schedule.warmup=4"}),
                   Accepting(imported))));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(11)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("lacks what cannot begin anew: master"));
}

TEST(ContinueForms, C21_ResNetOfDistributedDataParallelWithMomentumAndBuffers) {
  const Imported imported = ImportFixture(
      "resnet_ddp", 5, "--group_names=decay,no_decay --schedule_unit=applied");
  EXPECT_THAT(imported.output, HasSubstr("model.buffers: 60 of the names"));
  const Imported renamed = Renamed(imported, "^module\\. -> ", 5);
  ExpectPythonsNextSteps(
      "resnet_ddp", renamed, 5,
      {"--precision=fp32", "--set=model.kind=resnet18", "--set=model.width=1",
       "--set=data.name=synthetic", "--set=data.synthetic_size=4",
       "--set=optimizer.kind=sgd", "--set=optimizer.lr=0.05",
       "--set=optimizer.clip_norm=0", "--set=schedule.warmup=0",
       "--set=schedule.horizon=100"});
}

TEST(ContinueForms, C02_ScalerInTheMiddleOfItsGrowthGrowsWhenPythonsDoes) {
  const Imported imported = ImportFixture(
      "fp16_lambda", 9, "--group_names=decay,no_decay --schedule_unit=applied");
  const auto read = ReadCheckpoint(imported.checkpoint);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->snapshot.scaler->growth_tracker, 3);
  EXPECT_EQ(read->snapshot.scaler->growth_interval, 6);
  ExpectPythonsNextSteps(
      "fp16_lambda", imported, 9,
      Joined(Mlp(), {"--precision=fp16", "--set=optimizer.kind=adam",
                     "--set=optimizer.lr=0.01", "--set=schedule.warmup=4",
                     "--set=schedule.horizon=60"}),
      /*2^14*/ "46800000");
}

}  // namespace
}  // namespace reprise
