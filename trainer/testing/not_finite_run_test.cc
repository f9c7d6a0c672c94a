// A run whose state stops being finite: what holds the number that is none is
// saved and marked, the checkpoints before it stay however few are to be kept,
// and nobody resumes from it unawares.
#include <cmath>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "format/checkpoint_store.h"
#include "format/run_layout.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/testing/child_trainer.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/small_run.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Poison {
  const char* name;
  const char* named;  // by the trainer
  // Puts a NaN into the state of the process.
  std::function<void(TrainState*)> into_state;
  // Puts one into a checkpoint.
  std::function<void(Snapshot*)> into_snapshot;
};
std::ostream& operator<<(std::ostream& out, const Poison& poison) {
  return out << poison.name;
}

// The bytes of a view of live memory.
void Spoil(const Tensor& tensor) {
  *static_cast<float*>(const_cast<void*>(tensor.data())) = std::nanf("");
}

// The same tensor with bytes of its own, the first of which are no number.
Tensor Spoiled(const Tensor& tensor) {
  auto bytes = std::make_shared<std::string>(tensor.bytes());
  const float nan = std::nanf("");
  bytes->replace(0, sizeof nan, reinterpret_cast<const char*>(&nan),
                 sizeof nan);
  return Tensor::Shared(tensor.name(), tensor.dtype(), tensor.shape(), bytes,
                        bytes->data());
}

std::vector<std::string> Flags(const std::string& folder,
                               const std::vector<std::string>& more = {}) {
  std::vector<std::string> flags = {"--keep=1", "--set=ema.decay=0.9",
                                    "--set=save.keep_best=false"};
  flags.insert(flags.end(), more.begin(), more.end());
  return SmallRunFlags(folder, "fp16", flags);
}

class NotFinite : public ::testing::TestWithParam<Poison> {};

TEST_P(NotFinite, SaveIsMarkedAndTheLastGoodOneIsKept) {
  const std::string folder = FreshFolder("run");
  // At the boundary of step 30, whose save comes next. AtPlace hands its act no
  // state, so this observer does it itself.
  class Spoiler : public TrainObserver {
   public:
    explicit Spoiler(std::function<void(TrainState*)> act)
        : act_(std::move(act)) {}
    void At(StepPoint point, uint64_t step, TrainState* state) override {
      if (point == StepPoint::kBoundary && step == 30) act_(state);
    }

   private:
    const std::function<void(TrainState*)> act_;
  };
  Spoiler spoiler(GetParam().into_state);
  const TrainerResult run =
      TrainInChild(Flags(folder), {&spoiler, FileSystem::Real()});
  EXPECT_EQ(run.exit, TrainerExit::WithCode(12)) << run.output;
  EXPECT_THAT(run.output, HasSubstr("Saved step 30, marked: not finite"));
  EXPECT_THAT(run.output, HasSubstr(GetParam().named));
  EXPECT_THAT(run.output, HasSubstr("Ended by an error at step 30 of 60"));
  const auto marked = ReadCheckpoint(CheckpointFolder(folder, 30));
  ASSERT_TRUE(marked.ok()) << marked.status();
  bool is_marked = false;
  for (const UserValue& value : marked->snapshot.user) {
    is_marked |= value.name == "trainer.not_finite";
  }
  EXPECT_TRUE(is_marked);
  // Though only one is to be kept.
  EXPECT_THAT(Entries(folder), Contains(CheckpointName(20)));

  // A plain resume refuses and changes nothing; the last good one goes on.
  const auto before = ReadTree(folder);
  TrainerResult again = RunTrainer(Flags(folder));
  EXPECT_EQ(again.exit, TrainerExit::WithCode(11)) << again.output;
  EXPECT_THAT(again.output, HasSubstr(GetParam().named));
  EXPECT_THAT(again.output, HasSubstr("--resume=STEP"));
  EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
  again = RunTrainer(Flags(folder, {"--resume=20"}));
  EXPECT_EQ(again.exit, TrainerExit::WithCode(0)) << again.output;
}

TEST_P(NotFinite, ResumeFromACheckpointThatIsNotIsRefusedByName) {
  const std::string folder = FreshFolder("run");
  ASSERT_EQ(RunTrainer(Flags(folder, {"--keep=100"})).exit,
            TrainerExit::WithCode(0));
  EditCheckpoint(CheckpointFolder(folder, 60), GetParam().into_snapshot,
                 /*keep_witness=*/true);
  const auto before = ReadTree(folder);
  const TrainerResult run = RunTrainer(Flags(folder));
  EXPECT_EQ(run.exit, TrainerExit::WithCode(11)) << run.output;
  EXPECT_THAT(run.output, HasSubstr("not finite ("));
  EXPECT_THAT(run.output, HasSubstr(GetParam().named));
  EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Each, NotFinite,
    ::testing::Values(
        Poison{
            "Weights", "fc1.",
            [](TrainState* state) {
              state->model->Parameters()[0].tensor.data_ptr<float>()[0] =
                  std::nanf("");
            },
            [](Snapshot* s) { s->parameters[0] = Spoiled(s->parameters[0]); }},
        Poison{"Moments", "exp_avg",
               [](TrainState* state) {
                 Spoil(state->optimizer->state().states[0].moments[0]);
               },
               [](Snapshot* s) {
                 Tensor& moment = s->optimizer->states[0].moments[0];
                 moment = Spoiled(moment);
               }},
        Poison{"Average", "ema.weights/",
               [](TrainState* state) {
                 state->ema->averages()[0].tensor.data_ptr<float>()[0] =
                     std::nanf("");
               },
               [](Snapshot* s) {
                 s->ema_weights[0] = Spoiled(s->ema_weights[0]);
               }}),
    [](const auto& info) { return std::string(info.param.name); });

// The scaler's operators do not grow a scale beyond the largest number, and no
// checkpoint can hold one that is not finite, so that only a file that somebody
// changed has one.
TEST(NotFiniteScale, ScaleStaysFiniteAndAFileWithAnotherIsRefusedByName) {
  const std::string folder = FreshFolder("run");
  const std::vector<std::string> flags = SmallRunFlags(
      folder, "fp32",
      {"--set=precision.scaler=true", "--steps=30", "--set=schedule.warmup=3",
       "--set=precision.growth_interval=1",
       // 2^126, in fp32: it would be infinite two steps later.
       "--set=precision.init_scale=8.507059173023462e37"});
  TrainerResult run = RunTrainer(flags);
  ASSERT_EQ(run.exit, TrainerExit::WithCode(0)) << run.output;
  const auto end = ReadCheckpoint(CheckpointFolder(folder, 30));
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_TRUE(std::isfinite(end->snapshot.scaler->scale));
  EXPECT_GT(end->snapshot.scaler->scale, 1e37f);

  for (float scale : {HUGE_VALF, std::nanf(""), 0.0f}) {
    const absl::Status edited =
        RewriteManifestV2(CheckpointFolder(folder, 30),
                          [scale](checkpoint::v2::Manifest* manifest) {
                            manifest->mutable_scaler()->set_scale(scale);
                          });
    ASSERT_TRUE(edited.ok()) << edited;
    const auto before = ReadTree(folder);
    std::vector<std::string> again = flags;
    again.push_back("--resume=30");
    run = RunTrainer(again);
    EXPECT_EQ(run.exit, TrainerExit::WithCode(11)) << run.output;
    EXPECT_THAT(run.output, HasSubstr("scaler.scale"));
    EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
  }
}

}  // namespace
}  // namespace reprise
