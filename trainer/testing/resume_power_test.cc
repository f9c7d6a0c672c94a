// Shows that resume_test can fail: a resume from a checkpoint in which one item
// was reset must differ from the uninterrupted run, in the channel and at the
// step that the item predicts; without the item the trainer must refuse, naming
// it. A comparison that passes every run proves nothing.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/testing/checkpoint_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "reprise/spec/v1/checkpoint.pb.h"
#include "trainer/testing/run_comparison.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/small_run.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

namespace v1 = checkpoint::v1;

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

// The step whose checkpoint is edited: amid an epoch, the scale in motion.
constexpr uint64_t kStep = 30;

using Edit = std::function<void(v1::Checkpoint*)>;

// The uninterrupted run as of kStep, with that checkpoint edited.
std::string EditedRun(const Edit& edit) {
  const std::string folder = RunAsOfStep("fp16", kStep);
  const std::string path = CheckpointFolder(folder, kStep);
  const std::string before = ReadFileOrDie(path + "/manifest.ckpt");
  const absl::Status status = RewriteManifest(path, edit);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_FALSE(ReadFileOrDie(path + "/manifest.ckpt") == before)
      << "the edit changes nothing";
  return folder;
}

// The checkpoint of an earlier step of the same run, as a message.
v1::Checkpoint Earlier() {
  v1::Checkpoint earlier;
  const absl::Status status =
      RewriteManifest(CheckpointFolder(RunAsOfStep("fp16", 10), 10),
                      [&](v1::Checkpoint* c) { earlier = *c; });
  EXPECT_TRUE(status.ok()) << status;
  return earlier;
}

// What the resumed run of the edited checkpoint does otherwise.
std::vector<Difference> DifferencesAfter(const Edit& edit) {
  const std::string folder = EditedRun(edit);
  const TrainerResult result = RunTrainer(SmallRunFlags(folder));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  const auto records = ReadMetrics(folder);
  EXPECT_TRUE(records.ok()) << records.status();
  if (!records.ok()) return {};
  return Compare(UninterruptedSmallRun("fp16").steps, *records);
}

// The first step after kStep that the uninterrupted run applied: what is wrong
// in the optimizer changes the weights there, and the loss of the step after
// it.
uint64_t FirstApplied() {
  uint64_t step = kStep + 1;
  const StepTable& steps = UninterruptedSmallRun("fp16").steps;
  while (steps.Find("step", step)->channels.at("skipped") == "true") ++step;
  return step;
}

// Nothing differs before `step`, and `channel` does at it.
void ExpectBegins(const std::vector<Difference>& differences, uint64_t step,
                  const std::string& channel) {
  ASSERT_FALSE(differences.empty()) << "the comparison saw nothing";
  EXPECT_EQ(differences.front().step, step) << differences.front();
  EXPECT_THAT(ChannelsAt(differences, step), Contains(channel));
}

TEST(ResumePower, UneditedCheckpointGivesNoDifference) {
  const std::string folder = RunAsOfStep("fp16", kStep);
  const TrainerResult result = RunTrainer(SmallRunFlags(folder));
  ASSERT_EQ(result.exit, TrainerExit::WithCode(0)) << result.output;
  const auto records = ReadMetrics(folder);
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_THAT(Compare(UninterruptedSmallRun("fp16").steps, *records),
              IsEmpty());
}

TEST(ResumePower, C01_ScaleResetShowsInTheScaleOfTheNextStep) {
  const auto differences = DifferencesAfter(
      [](v1::Checkpoint* c) { c->mutable_scaler()->set_scale(16777216); });
  ExpectBegins(differences, kStep + 1, "scale");
  EXPECT_THAT(ChannelsAt(differences, kStep + 1), Contains("skipped"));
}

TEST(ResumePower, C02_GrowthTrackerResetShowsInALaterScaleAndNothingBefore) {
  const auto differences = DifferencesAfter(
      [](v1::Checkpoint* c) { c->mutable_scaler()->set_growth_tracker(0); });
  const uint64_t first = FirstStep(differences, "scale");
  EXPECT_GT(first, kStep + 1);
  ExpectBegins(differences, first, "scale");
}

TEST(ResumePower, MomentsResetShowInTheLossAfterTheNextUpdate) {
  const auto differences = DifferencesAfter([](v1::Checkpoint* c) {
    for (auto& state : *c->mutable_optimizer()->mutable_states()) {
      for (auto& moment : *state.mutable_moments()) {
        std::string& data = *moment.mutable_data();
        std::fill(data.begin(), data.end(), '\0');
      }
    }
  });
  ExpectBegins(differences, FirstApplied() + 1, "loss");
}

