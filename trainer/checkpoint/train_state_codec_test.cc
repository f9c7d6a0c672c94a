#include "trainer/checkpoint/train_state_codec.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>

#include <string>
#include <utility>
#include <vector>

#include "format/refusal.h"
#include "gtest/gtest.h"
#include "trainer/amp/autocast.h"
#include "trainer/checkpoint/witness.h"
#include "trainer/config/config.h"
#include "trainer/data/fingerprint.h"
#include "trainer/data/synthetic.h"
#include "trainer/model/loss.h"

namespace reprise {
namespace {

class TrainStateCodec : public testing::Test {
 protected:
  TrainStateCodec() {
    EXPECT_TRUE(SetField(&given_, "model.kind", "mlp").ok());
    EXPECT_TRUE(SetField(&given_, "model.hidden", "8").ok());
    EXPECT_TRUE(SetField(&given_, "data.batch_size", "16").ok());
    EXPECT_TRUE(SetField(&given_, "data.name", "synthetic").ok());
    MakeSyntheticOptions options;
    options.size = 64;
    data_ = MakeSynthetic(options);
    run_.run_id = std::string(32, 'a');
    run_.architecture = "mlp";
    run_.fingerprint = FingerprintOf(data_);
    run_.environment.device = "cpu";
  }

  TrainerConfig config() const { return Resolve(given_); }
  Schedule schedule() const { return *MakeSchedule(config(), data_); }

  TrainState Make() const {
    auto state = MakeTrainState(config(), data_, at::kCPU);
    EXPECT_TRUE(state.ok()) << state.status();
    return *std::move(state);
  }

  // A few steps that move every state.
  void Train(TrainState* state, int steps) const {
    for (int i = 0; i < steps; ++i) {
      state->optimizer->ZeroGrad();
      const at::Tensor loss = at::cross_entropy_loss(
          state->model->Forward(at::rand({16, 1, 28, 28})),
          at::zeros({16}, at::kLong));
      state->scaler->Scale(loss).backward();
      std::vector<at::Tensor> parameters;
      for (const NamedTensor& p : state->model->Parameters()) {
        parameters.push_back(p.tensor);
      }
      ASSERT_TRUE(state->scaler->Unscale(parameters).ok());
      state->optimizer->Step();
      state->scaler->Update();
      ++state->attempted;
      ++state->applied;
      ++state->schedule_position;
      for (Optimizer::Group& group : state->optimizer->groups()) {
        group.lr = group.base_lr * schedule().Fraction(state->schedule_position,
                                                       state->schedule_state);
      }
      state->sampler->Advance();
    }
  }

  static void ExpectEqual(const TrainState& a, const TrainState& b) {
    const auto pa = a.model->Parameters(), pb = b.model->Parameters();
    for (size_t i = 0; i < pa.size(); ++i) {
      EXPECT_TRUE(at::equal(pa[i].tensor, pb[i].tensor)) << pa[i].name;
    }
    const auto ba = a.model->Buffers(), bb = b.model->Buffers();
    for (size_t i = 0; i < ba.size(); ++i) {
      EXPECT_TRUE(at::equal(ba[i].tensor, bb[i].tensor)) << ba[i].name;
    }
    const OptimizerState oa = a.optimizer->state(), ob = b.optimizer->state();
    ASSERT_EQ(oa.states.size(), ob.states.size());
    for (size_t i = 0; i < oa.states.size(); ++i) {
      EXPECT_EQ(oa.states[i].step, ob.states[i].step);
      ASSERT_EQ(oa.states[i].moments.size(), ob.states[i].moments.size());
      for (size_t m = 0; m < oa.states[i].moments.size(); ++m) {
        EXPECT_EQ(oa.states[i].moments[m].bytes(),
                  ob.states[i].moments[m].bytes());
      }
    }
    for (size_t g = 0; g < oa.groups.size(); ++g) {
      EXPECT_EQ(oa.groups[g].lr, ob.groups[g].lr);
    }
    EXPECT_EQ(a.scaler->scale(), b.scaler->scale());
    EXPECT_EQ(a.scaler->growth_tracker(), b.scaler->growth_tracker());
    EXPECT_EQ(a.sampler->cursor(), b.sampler->cursor());
    EXPECT_EQ(a.attempted, b.attempted);
    EXPECT_EQ(a.skipped, b.skipped);
    EXPECT_EQ(a.schedule_position, b.schedule_position);
  }

