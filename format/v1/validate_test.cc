// One case per rule of a snapshot's values: what is changed, which refusal, and
// what the message says.
#include "format/v1/validate.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/v1/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Case {
  std::string text;  // part of the message
  Refusal refusal;
  std::function<void(Snapshot*)> edit;
};

void Expect(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    Snapshot snapshot = SmallSnapshot(60);
    c.edit(&snapshot);
    absl::Status status = ValidateForV1(snapshot);
    EXPECT_EQ(RefusalOf(status), c.refusal) << c.text << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.text));
  }
}

constexpr Refusal kInvalid = Refusal::INVALID_VALUE;
constexpr Refusal kMissing = Refusal::MISSING_ITEM;

TEST(ValidateV1, ValidSnapshotsPass) {
  EXPECT_TRUE(ValidateForV1(SmallSnapshot(0)).ok());
  EXPECT_TRUE(ValidateForV1(SmallSnapshot(60)).ok());
}

// Rules: RUN-1 RUN-3
TEST(ValidateV1, Run) {
  Expect({
      {"run id", kInvalid, [](auto* s) { s->run_id = ""; }},
      {"run id", kInvalid, [](auto* s) { s->run_id[3] = 'A'; }},
      {"run id", kInvalid, [](auto* s) { s->run_id += "0"; }},
      {"attempt: expected at least 1", kInvalid,
       [](auto* s) { s->attempt = 0; }},
      {"attempt 1 resumed from nothing", kInvalid,
       [](auto* s) {
         s->parent = ParentRef{1, "0123456789abcdef"};
       }},
      {"parent digest", kInvalid,
       [](auto* s) {
         s->attempt = 2;
         s->parent = ParentRef{1, "short"};
       }},
      {"parent step 61 lies after step 60", kInvalid,
       [](auto* s) {
         s->attempt = 2;
         s->parent = ParentRef{61, "0123456789abcdef"};
       }},
  });
}

// Rules: ITEM-1 ITEM-2 ITEM-3
TEST(ValidateV1, Inventory) {
  Expect({
      {"clip: no record", kMissing,
       [](auto* s) {
         for (size_t i = 0; i < s->inventory.size(); ++i) {
           if (s->inventory[i].item == Item::CLIP) {
             s->inventory.erase(s->inventory.begin() + i);
             return;
           }
         }
       }},
      {"ema.weights: not an item", kInvalid,
       [](auto* s) { s->MarkNotApplicable(Item::EMA_WEIGHTS, "no EMA"); }},
      {"twice", kInvalid,
       [](auto* s) { s->inventory.push_back(s->inventory[0]); }},
      {"always has a value", kInvalid,
       [](auto* s) { s->MarkEmpty(Item::SCALER_SCALE); }},
      {"without a reason", kMissing,
       [](auto* s) { s->MarkOmitted(Item::CLIP, ""); }},
      {"with a reason", kInvalid,
       [](auto* s) { s->inventory[0].reason = "because"; }},
      {"as of step 59, the checkpoint is of step 60", kInvalid,
       [](auto* s) { s->inventory[2].as_of_step = 59; }},
      {"without its step", kMissing,
       [](auto* s) { s->MarkOmitted(Item::COUNTERS_STEP, "lost"); }},
  });
}

// Rules: TEN-1 TEN-2 TEN-3 LIM-1
TEST(ValidateV1, C36_Tensors) {
  Expect({
      {"two tensors are called fc.weight", kInvalid,
       [](auto* s) { s->parameters.push_back(s->parameters[0]); }},
      {"two tensors are called fc.bias", kInvalid,
       [](auto* s) { s->buffers.push_back(FloatTensor("fc.bias", {1}, {0})); }},
      {"without a name", kMissing,
       [](auto* s) { s->buffers.push_back(FloatTensor("", {1}, {0})); }},
      {"NUL", kInvalid,
       [](auto* s) {
         s->buffers.push_back(FloatTensor(std::string("a\0b", 3), {1}, {0}));
       }},
      {"at most 1024", Refusal::LIMIT,
       [](auto* s) {
         s->buffers.push_back(
             FloatTensor(std::string(kV1MaxNameBytes + 1, 'n'), {1}, {0}));
       }},
      {"negative extent -1", kInvalid,
       [](auto* s) {
         s->buffers.push_back(Tensor::View("n", DType::kF32, {-1, 0}, nullptr));
       }},
      {"rank 33", Refusal::LIMIT,
       [](auto* s) {
         s->buffers.push_back(
             FloatTensor("n", std::vector<int64_t>(kV1MaxRank + 1, 1), {0}));
       }},
      {"more than 2^63 - 1 bytes", Refusal::LIMIT,
       [](auto* s) {
         s->buffers.push_back(Tensor::View(
             "n", DType::kF32, {int64_t{1} << 40, int64_t{1} << 40}, s));
       }},
      {"no data", kMissing,
       [](auto* s) {
         s->buffers.push_back(Tensor::View("n", DType::kF32, {1}, nullptr));
       }},
      {"dtype 14", kInvalid,
       [](auto* s) {
         s->buffers.push_back(
             Tensor::View("n", static_cast<DType>(14), {1}, s));
       }},
  });
}