TEST(ResumePower, OptimizerStepResetShowsInTheLossAfterTheNextUpdate) {
  const auto differences = DifferencesAfter([](v1::Checkpoint* c) {
    for (auto& state : *c->mutable_optimizer()->mutable_states()) {
      state.set_step(1);
    }
  });
  ExpectBegins(differences, FirstApplied() + 1, "loss");
}

TEST(ResumePower, C20_MomentsOfTwoParametersSwappedShowInTheLoss) {
  const auto differences = DifferencesAfter([](v1::Checkpoint* c) {
    v1::ParameterState* weight = nullptr;
    v1::ParameterState* bias = nullptr;
    for (auto& state : *c->mutable_optimizer()->mutable_states()) {
      if (state.parameter() == "norm.weight") weight = &state;
      if (state.parameter() == "norm.bias") bias = &state;
    }
    ASSERT_TRUE(weight != nullptr && bias != nullptr);
    weight->mutable_moments()->Swap(bias->mutable_moments());
  });
  ExpectBegins(differences, FirstApplied() + 1, "loss");
}

TEST(ResumePower, C06_SchedulePositionResetShowsInLrAndCounters) {
  const auto differences = DifferencesAfter(
      [](v1::Checkpoint* c) { c->mutable_schedule()->set_position(0); });
  ExpectBegins(differences, kStep + 1, "applied");
  // The LR in force is stored beside the position, so the first step may still
  // have the right one.
  EXPECT_GE(FirstStep(differences, "lr"), kStep + 1);
  EXPECT_LE(FirstStep(differences, "lr"), FirstApplied() + 1);
}

TEST(ResumePower, C12_SamplerPositionResetShowsInTheIdsOfTheNextStep) {
  const auto differences = DifferencesAfter([](v1::Checkpoint* c) {
    c->mutable_sampler()->set_epoch(0);
    c->mutable_sampler()->set_batch_index(0);
  });
  ExpectBegins(differences, kStep + 1, "ids");
  EXPECT_THAT(ChannelsAt(differences, kStep + 1),
              IsSupersetOf({"epoch", "batch", "samples", "loss"}));
}

TEST(ResumePower, SamplerOneBatchBehindShowsInTheIdsOfTheNextStep) {
  const auto differences = DifferencesAfter([](v1::Checkpoint* c) {
    c->mutable_sampler()->set_batch_index(c->sampler().batch_index() - 1);
  });
  ExpectBegins(differences, kStep + 1, "ids");
}

TEST(ResumePower, C16_CpuGeneratorOfAnEarlierStepShowsInTheLossAlone) {
  const v1::Checkpoint earlier = Earlier();
  const auto differences = DifferencesAfter(
      [&](v1::Checkpoint* c) { *c->mutable_random() = earlier.random(); });
  ExpectBegins(differences, kStep + 1, "loss");
  for (const char* channel : {"ids", "lr", "scale"}) {
    EXPECT_THAT(ChannelsAt(differences, kStep + 1),
                Not(Contains(std::string(channel))));
  }
}

TEST(ResumePower, OneParameterOfAnEarlierStepShowsInTheLossOfTheNextStep) {
  const v1::Checkpoint earlier = Earlier();
  const auto differences = DifferencesAfter([&](v1::Checkpoint* c) {
    for (int i = 0; i < c->model().parameters_size(); ++i) {
      if (c->model().parameters(i).name() != "fc3.bias") continue;
      *c->mutable_model()->mutable_parameters(i) =
          earlier.model().parameters(i);
    }
  });
  ExpectBegins(differences, kStep + 1, "loss");
}

TEST(ResumePower, BuffersOfAnEarlierStepShowInTheNextEvaluationAlone) {
  const v1::Checkpoint earlier = Earlier();
  const auto differences = DifferencesAfter([&](v1::Checkpoint* c) {
    *c->mutable_model()->mutable_buffers() = earlier.model().buffers();
  });
  ExpectBegins(differences, 2 * kSmallRunStepsAnEpoch, "eval.loss");
  EXPECT_EQ(FirstStep(differences, "loss"), 0);
}

TEST(ResumePower, WeightDecayChangedShowsInTheLossAfterTheNextUpdate) {
  const auto differences = DifferencesAfter([](v1::Checkpoint* c) {
    for (auto& group : *c->mutable_optimizer()->mutable_groups()) {
      group.set_weight_decay(group.weight_decay() * 2);
    }
  });
  ExpectBegins(differences, FirstApplied() + 1, "loss");
}

// --- without an item at all ---

struct Removal {
  const char* named;  // what the refusal must name
  Edit edit;
};

