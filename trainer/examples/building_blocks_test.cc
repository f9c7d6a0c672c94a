// A trainer of another author's, made of the building blocks that this
// repository lends to LibTorch programs: the data in their order, the
// optimizer, the schedule, the gradient scaler, and their state in a
// checkpoint. It is saved in the middle of an epoch, built anew, and goes on to
// the bit.
#include <ATen/ATen.h>
#include <ATen/Context.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/snapshot.h"
#include "gtest/gtest.h"
#include "trainer/amp/autocast.h"
#include "trainer/amp/grad_scaler.h"
#include "trainer/checkpoint/torch_generator.h"
#include "trainer/checkpoint/torch_tensor.h"
#include "trainer/data/loader.h"
#include "trainer/data/sampler.h"
#include "trainer/data/synthetic.h"
#include "trainer/data/tensors.h"
#include "trainer/optim/clip.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/parameter_groups.h"
#include "trainer/schedule/schedule.h"

namespace reprise {
namespace {

constexpr uint64_t kSteps = 20;

Dataset Images() {
  MakeSyntheticOptions options;
  options.size = 100;
  options.height = options.width = 8;
  return MakeSynthetic(options);
}

Schedule Cosine() {
  Schedule::Definition definition;
  definition.form = std::string(kWarmupCosineV1);
  definition.warmup = 4;
  definition.horizon = kSteps;
  return *Schedule::Create(definition);
}

// One linear layer behind a dropout, in fp16 with a scale that moves.
class SmallTrainer {
 public:
  SmallTrainer()
      : generator_(at::globalContext().defaultGenerator(at::Device(at::kCPU))),
        scaler_({.init_scale = 1048576.0f, .growth_interval = 3}, at::kCPU),
        sampler_(*Sampler::Create({100, /*batch_size=*/8, /*seed=*/1})),
        loader_(&data_, sampler_, {/*workers=*/1, /*prefetch=*/2}) {
    generator_.set_current_seed(3);
    weight_ = at::randn({10, 64}).mul_(0.1).requires_grad_(true);
    bias_ = at::zeros({10}).requires_grad_(true);
    Optimizer::Group options;
    options.base_lr = 0.05;
    options.weight_decay = 0.01;
    optimizer_ =
        *Optimizer::Create("adamw", GroupsByRank(Parameters(), options));
  }

  std::vector<NamedTensor> Parameters() const {
    return {{"weight", weight_}, {"bias", bias_}};
  }

  float Step() {
    optimizer_->ApplySchedule(schedule_.Fraction(applied_), std::nullopt);
    optimizer_->ZeroGrad();
    const auto batch = ToTensors(*loader_.Get(sampler_), data_, at::kCPU);
    at::Tensor loss;
    {
      const amp::Autocast autocast(at::kCPU, at::kHalf);
      const at::Tensor input =
          at::dropout(batch.input.flatten(1), 0.25, /*train=*/true);
      loss = at::cross_entropy_loss(
          at::linear(input, weight_, bias_).to(at::kFloat), batch.labels);
    }
    scaler_.Scale(loss).backward();
    const std::vector<at::Tensor> stepped =
        optimizer_->StepTensors(Parameters());
    EXPECT_TRUE(scaler_.Unscale(stepped).ok());
    if (!scaler_.found_inf()) {
      ClipGradients(stepped, GradientNorm(stepped), 1.0);
      optimizer_->Step();
      ++applied_;
    }
    scaler_.Update();
    sampler_.Advance();
    return loss.item<float>();
  }

  // What another process needs to go on.
  Snapshot Save() const {
    Snapshot snapshot;
    snapshot.parameters = {ViewOf("weight", weight_), ViewOf("bias", bias_)};
    snapshot.optimizer = optimizer_->state();
    snapshot.scaler = scaler_.state();
    snapshot.sampler.emplace();
    snapshot.sampler->cursor = sampler_.cursor();
    snapshot.schedule = schedule_.ToState(applied_, std::nullopt);
    snapshot.generators = {SaveGenerator(generator_, "cpu")};
    return snapshot;
  }