TEST(ValidateV1, Model) {
  Expect({
      {"model.params", kMissing, [](auto* s) { s->parameters.clear(); }},
      {"model.architecture is absent", kMissing,
       [](auto* s) { s->architecture.clear(); }},
      {"model.params: the model is there", kInvalid,
       [](auto* s) { s->MarkOmitted(Item::MODEL_PARAMS, "why"); }},
      {"model.buffers", kMissing, [](auto* s) { s->buffers.clear(); }},
      {"model.buffers: a buffer is there", kInvalid,
       [](auto* s) { s->MarkNotApplicable(Item::MODEL_BUFFERS, "none"); }},
  });
}

// Rules: OPT-1 OPT-2 OPT-3
TEST(ValidateV1, C20_C22_OptimizerGroupsAndNames) {
  Expect({
      {"optim.kind", kMissing, [](auto* s) { s->optimizer.reset(); }},
      {"optimizer.arithmetic is absent", kMissing,
       [](auto* s) { s->optimizer->arithmetic.clear(); }},
      {"\"lion\" is not", kInvalid,
       [](auto* s) { s->optimizer->kind = "lion"; }},
      {"names the parameter other", kInvalid,
       [](auto* s) { s->optimizer->groups[0].parameters[0] = "other"; }},
      {"fc.weight is in the groups twice", kInvalid,
       [](auto* s) {
         s->optimizer->groups[1].parameters.push_back("fc.weight");
       }},
      {"two groups are called decay", kInvalid,
       [](auto* s) { s->optimizer->groups[1].name = "decay"; }},
      {"group without a name", kMissing,
       [](auto* s) { s->optimizer->groups[1].name = ""; }},
      {"lr", kInvalid, [](auto* s) { s->optimizer->groups[0].lr = kNan; }},
      {"base_lr", kInvalid,
       [](auto* s) { s->optimizer->groups[0].base_lr = kInf; }},
      {"weight_decay", kInvalid,
       [](auto* s) { s->optimizer->groups[0].weight_decay = -0.1; }},
      {"beta1", kInvalid, [](auto* s) { s->optimizer->groups[0].beta1 = 1; }},
      {"beta2", kInvalid,
       [](auto* s) { s->optimizer->groups[0].beta2 = -0.1; }},
      {"eps", kInvalid, [](auto* s) { s->optimizer->groups[0].eps = -1; }},
      {"field eps is absent", kMissing,
       [](auto* s) { s->optimizer->groups[0].eps.reset(); }},
      {"momentum is no option", kInvalid,
       [](auto* s) { s->optimizer->groups[0].momentum = 0.9; }},
      {"nesterov is no option", kInvalid,
       [](auto* s) { s->optimizer->groups[0].nesterov = false; }},
      {"beta1 is no option", kInvalid,
       [](auto* s) {
         s->optimizer->kind = "sgd";
         s->optimizer->groups[0].momentum = 0.9;
         s->optimizer->groups[0].dampening = 0;
         s->optimizer->groups[0].nesterov = false;
       }},
  });
}

