// A kill and a resume of each combination of model, optimizer, parameter
// groups, data and schedule that the small run does not have: the resumed run
// is the uninterrupted one to the last bit, in every record and in the last
// checkpoint.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/testing/child_trainer.h"
#include "trainer/testing/kill_and_resume.h"
#include "trainer/testing/metrics_records.h"
#include "trainer/testing/run_comparison.h"
#include "trainer/testing/small_run.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kSteps = 30;

struct Variant {
  const char* name;
  const char* precision;
  std::vector<std::string> flags;
  // Of the resumed process only: what may differ and change no bit.
  std::vector<std::string> resumed = {};
};

std::ostream& operator<<(std::ostream& out, const Variant& v) {
  return out << v.name;
}

std::vector<std::string> Flags(const std::string& folder, const Variant& v,
                               const std::vector<std::string>& more = {}) {
  std::vector<std::string> flags = {absl::StrCat("--steps=", kSteps),
                                    "--save_every=5", "--set=run.eval_every=8",
                                    "--set=schedule.warmup=4"};
  flags.insert(flags.end(), v.flags.begin(), v.flags.end());
  flags.insert(flags.end(), more.begin(), more.end());
  return SmallRunFlags(folder, v.precision, flags);
}

const std::vector<std::string> kGpt = {
    "--set=model.kind=gpt",       "--set=model.hidden=32",
    "--set=model.layers=2",       "--set=model.heads=2",
    "--set=data.name=text",       "--set=data.sequence_length=32",
    "--set=data.train_limit=100", "--set=data.test_limit=20",
    "--set=data.batch_size=8",    "--set=model.dropout=0.2"};

