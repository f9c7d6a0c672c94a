// Shows that resume_test can fail: a resume from a checkpoint in which one item
// was reset must differ from the uninterrupted run, in the channel and at the
// step that the item predicts; without the item the trainer must refuse, naming
// it. A comparison that passes every run proves nothing.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "reprise/spec/v2/manifest.pb.h"
#include "trainer/testing/run_comparison.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/small_run.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

namespace v2 = checkpoint::v2;

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

// The step whose checkpoint is edited: amid an epoch, the scale in motion.
constexpr uint64_t kStep = 30;

using Edit = std::function<void(Snapshot*)>;

// The uninterrupted run as of kStep, with that checkpoint edited.
std::string EditedRun(const Edit& edit, bool keep_witness = false) {
  const std::string folder = RunAsOfStep("fp16", kStep);
  EditCheckpoint(CheckpointFolder(folder, kStep), edit, keep_witness);
  return folder;
}

// The checkpoint of an earlier step of the same run.
Snapshot Earlier() {
  auto earlier = ReadCheckpoint(
      CheckpointFolder(UninterruptedSmallRun("fp16").folder, 10));
  EXPECT_TRUE(earlier.ok()) << earlier.status();
  return earlier.ok() ? earlier->snapshot : Snapshot();
}

// `tensor` with all bytes zero.
Tensor Zeros(const Tensor& tensor) {
  auto bytes = std::make_shared<std::string>(tensor.num_bytes(), '\0');
  return Tensor::Shared(tensor.name(), tensor.dtype(), tensor.shape(), bytes,
                        bytes->data());
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

TEST(ResumePower, CheckpointWrittenAgainUneditedGivesNoDifference) {
  EXPECT_THAT(DifferencesAfter([](Snapshot*) {}), IsEmpty());
}

TEST(ResumePower, C01_ScaleResetShowsInTheScaleOfTheNextStep) {
  const auto differences =
      DifferencesAfter([](Snapshot* s) { s->scaler->scale = 16777216; });
  ExpectBegins(differences, kStep + 1, "scale");
  EXPECT_THAT(ChannelsAt(differences, kStep + 1), Contains("skipped"));
}

TEST(ResumePower, C02_GrowthTrackerResetShowsInALaterScaleAndNothingBefore) {
  const auto differences =
      DifferencesAfter([](Snapshot* s) { s->scaler->growth_tracker = 0; });
  const uint64_t first = FirstStep(differences, "scale");
  EXPECT_GT(first, kStep + 1);
  ExpectBegins(differences, first, "scale");
}

TEST(ResumePower, MomentsResetShowInTheLossAfterTheNextUpdate) {
  const auto differences = DifferencesAfter([](Snapshot* s) {
    for (ParameterState& state : s->optimizer->states) {
      for (Tensor& moment : state.moments) moment = Zeros(moment);
    }
  });
  ExpectBegins(differences, FirstApplied() + 1, "loss");
}

TEST(ResumePower, OptimizerStepResetShowsInTheLossAfterTheNextUpdate) {
  const auto differences = DifferencesAfter([](Snapshot* s) {
    for (ParameterState& state : s->optimizer->states) state.step = 1;
  });
  ExpectBegins(differences, FirstApplied() + 1, "loss");
}

TEST(ResumePower, C20_MomentsOfTwoParametersSwappedShowInTheLoss) {
  const auto differences = DifferencesAfter([](Snapshot* s) {
    ParameterState* weight = nullptr;
    ParameterState* bias = nullptr;
    for (ParameterState& state : s->optimizer->states) {
      if (state.parameter == "norm.weight") weight = &state;
      if (state.parameter == "norm.bias") bias = &state;
    }
    ASSERT_TRUE(weight != nullptr && bias != nullptr);
    weight->moments.swap(bias->moments);
  });
  ExpectBegins(differences, FirstApplied() + 1, "loss");
}

TEST(ResumePower, C06_SchedulePositionResetShowsInLrAndCounters) {
  const auto differences = DifferencesAfter([](Snapshot* s) {
    s->schedule->position = 0;
    s->counters->applied = 0;
    s->counters->skipped = s->step;
  });
  ExpectBegins(differences, kStep + 1, "applied");
  // The LR in force is stored beside the position, so the first step may still
  // have the right one.
  EXPECT_GE(FirstStep(differences, "lr"), kStep + 1);
  EXPECT_LE(FirstStep(differences, "lr"), FirstApplied() + 1);
}

void MoveCursor(Snapshot* s, uint64_t cursor) {
  s->sampler->cursor = cursor;
  s->counters->samples = cursor;
}

TEST(ResumePower, C12_SamplerPositionResetShowsInTheIdsOfTheNextStep) {
  const auto differences =
      DifferencesAfter([](Snapshot* s) { MoveCursor(s, 0); });
  ExpectBegins(differences, kStep + 1, "ids");
  EXPECT_THAT(ChannelsAt(differences, kStep + 1),
              IsSupersetOf({"epoch", "batch", "samples", "loss"}));
}

TEST(ResumePower, SamplerOneBatchBehindShowsInTheIdsOfTheNextStep) {
  const auto differences = DifferencesAfter(
      [](Snapshot* s) { MoveCursor(s, s->sampler->cursor - kSmallRunBatch); });
  ExpectBegins(differences, kStep + 1, "ids");
}

TEST(ResumePower, C16_CpuGeneratorOfAnEarlierStepShowsInTheLossAlone) {
  const Snapshot earlier = Earlier();
  const auto differences = DifferencesAfter(
      [&](Snapshot* s) { s->generators = earlier.generators; });
  ExpectBegins(differences, kStep + 1, "loss");
  for (const char* channel : {"ids", "lr", "scale"}) {
    EXPECT_THAT(ChannelsAt(differences, kStep + 1),
                Not(Contains(std::string(channel))));
  }
}

TEST(ResumePower, OneParameterOfAnEarlierStepShowsInTheLossOfTheNextStep) {
  const Snapshot earlier = Earlier();
  const auto differences = DifferencesAfter([&](Snapshot* s) {
    for (size_t i = 0; i < s->parameters.size(); ++i) {
      if (s->parameters[i].name() != "fc3.bias") continue;
      s->parameters[i] = earlier.parameters[i];
    }
  });
  ExpectBegins(differences, kStep + 1, "loss");
}

TEST(ResumePower, BuffersOfAnEarlierStepShowInTheNextEvaluationAlone) {
  const Snapshot earlier = Earlier();
  const auto differences =
      DifferencesAfter([&](Snapshot* s) { s->buffers = earlier.buffers; });
  ExpectBegins(differences, 2 * kSmallRunStepsAnEpoch, "eval.loss");
  EXPECT_EQ(FirstStep(differences, "loss"), 0);
}

TEST(ResumePower, WeightDecayChangedShowsInTheLossAfterTheNextUpdate) {
  const auto differences = DifferencesAfter([](Snapshot* s) {
    for (ParameterGroup& group : s->optimizer->groups) group.weight_decay *= 2;
  });
  ExpectBegins(differences, FirstApplied() + 1, "loss");
}

TEST(ResumePower, ClipLimitChangedShowsInTheLossAfterTheNextUpdate) {
  const auto differences =
      DifferencesAfter([](Snapshot* s) { s->clip->limit = 1e-3; });
  ExpectBegins(differences, FirstApplied() + 1, "loss");
}

// --- the witness stops what would only have shown later ---

TEST(ResumePower, C17_WitnessStopsTheProcessNamingTheItem) {
  const Snapshot earlier = Earlier();
  const std::pair<const char*, Edit> edits[] = {
      {"scaler.scale", [](Snapshot* s) { s->scaler->scale = 16777216; }},
      {"sampler.cursor", [](Snapshot* s) { MoveCursor(s, 0); }},
      {"rng.cpu", [&](Snapshot* s) { s->generators = earlier.generators; }},
      {"sched.applied", [](Snapshot* s) { s->optimizer->groups[0].lr *= 1.5; }},
  };
  for (const auto& [item, edit] : edits) {
    SCOPED_TRACE(item);
    const std::string folder = EditedRun(edit, /*keep_witness=*/true);
    const TrainerResult result = RunTrainer(SmallRunFlags(folder));
    EXPECT_EQ(result.exit, TrainerExit::WithCode(11)) << result.output;
    EXPECT_THAT(result.output, HasSubstr(std::string(item) + ": the"));
    EXPECT_THAT(result.output, HasSubstr("witness"));
    EXPECT_EQ(ReadMetrics(folder)->kept.back().step, kStep);
  }
}

// --- without an item at all ---

void ExpectRefused(const std::string& folder, const std::string& named) {
  SCOPED_TRACE(named);
  const auto before = ReadTree(folder);
  const TrainerResult result = RunTrainer(SmallRunFlags(folder));
  EXPECT_EQ(result.exit, TrainerExit::WithCode(11)) << result.output;
  EXPECT_THAT(result.output, HasSubstr(named));
  EXPECT_THAT(ChangedFiles(before, ReadTree(folder)), IsEmpty());
}

// The record says SAVED and the file does not have it.
// Rules: LOAD-2
TEST(ResumePower, ItemThatIsMissingIsRefusedByName) {
  using Removal = std::function<void(v2::Manifest*)>;
  const std::pair<const char*, Removal> removals[] = {
      {"scaler.scale", [](v2::Manifest* m) { m->clear_scaler(); }},
      {"scaler.growth_tracker",
       [](v2::Manifest* m) { m->mutable_scaler()->clear_growth_tracker(); }},
      {"0 steps of 3 parameters",
       [](v2::Manifest* m) {
         m->mutable_optimizer()->mutable_groups(0)->clear_steps();
       }},
      {"optim", [](v2::Manifest* m) { m->clear_optimizer(); }},
      {"sched.position",
       [](v2::Manifest* m) { m->mutable_schedule()->clear_position(); }},
      {"sched", [](v2::Manifest* m) { m->clear_schedule(); }},
      {"sampler.cursor",
       [](v2::Manifest* m) { m->mutable_sampler()->clear_cursor(); }},
      {"rng.cpu", [](v2::Manifest* m) { m->clear_random(); }},
      {"clip", [](v2::Manifest* m) { m->clear_clip(); }},
      {"frozen.flags",
       [](v2::Manifest* m) { m->mutable_model()->clear_frozen(); }},
      {"counters.skipped",
       [](v2::Manifest* m) { m->mutable_counters()->clear_skipped(); }},
      {"data.fingerprint", [](v2::Manifest* m) { m->clear_data(); }},
      {"config", [](v2::Manifest* m) { m->clear_config(); }},
  };
  for (const auto& [named, removal] : removals) {
    const std::string folder = RunAsOfStep("fp16", kStep);
    const absl::Status status = RewriteManifestV2(
        CheckpointFolder(folder, kStep), removal, Repair::kEnvelopeAndValue);
    ASSERT_TRUE(status.ok()) << status;
    ExpectRefused(folder, named);
  }
}

// A file may say honestly that it leaves an item out. Then it is no file to
// train on from.
// Rules: LOAD-2
TEST(ResumePower, ItemThatIsOmittedIsRefusedByName) {
  const auto omit = [](Snapshot* s, std::initializer_list<Item> items) {
    for (Item item : items) s->MarkOmitted(item, "removed by a test");
  };
  ExpectRefused(EditedRun([&](Snapshot* s) {
                  s->scaler.reset();
                  omit(s, {Item::SCALER_SCALE, Item::SCALER_GROWTH_TRACKER,
                           Item::SCALER_CONFIG});
                }),
                "scaler.scale");
  ExpectRefused(EditedRun([&](Snapshot* s) {
                  s->optimizer->states.clear();
                  omit(s, {Item::OPTIM_MOMENTS, Item::OPTIM_STEP});
                }),
                "optim.moments");
  ExpectRefused(EditedRun([&](Snapshot* s) {
                  s->generators.clear();
                  omit(s, {Item::RNG_CPU});
                }),
                "rng.cpu");
  ExpectRefused(EditedRun([&](Snapshot* s) {
                  s->buffers.clear();
                  omit(s, {Item::MODEL_BUFFERS});
                }),
                "model.buffers");
  ExpectRefused(EditedRun([&](Snapshot* s) {
                  s->clip.reset();
                  omit(s, {Item::CLIP});
                }),
                "clip");
}

}  // namespace
}  // namespace reprise