// Rules: OPT-4
TEST(ValidateV1, C04_C20_OptimizerState) {
  Expect({
      {"state of the parameter other", kInvalid,
       [](auto* s) { s->optimizer->states[0].parameter = "other"; }},
      {"two states of the parameter fc.bias", kInvalid,
       [](auto* s) {
         s->optimizer->states.push_back(s->optimizer->states[1]);
       }},
      {"parameter fc.bias has no state", kMissing,
       [](auto* s) { s->optimizer->states.pop_back(); }},
      {"has taken 60 steps and has no moments", kMissing,
       [](auto* s) { s->optimizer->states[1].moments.clear(); }},
      {"no parameter has any", kMissing,
       [](auto* s) {
         for (auto& state : s->optimizer->states) {
           state.moments.clear();
           state.step = 0;
         }
       }},
      {"before its first step", kInvalid,
       [](auto* s) { s->optimizer->states[0].step = 0; }},
      {"the record says EMPTY", kInvalid,
       [](auto* s) { s->MarkEmpty(Item::OPTIM_MOMENTS); }},
      {"exp_avg_sq is absent", kMissing,
       [](auto* s) { s->optimizer->states[0].moments.pop_back(); }},
      {"exp_avg comes twice", kInvalid,
       [](auto* s) {
         auto& moments = s->optimizer->states[0].moments;
         moments[1] = moments[0];
       }},
      {"another shape", kInvalid,
       [](auto* s) {
         s->optimizer->states[0].moments[0] =
             FloatTensor("exp_avg", {3, 2}, std::vector<float>(6, 0));
       }},
      {"has dtype i32", kInvalid,
       [](auto* s) {
         s->optimizer->states[0].moments[0] =
             BytesTensor("exp_avg", DType::kI32, {2, 3}, std::string(24, '\0'));
       }},
      {"means nothing without it", kMissing,
       [](auto* s) {
         s->MarkOmitted(Item::OPTIM_IDENTITY, "positions only");
         for (auto& group : s->optimizer->groups) group.parameters.clear();
         s->optimizer->states.clear();
       }},
  });
}

TEST(ValidateV1, C04_ParametersWithoutAGradientSoFarAreInOrder) {
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.optimizer->states[1].moments.clear();
  snapshot.optimizer->states[1].step = 0;
  EXPECT_TRUE(ValidateForV1(snapshot).ok()) << ValidateForV1(snapshot);
}

TEST(ValidateV1, C04_NoStatesAtAllAreInOrderWhenBothItemsAreEmpty) {
  Snapshot snapshot = SmallSnapshot(0);
  snapshot.optimizer->states.clear();
  snapshot.MarkEmpty(Item::OPTIM_STEP);
  EXPECT_TRUE(ValidateForV1(snapshot).ok()) << ValidateForV1(snapshot);
  snapshot.MarkSaved(Item::OPTIM_STEP);
  EXPECT_EQ(RefusalOf(ValidateForV1(snapshot)), kMissing);
}

// Rules: SCHED-1
TEST(ValidateV1, Schedule) {
  Expect({
      {"sched.definition", kMissing, [](auto* s) { s->schedule.reset(); }},
      {"schedule.form is absent", kMissing,
       [](auto* s) { s->schedule->form.clear(); }},
      {"unit 7", kInvalid,
       [](auto* s) {
         s->schedule->unit = static_cast<ScheduleState::Unit>(7);
       }},
      {"sched.horizon: expected at least 1", kInvalid,
       [](auto* s) { s->schedule->horizon = 0; }},
      {"warm-up 301", kInvalid, [](auto* s) { s->schedule->warmup = 301; }},
      {"final fraction", kInvalid,
       [](auto* s) { s->schedule->final_fraction = 1.5; }},
      {"final fraction", kInvalid,
       [](auto* s) { s->schedule->final_fraction = kNan; }},
  });
}

// Rules: SCAL-1 SCAL-2 SCAL-3
TEST(ValidateV1, C37_Scaler) {
  Expect({
      {"scaler.scale: recorded as SAVED", kMissing,
       [](auto* s) { s->scaler.reset(); }},
      {"the gradient scaler is there", kInvalid,
       [](auto* s) {
         for (Item item : {Item::SCALER_SCALE, Item::SCALER_GROWTH_TRACKER,
                           Item::SCALER_CONFIG}) {
           s->MarkNotApplicable(item, "fp32");
         }
       }},
      {"scale 0", kInvalid, [](auto* s) { s->scaler->scale = 0; }},
      {"scale -1", kInvalid, [](auto* s) { s->scaler->scale = -1; }},
      {"scale nan", kInvalid,
       [](auto* s) { s->scaler->scale = static_cast<float>(kNan); }},
      {"scale inf", kInvalid,
       [](auto* s) { s->scaler->scale = static_cast<float>(kInf); }},
      {"expected less than the growth interval 20, found 20", kInvalid,
       [](auto* s) { s->scaler->growth_tracker = 20; }},
      {"growth interval: expected at least 1", kInvalid,
       [](auto* s) { s->scaler->growth_interval = 0; }},
      {"growth factor 1", kInvalid,
       [](auto* s) { s->scaler->growth_factor = 1; }},
      {"growth factor inf", kInvalid,
       [](auto* s) { s->scaler->growth_factor = kInf; }},
      {"backoff factor 1", kInvalid,
       [](auto* s) { s->scaler->backoff_factor = 1; }},
      {"backoff factor 0", kInvalid,
       [](auto* s) { s->scaler->backoff_factor = 0; }},
      {"smallest scale", kInvalid, [](auto* s) { s->scaler->min_scale = -1; }},
      {"smallest scale", kInvalid,
       [](auto* s) { s->scaler->min_scale = kNan; }},
      {"scaler.arithmetic is absent", kMissing,
       [](auto* s) { s->scaler->arithmetic.clear(); }},
  });
}