void SetPresence(v1::Checkpoint* c, vocabulary::v1::Item item,
                 vocabulary::v1::Presence presence) {
  for (auto& record : *c->mutable_inventory()) {
    if (record.item() != item) continue;
    record.set_presence(presence);
    record.set_reason("removed by a test");
  }
}

void ExpectRefused(const std::vector<Removal>& removals) {
  for (const Removal& removal : removals) {
    SCOPED_TRACE(removal.named);
    const std::string folder = EditedRun(removal.edit);
    const auto before = ReadTree(folder);
    const TrainerResult result = RunTrainer(SmallRunFlags(folder));
    EXPECT_EQ(result.exit, TrainerExit::WithCode(11)) << result.output;
    EXPECT_THAT(result.output, HasSubstr(removal.named));
    EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
  }
}

// Rules: LOAD-2
TEST(ResumePower, ItemThatIsMissingIsRefusedByName) {
  ExpectRefused({
      {"scaler.scale", [](v1::Checkpoint* c) { c->clear_scaler(); }},
      {"scaler.scale",
       [](v1::Checkpoint* c) { c->mutable_scaler()->clear_scale(); }},
      {"scaler.growth_tracker",
       [](v1::Checkpoint* c) { c->mutable_scaler()->clear_growth_tracker(); }},
      {"optim.moments",
       [](v1::Checkpoint* c) { c->mutable_optimizer()->clear_states(); }},
      {"optim.moments",
       [](v1::Checkpoint* c) {
         c->mutable_optimizer()->mutable_states(0)->clear_moments();
       }},
      {"optim.step",
       [](v1::Checkpoint* c) {
         c->mutable_optimizer()->mutable_states(0)->clear_step();
       }},
      {"optim", [](v1::Checkpoint* c) { c->clear_optimizer(); }},
      {"sched.position",
       [](v1::Checkpoint* c) { c->mutable_schedule()->clear_position(); }},
      {"sched", [](v1::Checkpoint* c) { c->clear_schedule(); }},
      {"sampler.cursor",
       [](v1::Checkpoint* c) { c->mutable_sampler()->clear_batch_index(); }},
      {"sampler", [](v1::Checkpoint* c) { c->clear_sampler(); }},
      {"rng.cpu", [](v1::Checkpoint* c) { c->clear_random(); }},
      {"model.buffers",
       [](v1::Checkpoint* c) { c->mutable_model()->clear_buffers(); }},
      {"fc3.bias",
       [](v1::Checkpoint* c) {
         auto& parameters = *c->mutable_model()->mutable_parameters();
         parameters.erase(std::find_if(
             parameters.begin(), parameters.end(),
             [](const v1::Tensor& t) { return t.name() == "fc3.bias"; }));
       }},
      {"step", [](v1::Checkpoint* c) { c->clear_step(); }},
      {"config", [](v1::Checkpoint* c) { c->clear_config(); }},
  });
}

// A file may say honestly that it leaves an item out. Then it is no file to
// train on from.
// Rules: LOAD-2
TEST(ResumePower, ItemThatIsOmittedIsRefusedByName) {
  using namespace vocabulary::v1;
  ExpectRefused({
      {"scaler.scale",
       [](v1::Checkpoint* c) {
         c->clear_scaler();
         SetPresence(c, SCALER_SCALE, PRESENCE_OMITTED);
         SetPresence(c, SCALER_GROWTH_TRACKER, PRESENCE_OMITTED);
         SetPresence(c, SCALER_CONFIG, PRESENCE_OMITTED);
       }},
      {"optim.moments",
       [](v1::Checkpoint* c) {
         c->mutable_optimizer()->clear_states();
         SetPresence(c, OPTIM_MOMENTS, PRESENCE_OMITTED);
         SetPresence(c, OPTIM_STEP, PRESENCE_OMITTED);
       }},
      {"optim.moments",
       [](v1::Checkpoint* c) {
         c->mutable_optimizer()->clear_states();
         SetPresence(c, OPTIM_MOMENTS, PRESENCE_EMPTY);
         SetPresence(c, OPTIM_STEP, PRESENCE_EMPTY);
       }},
      {"rng.cpu",
       [](v1::Checkpoint* c) {
         c->clear_random();
         SetPresence(c, RNG_CPU, PRESENCE_OMITTED);
       }},
      {"model.buffers",
       [](v1::Checkpoint* c) {
         c->mutable_model()->clear_buffers();
         SetPresence(c, MODEL_BUFFERS, PRESENCE_OMITTED);
       }},
  });
}

}  // namespace
}  // namespace reprise