  absl::Status Load(const Snapshot& snapshot) {
    absl::Status status = CopyInto(snapshot.parameters[0], weight_);
    status.Update(CopyInto(snapshot.parameters[1], bias_));
    status.Update(optimizer_->Load(*snapshot.optimizer));
    status.Update(scaler_.Load(*snapshot.scaler));
    status.Update(schedule_.CheckSame(*snapshot.schedule));
    applied_ = snapshot.schedule->position;
    sampler_.SeekTo(snapshot.sampler->cursor);
    // Last: everything before may draw from it.
    status.Update(LoadGenerator(snapshot.generators, "cpu", &generator_));
    return status;
  }

 private:
  const Dataset data_ = Images();
  const Schedule schedule_ = Cosine();
  at::Generator generator_;
  at::Tensor weight_, bias_;  // [C, H * W], [C]
  std::unique_ptr<Optimizer> optimizer_;
  amp::GradScaler scaler_;
  Sampler sampler_;
  DataLoader loader_;
  uint64_t applied_ = 0;
};

// The bytes of a state, which views share with a trainer that goes on.
std::vector<std::string> BytesOf(const Snapshot& snapshot) {
  std::vector<std::string> bytes;
  for (const Tensor& tensor : snapshot.parameters) {
    bytes.push_back(std::string(tensor.bytes()));
  }
  for (const ParameterState& state : snapshot.optimizer->states) {
    for (const Tensor& moment : state.moments) {
      bytes.push_back(std::string(moment.bytes()));
    }
  }
  bytes.push_back(absl::StrCat(
      snapshot.scaler->scale, " ", snapshot.scaler->growth_tracker, " ",
      snapshot.sampler->cursor, " ", snapshot.schedule->position));
  bytes.push_back(snapshot.generators[0].state);
  return bytes;
}

// Losses of all steps, the first of them by another process than the others.
struct TrainedRun {
  std::vector<float> losses;
  std::vector<std::string> state;  // at the end
};
TrainedRun TrainInTwo(uint64_t first_steps,
                      const std::function<void(Snapshot*)>& lose) {
  TrainedRun run;
  // The default generator is one for the process: one trainer after the other.
  SmallTrainer first;
  for (uint64_t i = 0; i < first_steps; ++i) run.losses.push_back(first.Step());
  Snapshot saved = first.Save();
  lose(&saved);
  SmallTrainer second;
  const absl::Status loaded = second.Load(saved);
  EXPECT_TRUE(loaded.ok()) << loaded;
  for (uint64_t i = first_steps; i < kSteps; ++i) {
    run.losses.push_back(second.Step());
  }
  run.state = BytesOf(second.Save());
  return run;
}

TrainedRun TrainAtOnce() {
  TrainedRun run;
  SmallTrainer trainer;
  for (uint64_t i = 0; i < kSteps; ++i) run.losses.push_back(trainer.Step());
  run.state = BytesOf(trainer.Save());
  return run;
}

TEST(BuildingBlocks, AnotherTrainerMadeOfThemGoesOnToTheBit) {
  const TrainedRun whole = TrainAtOnce();
  // After the first step, in the middle of an epoch, in the next one.
  for (uint64_t steps : {1, 7, 15}) {
    const TrainedRun resumed = TrainInTwo(steps, [](Snapshot*) {});
    EXPECT_EQ(resumed.losses, whole.losses) << steps;
    EXPECT_EQ(resumed.state, whole.state) << steps;
  }
}

TEST(BuildingBlocks, WhatIsNotRestoredShows) {
  const TrainedRun whole = TrainAtOnce();
  const Snapshot fresh = SmallTrainer().Save();
  const std::function<void(Snapshot*)> losses[] = {
      [&](Snapshot* s) { s->generators = fresh.generators; },
      [](Snapshot* s) { s->sampler->cursor = 0; },
      [](Snapshot* s) { s->schedule->position = 0; },
      [&](Snapshot* s) { s->scaler = fresh.scaler; },
      [](Snapshot* s) {
        for (ParameterState& state : s->optimizer->states) state.step = 1;
      }};
  for (const auto& lose : losses) {
    EXPECT_NE(TrainInTwo(7, lose).losses, whole.losses);
  }
}

}  // namespace
}  // namespace reprise