// Rules: DATA-1
TEST(ValidateV1, Sampler) {
  Expect({
      {"sampler.algorithm", kMissing, [](auto* s) { s->sampler.reset(); }},
      {"sampler.algorithm is absent", kMissing,
       [](auto* s) { s->sampler->algorithm.clear(); }},
      {"sampler.stream_algorithm is absent", kMissing,
       [](auto* s) { s->sampler->stream_algorithm.clear(); }},
      {"605 samples trained are no whole batches of 10", kInvalid,
       [](auto* s) { s->sampler->cursor = 605; }},
      {"batch size: expected at least 1", kInvalid,
       [](auto* s) { s->sampler->batch_size = 0; }},
      {"fewer than one batch", kInvalid,
       [](auto* s) { s->sampler->dataset_size = 9; }},
      {"data.batch", kMissing,
       [](auto* s) {
         s->MarkOmitted(Item::DATA_BATCH, "lost");
         s->sampler->batch_size = 0;
       }},
  });
}

// Rules: ITEM-5
TEST(ValidateV1, DataStreamsMayBeNamedAndNotApplicable) {
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.MarkNotApplicable(Item::RNG_DATA, "counter-based");
  EXPECT_TRUE(ValidateForV1(snapshot).ok()) << ValidateForV1(snapshot);
  snapshot.sampler->stream_algorithm.clear();
  EXPECT_TRUE(ValidateForV1(snapshot).ok()) << ValidateForV1(snapshot);
}

// Rules: RNG-1
TEST(ValidateV1, C16_Generators) {
  Expect({
      {"rng.cpu", kMissing, [](auto* s) { s->generators.clear(); }},
      {"rng.cuda: a generator cuda:<index> is there", kInvalid,
       [](auto* s) {
         s->generators.push_back({"cuda:0", "philox", "libtorch", "x"});
       }},
      {"two generators are called cpu", kInvalid,
       [](auto* s) { s->generators.push_back(s->generators[0]); }},
      {"generator \"xpu\"", kInvalid,
       [](auto* s) {
         s->generators.push_back({"xpu", "philox", "libtorch", "x"});
       }},
      {"lacks its state", kMissing,
       [](auto* s) { s->generators[0].library.clear(); }},
  });
}

// Rules: CONF-1 ENVT-1
TEST(ValidateV1, ConfigurationAndEnvironment) {
  Expect({
      {"config", kMissing, [](auto* s) { s->config.clear(); }},
      {"run.seed comes twice", kInvalid,
       [](auto* s) { s->config.push_back(s->config[1]); }},
      {"is no resume rule", kInvalid,
       [](auto* s) {
         s->config[0].rule = ResumeRule::RESUME_RULE_UNSPECIFIED;
       }},
      {"field without a name", kMissing,
       [](auto* s) { s->config[0].path.clear(); }},
      {"clip: version 1 keeps it in the configuration", kMissing,
       [](auto* s) {
         s->config.clear();
         s->MarkOmitted(Item::CONFIG, "lost");
       }},
      {"environment", kMissing, [](auto* s) { s->environment.reset(); }},
      {"is no resume level", kInvalid,
       [](auto* s) {
         s->environment->level = ResumeLevel::RESUME_LEVEL_UNSPECIFIED;
       }},
      {"environment.device is absent", kMissing,
       [](auto* s) { s->environment->device.clear(); }},
      {"environment.autocast_dtype is absent", kMissing,
       [](auto* s) { s->environment->autocast_dtype.clear(); }},
      {"threads 0", kInvalid, [](auto* s) { s->environment->threads = 0; }},
      {"world size 0", kInvalid,
       [](auto* s) { s->environment->world_size = 0; }},
      {"kernel probe: expected 16 bytes, found 5", kInvalid,
       [](auto* s) { s->environment->kernel_probe = "short"; }},
  });
}

}  // namespace
}  // namespace reprise