std::vector<std::string> Gpt(const std::vector<std::string>& more) {
  std::vector<std::string> flags = kGpt;
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

double FromBits(const std::string& digits) {
  const uint64_t bits = std::stoull(digits, nullptr, 16);
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

class EveryVariant : public ::testing::TestWithParam<Variant> {};

TEST_P(EveryVariant, KilledIsTheUninterruptedRun) {
  const Variant& variant = GetParam();
  ExpectKilledIsUninterrupted(
      [&](const std::string& folder) { return Flags(folder, variant); },
      {StepPoint::kBoundary, 13}, variant.resumed);
}

INSTANTIATE_TEST_SUITE_P(
    Parts, EveryVariant,
    ::testing::Values(
        Variant{"gpt_fp32_adamw", "fp32", Gpt({})},
        Variant{"gpt_bf16_sgd", "bf16",
                Gpt({"--set=optimizer.kind=sgd", "--set=data.tail=span"})},
        Variant{"gpt_fp16_adam", "fp16",
                Gpt({"--set=optimizer.kind=adam", "--set=data.tail=partial"})},
        Variant{"gpt_bf16_masters_one_cycle", "bf16",
                Gpt({"--set=model.dtype=bf16",
                     "--set=schedule.form=one-cycle-v1"})},
        Variant{
            "gpt_fp16_masters_plateau", "fp16",
            Gpt({"--set=model.dtype=fp16", "--set=schedule.form=plateau-v1",
                 "--set=schedule.patience=0", "--set=schedule.threshold=0.5",
                 "--set=schedule.reduction=0.5"})},
        Variant{"mlp_step_over_samples",
                "fp16",
                {"--set=schedule.form=step-v1", "--set=schedule.unit=samples",
                 "--set=schedule.warmup=100"}},
        Variant{"mlp_exponential_over_epochs",
                "fp32",
                {"--set=schedule.form=exponential-v1",
                 "--set=schedule.unit=epochs", "--set=schedule.warmup=0",
                 "--set=schedule.gamma=0.5", "--set=data.train_limit=96"}},
        Variant{"convnet_groups_and_frozen",
                "fp32",
                {"--set=model.kind=convnet", "--set=model.frozen=^conv1",
                 "--set=optimizer.groups=none weight_decay=0 (bias|norm); head "
                 "lr_scale=0.1 ^fc2",
                 "--set=optimizer.kind=sgd", "--set=optimizer.nesterov=true",
                 "--set=schedule.form=linear-v1", "--set=optimizer.clip_norm=0",
                 "--set=optimizer.clip_value=0.01"}},
        Variant{"other_workers_on_resume",
                "fp16",
                {"--set=data.tail=span", "--set=data.train_limit=333",
                 "--set=data.workers=0"},
                {"--set=data.workers=3", "--set=data.prefetch=7"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Variants, FrozenParametersKeepTheirFirstValuesAndOthersDoNot) {
  const Variant variant = {
      "frozen", "fp32", {"--set=model.frozen=^fc1", "--save_every=1"}};
  const std::string folder = FreshFolder("frozen");
  const TrainerResult run = RunTrainer(Flags(folder, variant, {"--steps=6"}));
  ASSERT_EQ(run.exit, TrainerExit::WithCode(0)) << run.output;
  const auto first = ReadCheckpoint(CheckpointFolder(folder, 1));
  const auto last = ReadCheckpoint(CheckpointFolder(folder, 6));
  ASSERT_TRUE(first.ok() && last.ok()) << first.status() << last.status();
  const auto& before = first->snapshot.parameters;
  const auto& after = last->snapshot.parameters;
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].bytes() == after[i].bytes(),
              before[i].name().substr(0, 3) == "fc1")
        << before[i].name();
  }
}

TEST(Variants, ThawedOnResumeTheLayerIsTrainedFromThereOn) {
  const Variant variant = {"thawed", "fp32", {"--set=model.frozen=^fc1"}};
  const std::string folder = FreshFolder("thawed");
  KillAt(Flags(folder, variant), {StepPoint::kBoundary, 12});
  const TrainerResult resumed =
      RunTrainer(Flags(folder, variant, {"--set=model.frozen="}));
  ASSERT_EQ(resumed.exit, TrainerExit::WithCode(0)) << resumed.output;
  EXPECT_THAT(resumed.output,
              HasSubstr("Changed on resume: model.frozen from ^fc1 to"));
  const auto before = ReadCheckpoint(CheckpointFolder(folder, 10));
  const auto after = ReadCheckpoint(CheckpointFolder(folder, kSteps));
  ASSERT_TRUE(before.ok() && after.ok()) << before.status() << after.status();
  EXPECT_EQ(before->snapshot.frozen->size(), 2u);
  EXPECT_THAT(*after->snapshot.frozen, IsEmpty());
  for (size_t i = 0; i < after->snapshot.parameters.size(); ++i) {
    EXPECT_NE(before->snapshot.parameters[i].bytes(),
              after->snapshot.parameters[i].bytes())
        << after->snapshot.parameters[i].name();
  }
  // Steps that a parameter did not take part in are not its own.
  for (const ParameterState& state : after->snapshot.optimizer->states) {
    EXPECT_EQ(state.step < kSteps, state.parameter.substr(0, 3) == "fc1")
        << state.parameter << " " << state.step;
  }
}

TEST(Variants, TextLearnsSomethingOfHeldOutText) {
  const Variant variant = {"text", "fp32", kGpt};
  const std::string folder = FreshFolder("text");
  const TrainerResult run = RunTrainer(
      Flags(folder, variant,
            {"--steps=150", "--set=run.eval_every=50",
             "--set=data.train_limit=0", "--set=data.test_limit=0"}));
  ASSERT_EQ(run.exit, TrainerExit::WithCode(0)) << run.output;
  const auto steps = StepTable::Of(ReadMetrics(folder)->kept);
  ASSERT_TRUE(steps.ok()) << steps.status();
  std::vector<double> losses;
  for (const MetricsRecord* record : steps->All("eval")) {
    losses.push_back(FromBits(record->channels.at("loss")));
    std::printf("step %d: %.3f nats a byte\n", static_cast<int>(record->step),
                losses.back());
  }
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_GT(losses[0], losses[1]);
  EXPECT_GT(losses[1], losses[2]);
  // Knowing nothing is 5.55; knowing how frequent each byte is, 3.18.
  EXPECT_LT(losses[2], 3.3);
}

}  // namespace
}  // namespace reprise