  TrainerConfig given_;
  Dataset data_;
  RunInfo run_;
};

TEST_F(TrainStateCodec, RestoresEveryStateAndGoesOnBitForBit) {
  TrainState original = Make();
  Train(&original, 3);
  const Snapshot snapshot = CaptureState(original, schedule(), run_);
  TrainState resumed = Make();
  ASSERT_TRUE(
      RestoreState(snapshot, schedule(), run_.fingerprint, &resumed).ok());
  ExpectEqual(original, resumed);
  // The generator is one per process: run the two futures one after the other
  // from the same restored draw.
  const at::Tensor generator = original.cpu_generator.get_state();
  Train(&resumed, 3);
  original.cpu_generator.set_state(generator);
  Train(&original, 3);
  ExpectEqual(original, resumed);
}

TEST_F(TrainStateCodec, RestoresTheGeneratorLastSoThatBuildingDrawsNothing) {
  TrainState original = Make();
  Train(&original, 1);
  const Snapshot snapshot = CaptureState(original, schedule(), run_);
  const at::Tensor expected = at::rand({8});
  TrainState resumed = Make();
  ASSERT_TRUE(
      RestoreState(snapshot, schedule(), run_.fingerprint, &resumed).ok());
  EXPECT_TRUE(at::equal(at::rand({8}), expected));
}

// Rules: LOAD-4
TEST_F(TrainStateCodec, C03_LoadingAndSavingAHundredTimesChangesNothing) {
  TrainState state = Make();
  Train(&state, 2);
  const Snapshot first = CaptureState(state, schedule(), run_);
  const std::string generator = first.generators[0].state;
  for (int i = 0; i < 100; ++i) {
    const Snapshot again = CaptureState(state, schedule(), run_);
    ASSERT_TRUE(RestoreState(again, schedule(), run_.fingerprint, &state).ok());
  }
  const Snapshot last = CaptureState(state, schedule(), run_);
  EXPECT_EQ(last.generators[0].state, generator);
  EXPECT_EQ(last.scaler->scale, first.scaler->scale);
  EXPECT_EQ(last.scaler->growth_tracker, first.scaler->growth_tracker);
  EXPECT_EQ(last.optimizer->states.size(), first.optimizer->states.size());
  EXPECT_EQ(last.optimizer->states[0].step, first.optimizer->states[0].step);
}

TEST_F(TrainStateCodec, C04_SaysEmptyBeforeTheFirstAppliedStep) {
  const TrainState state = Make();
  const Snapshot snapshot = CaptureState(state, schedule(), run_);
  EXPECT_EQ(snapshot.Find(Item::OPTIM_MOMENTS)->presence,
            Presence::PRESENCE_EMPTY);
  TrainState resumed = Make();
  EXPECT_TRUE(
      RestoreState(snapshot, schedule(), run_.fingerprint, &resumed).ok());
}

TEST_F(TrainStateCodec, MomentsOfSgdWithoutMomentumDoNotApply) {
  ASSERT_TRUE(SetField(&given_, "optimizer.kind", "sgd").ok());
  ASSERT_TRUE(SetField(&given_, "optimizer.momentum", "0").ok());
  TrainState state = Make();
  for (int steps : {0, 3}) {
    Train(&state, steps);
    const Snapshot snapshot = CaptureState(state, schedule(), run_);
    EXPECT_EQ(snapshot.Find(Item::OPTIM_MOMENTS)->presence,
              Presence::PRESENCE_NOT_APPLICABLE);
    TrainState resumed = Make();
    const absl::Status status =
        RestoreState(snapshot, schedule(), run_.fingerprint, &resumed);
    ASSERT_TRUE(status.ok()) << status;
    ExpectEqual(state, resumed);
  }
}

// Rules: LOAD-3
TEST_F(TrainStateCodec, C21_RefusesAnotherModelListingNames) {
  TrainState state = Make();
  Snapshot snapshot = CaptureState(state, schedule(), run_);
  snapshot.parameters.erase(snapshot.parameters.begin());
  const float value[1] = {0};
  snapshot.parameters.push_back(
      Tensor::View("stranger", DType::kF32, {1}, value));
  const absl::Status status =
      RestoreState(snapshot, schedule(), run_.fingerprint, &state);
  EXPECT_EQ(RefusalOf(status), Refusal::MISMATCH);
  EXPECT_NE(status.message().find("fc1.weight"), std::string::npos);
  EXPECT_NE(status.message().find("stranger"), std::string::npos);
}

// Rules: LOAD-2 LOAD-3
TEST_F(TrainStateCodec, RefusesEachMissingOrForeignPartByItem) {
  TrainState state = Make();
  Train(&state, 1);
  const Snapshot good = CaptureState(state, schedule(), run_);
  struct Fault {
    const char* item;
    void (*apply)(Snapshot*);
  };
  const Fault faults[] = {
      {"scaler.scale", [](Snapshot* s) { s->scaler.reset(); }},
      {"rng.cpu", [](Snapshot* s) { s->generators.clear(); }},
      {"rng.cpu", [](Snapshot* s) { s->generators[0].state.pop_back(); }},
      {"sched.horizon", [](Snapshot* s) { s->schedule->horizon += 1; }},
      {"sched.position", [](Snapshot* s) { s->schedule->position += 5; }},
      {"sampler.algorithm", [](Snapshot* s) { s->sampler->algorithm = "x"; }},
      {"sampler.algorithm",
       [](Snapshot* s) { s->sampler->augmentation = "another-v1"; }},
      {"scaler.config", [](Snapshot* s) { s->scaler->arithmetic = "x"; }},
      {"data.batch", [](Snapshot* s) { s->sampler->batch_size = 8; }},
      {"data.fingerprint", [](Snapshot* s) { s->fingerprint->digest[0] ^= 1; }},
      {"loader.inflight", [](Snapshot* s) { s->sampler->in_flight = {5}; }},
      {"optim.dtype",
       [](Snapshot* s) { s->optimizer->state_dtype = DType::kBF16; }},
      {"mode", [](Snapshot* s) { s->mode->training = false; }},
      {"counters.applied", [](Snapshot* s) { ++s->counters->applied; }},
      {"optim.kind", [](Snapshot* s) { s->optimizer->kind = "sgd"; }},
      {"optim.moments",
       [](Snapshot* s) { s->optimizer->states[0].moments.pop_back(); }},
  };
  for (const Fault& fault : faults) {
    Snapshot bad = good;
    fault.apply(&bad);
    TrainState fresh = Make();
    const absl::Status status =
        RestoreState(bad, schedule(), run_.fingerprint, &fresh);
    EXPECT_FALSE(status.ok()) << fault.item;
    EXPECT_NE(status.message().find(fault.item), std::string::npos)
        << fault.item << ": " << status;
  }
}

TEST_F(TrainStateCodec, EveryItemOfTheInventoryIsAnsweredAndHasAValueOrReason) {
  TrainState state = Make();
  Train(&state, 2);
  const Snapshot snapshot = CaptureState(state, schedule(), run_);
  for (int number = Item::MODEL_PARAMS; number <= Item::WITNESS; ++number) {
    const ItemRecord* record = snapshot.Find(static_cast<Item>(number));
    ASSERT_NE(record, nullptr) << TextOf(static_cast<Item>(number));
    EXPECT_NE(record->presence, Presence::PRESENCE_OMITTED)
        << TextOf(record->item);
  }
  for (const RestoredItem& row : DescribeRestored(snapshot)) {
    EXPECT_EQ(row.value.empty(), row.presence == "EMPTY") << row.item;
  }
}

TEST_F(TrainStateCodec, FrozenParametersComeBackFrozen) {
  TrainState state = Make();
  state.model->Parameters()[0].tensor.requires_grad_(false);
  const Snapshot snapshot = CaptureState(state, schedule(), run_);
  EXPECT_EQ(*snapshot.frozen,
            std::vector<std::string>{state.model->Parameters()[0].name});
  TrainState resumed = Make();
  ASSERT_TRUE(
      RestoreState(snapshot, schedule(), run_.fingerprint, &resumed).ok());
  EXPECT_FALSE(resumed.model->Parameters()[0].tensor.requires_grad());
  EXPECT_TRUE(resumed.model->Parameters()[1].tensor.requires_grad());
}

TEST_F(TrainStateCodec, C17_WitnessNamesWhatChangedSinceTheSave) {
  struct Change {
    const char* item;
    void (*apply)(TrainState*);
  };
  const Change changes[] = {
      {"rng.cpu", [](TrainState*) { at::rand({1}); }},
      {"sampler.cursor", [](TrainState* s) { s->sampler->Advance(); }},
      {"scaler.scale", [](TrainState* s) { s->scaler->Update(); }},
      {"sched.applied",
       [](TrainState* s) { s->optimizer->groups()[1].lr *= 2; }},
  };
  for (const Change& change : changes) {
    given_.mutable_precision()->set_growth_interval(1);
    TrainState state = Make();
    const WitnessState witness = WitnessOf(state);
    EXPECT_TRUE(CheckWitness(witness, state).ok());
    EXPECT_TRUE(CheckWitness(witness, state).ok()) << "checking changed it";
    change.apply(&state);
    const absl::Status status = CheckWitness(witness, state);
    EXPECT_EQ(RefusalOf(status), Refusal::MISMATCH) << change.item;
    EXPECT_NE(status.message().find(change.item), std::string::npos) << status;
  }
}

TEST_F(TrainStateCodec, WhatAPlateauHasSeenComesBack) {
  ASSERT_TRUE(SetField(&given_, "schedule.form", "plateau-v1").ok());
  TrainState state = Make();
  Train(&state, 2);
  ASSERT_TRUE(state.schedule_state.has_value());
  for (double loss : {3.0, 4.0, 4.0, 4.0, 4.0}) {
    state.schedule_state =
        schedule().AfterEvaluation(*state.schedule_state, loss);
  }
  const Snapshot snapshot = CaptureState(state, schedule(), run_);
  EXPECT_EQ(snapshot.Find(Item::SCHED_STATE)->presence,
            Presence::PRESENCE_SAVED);
  TrainState resumed = Make();
  const absl::Status status =
      RestoreState(snapshot, schedule(), run_.fingerprint, &resumed);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(resumed.schedule_state->best, 3.0);
  EXPECT_EQ(resumed.schedule_state->bad_count, 1u);
  EXPECT_EQ(resumed.schedule_state->factor, 0.1);
}

TEST_F(TrainStateCodec, PositionThatCountsSamplesIsHeldToTheCursor) {
  ASSERT_TRUE(SetField(&given_, "schedule.form", "linear-v1").ok());
  ASSERT_TRUE(SetField(&given_, "schedule.unit", "samples").ok());
  TrainState state = Make();
  Train(&state, 3);
  state.schedule_position = state.sampler->cursor();
  Snapshot snapshot = CaptureState(state, schedule(), run_);
  EXPECT_EQ(snapshot.schedule->position, 48u);
  TrainState resumed = Make();
  EXPECT_TRUE(
      RestoreState(snapshot, schedule(), run_.fingerprint, &resumed).ok());
  EXPECT_EQ(resumed.schedule_position, 48u);
  snapshot.schedule->position = 3;
  const absl::Status status =
      RestoreState(snapshot, schedule(), run_.fingerprint, &resumed);
  EXPECT_NE(status.message().find("sched.position: expected 48"),
            std::string::npos)
      << status;
}

TEST_F(TrainStateCodec, C23_MastersAndTheTieOfAGptComeBack) {
  for (const auto& [path, value] :
       std::vector<std::pair<const char*, const char*>>{
           {"model.kind", "gpt"},
           {"model.layers", "1"},
           {"model.heads", "2"},
           {"model.dtype", "fp16"},
           {"data.sequence_length", "4"},
           {"data.tail", "span"}}) {
    ASSERT_TRUE(SetField(&given_, path, value).ok());
  }
  data_ = Dataset();
  data_.name = "text";
  data_.size = 70;
  data_.classes = 256;
  data_.sequence_length = 4;
  data_.text.assign(281, 'x');
  run_.fingerprint = FingerprintOf(data_);
  const auto step = [](TrainState* state) {
    state->optimizer->ZeroGrad();
    at::Tensor loss;
    {
      const amp::Autocast autocast(at::kCPU, at::kHalf);
      loss = MeanLoss(state->model->Forward(at::full({2, 4}, 'x', at::kLong)),
                      at::full({2, 4}, 'y', at::kLong));
    }
    loss.backward();
    state->optimizer->GatherGradients();
    state->optimizer->Step();
    ++state->attempted;
    ++state->applied;
    ++state->schedule_position;
    state->sampler->Advance();
  };
  TrainState state = Make();
  for (int i = 0; i < 5; ++i) step(&state);
  const Snapshot snapshot = CaptureState(state, schedule(), run_);
  for (Item item : {Item::MASTER, Item::MODEL_TIES}) {
    EXPECT_EQ(snapshot.Find(item)->presence, Presence::PRESENCE_SAVED);
  }
  EXPECT_EQ(snapshot.parameters.back().name(), "lm_head.weight");
  EXPECT_EQ(snapshot.sampler->tail, SamplerState::Tail::kSpan);
  EXPECT_EQ(snapshot.initialisation, "gpt2-normal-v1");

  TrainState resumed = Make();
  const absl::Status status =
      RestoreState(snapshot, schedule(), run_.fingerprint, &resumed);
  ASSERT_TRUE(status.ok()) << status;
  const auto expect_same = [&] {
    const auto a = state.model->Parameters(), b = resumed.model->Parameters();
    const auto ma = state.optimizer->StepTensors(a);
    const auto mb = resumed.optimizer->StepTensors(b);
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_TRUE(at::equal(a[i].tensor, b[i].tensor)) << a[i].name;
      EXPECT_TRUE(at::equal(ma[i], mb[i])) << a[i].name;
    }
  };
  expect_same();
  const at::Tensor generator = state.cpu_generator.get_state();
  step(&state);
  state.cpu_generator.set_state(generator);
  step(&resumed);
  expect_same();

  Snapshot without = snapshot;
  without.masters.pop_back();
  TrainState fresh = Make();
  EXPECT_NE(RestoreState(without, schedule(), run_.fingerprint, &fresh)
                .message()
                .find("master: expected that of"),
            std::string::npos);
}

TEST_F(TrainStateCodec, RestoreDescribesEveryRecordedItem) {
  TrainState state = Make();
  const Snapshot snapshot = CaptureState(state, schedule(), run_);
  EXPECT_EQ(DescribeRestored(snapshot).size(), snapshot.inventory.size());
}

}  // namespace
}  // namespace reprise
