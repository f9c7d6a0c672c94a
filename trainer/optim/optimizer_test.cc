#include "trainer/optim/optimizer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>

#include <cmath>
#include <optional>
#include <utility>

#include "gtest/gtest.h"
#include "trainer/optim/clip.h"

namespace reprise {
namespace {

NamedTensor Parameter(const std::string& name, std::vector<int64_t> shape,
                      float value = 1) {
  return {name, at::full(shape, value)};
}

void SetGradient(const NamedTensor& p, const at::Tensor& gradient) {
  at::Tensor tensor = p.tensor;
  tensor.mutable_grad() = gradient;
}

std::unique_ptr<Optimizer> MakeOne(const std::vector<NamedTensor>& parameters,
                                   const std::string& kind = "adamw") {
  Optimizer::Group group;
  group.name = "all";
  group.parameters = parameters;
  group.momentum = 0.9;
  return *Optimizer::Create(kind, {group});
}

TEST(Optimizer, FirstStepFollowsThePublishedFormula) {
  const NamedTensor p = Parameter("p", {1}, 2.0f);
  Optimizer::Group group;
  group.parameters = {p};
  group.lr = 0.1;
  group.weight_decay = 0.5;
  auto optimizer = *Optimizer::Create("adamw", {group});
  SetGradient(p, at::full({1}, 3.0f));
  optimizer->Step();
  // m/(1-b1) = 3 and sqrt(v/(1-b2)) = 3: the step is lr, after decay by
  // 1 - lr * wd.
  EXPECT_NEAR(p.tensor.item<float>(), 2.0 * (1 - 0.05) - 0.1, 1e-6);
}

TEST(Optimizer, C04_HasNoStateBeforeTheFirstAppliedStep) {
  const NamedTensor p = Parameter("p", {2});
  auto optimizer = MakeOne({p});
  EXPECT_TRUE(optimizer->state().states.empty());
  SetGradient(p, at::ones({2}));
  optimizer->Step();
  ASSERT_EQ(optimizer->state().states.size(), 1u);
  EXPECT_EQ(optimizer->state().states[0].step, 1u);
}

TEST(Optimizer, AParameterWithoutGradientIsLeftAloneAndAZeroGradientIsNot) {
  const NamedTensor without = Parameter("without", {1});
  const NamedTensor zero = Parameter("zero", {1});
  auto optimizer = MakeOne({without, zero});
  SetGradient(zero, at::full({1}, 0.0f));
  optimizer->Step();
  EXPECT_EQ(without.tensor.item<float>(), 1.0f);
  EXPECT_NE(zero.tensor.item<float>(), 1.0f);  // weight decay
  ASSERT_EQ(optimizer->state().states.size(), 1u);
  EXPECT_EQ(optimizer->state().states[0].parameter, "zero");
}

class EveryOptimizer : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kinds, EveryOptimizer,
                         testing::Values("adamw", "adam", "sgd"));

TEST_P(EveryOptimizer, C20_LoadedStateFollowsNamesAndGoesOnBitForBit) {
  auto make = [] {
    return std::vector<NamedTensor>{Parameter("a", {2, 2}),
                                    Parameter("b", {2, 2})};
  };
  const auto original = make();
  auto first = MakeOne(original, GetParam());
  for (int i = 0; i < 5; ++i) {
    SetGradient(original[0], at::full({2, 2}, 0.1f * i));
    SetGradient(original[1], at::full({2, 2}, -0.7f));
    first->Step();
  }
  OptimizerState state = first->state();
  // The order of the stored states is another; the names are the same.
  std::swap(state.states[0], state.states[1]);
  const auto copy = make();
  for (int i = 0; i < 2; ++i) copy[i].tensor.copy_(original[i].tensor);
  auto second = MakeOne(copy, GetParam());
  ASSERT_TRUE(second->Load(state).ok());
  for (int i = 0; i < 5; ++i) {
    for (const auto* set : {&original, &copy}) {
      SetGradient((*set)[0], at::full({2, 2}, 0.3f));
      SetGradient((*set)[1], at::full({2, 2}, 0.01f * i));
    }
    first->Step();
    second->Step();
    EXPECT_TRUE(at::equal(original[0].tensor, copy[0].tensor));
    EXPECT_TRUE(at::equal(original[1].tensor, copy[1].tensor));
  }
}

TEST(Optimizer, RefusesStateOfAnotherKind) {
  const NamedTensor p = Parameter("p", {2});
  const OptimizerState state = MakeOne({p}, "adam")->state();
  const absl::Status status = MakeOne({p}, "adamw")->Load(state);
  EXPECT_NE(status.message().find("expected adamw, found \"adam\""),
            std::string::npos);
}

TEST(Optimizer, RefusesAnUnknownKindByName) {
  EXPECT_NE(Optimizer::Create("lion", {}).status().message().find("lion"),
            std::string::npos);
}

TEST(Optimizer, SgdKeepsNoBufferWithoutMomentum) {
  const NamedTensor p = Parameter("p", {2});
  Optimizer::Group group;
  group.parameters = {p};
  auto optimizer = *Optimizer::Create("sgd", {group});
  SetGradient(p, at::ones({2}));
  optimizer->Step();
  ASSERT_EQ(optimizer->state().states.size(), 1u);
  EXPECT_TRUE(optimizer->state().states[0].moments.empty());
}

TEST(Optimizer, C22_LoadTakesTheFilesOptionsNotItsOwn) {
  const NamedTensor p = Parameter("p", {1});
  auto optimizer = MakeOne({p});
  OptimizerState state = optimizer->state();
  state.groups[0].lr = 0.25;
  state.groups[0].base_lr = 0.5;
  state.groups[0].beta1 = 0.8;
  state.groups[0].beta2 = 0.95;
  state.groups[0].eps = 1e-5;
  state.groups[0].weight_decay = 0.125;
  ASSERT_TRUE(optimizer->Load(state).ok());
  const Optimizer::Group& group = optimizer->groups()[0];
  EXPECT_EQ(group.lr, 0.25);
  EXPECT_EQ(group.base_lr, 0.5);
  EXPECT_EQ(group.beta1, 0.8);
  EXPECT_EQ(group.beta2, 0.95);
  EXPECT_EQ(group.eps, 1e-5);
  EXPECT_EQ(group.weight_decay, 0.125);
}

// Rules: LOAD-3
TEST(Optimizer, C21_LoadRefusesOtherNamesShapesAndMissingMomentsByName) {
  const NamedTensor p = Parameter("p", {2});
  auto optimizer = MakeOne({p});
  SetGradient(p, at::ones({2}));
  optimizer->Step();
  const OptimizerState good = optimizer->state();

  OptimizerState renamed = good;
  renamed.groups[0].parameters = {"q"};
  EXPECT_FALSE(optimizer->Load(renamed).ok());

  OptimizerState stranger = good;
  stranger.states[0].parameter = "q";
  const absl::Status status = optimizer->Load(stranger);
  EXPECT_NE(status.message().find("state of q"), std::string::npos);

  OptimizerState partial = good;
  partial.states[0].moments.pop_back();
  EXPECT_NE(optimizer->Load(partial).message().find("exp_avg_sq"),
            std::string::npos);

  const float values[3] = {};
  OptimizerState reshaped = good;
  reshaped.states[0].moments[0] =
      Tensor::View("exp_avg", DType::kF32, {3}, values);
  EXPECT_NE(optimizer->Load(reshaped).message().find("[2]"), std::string::npos);
}

TEST(Optimizer, ScheduleSetsRateAndMomentumOfEveryGroup) {
  Optimizer::Group a, b;
  a.parameters = {Parameter("a", {1})};
  a.base_lr = 0.5;
  b.parameters = {Parameter("b", {1})};
  b.base_lr = 0.25;
  auto adam = *Optimizer::Create("adam", {a, b});
  adam->ApplySchedule(0.5, std::nullopt);
  EXPECT_EQ(adam->groups()[0].lr, 0.25);
  EXPECT_EQ(adam->groups()[1].lr, 0.125);
  EXPECT_EQ(adam->groups()[0].beta1, 0.9);
  adam->ApplySchedule(1, 0.85);
  EXPECT_EQ(adam->groups()[1].lr, 0.25);
  EXPECT_EQ(adam->groups()[1].beta1, 0.85);
  auto sgd = *Optimizer::Create("sgd", {a, b});
  sgd->ApplySchedule(1, 0.85);
  EXPECT_EQ(sgd->groups()[0].momentum, 0.85);
  // A momentum in force comes back from the file.
  auto loaded = *Optimizer::Create("sgd", {a, b});
  ASSERT_TRUE(loaded->Load(sgd->state()).ok());
  EXPECT_EQ(loaded->groups()[0].momentum, 0.85);
}

TEST_P(EveryOptimizer, C23_HalfParametersAreSteppedThroughFp32Masters) {
  for (at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
    const at::Tensor first = at::rand({4, 4}).to(dtype);
    const NamedTensor half = {"p", first.clone()};
    const NamedTensor full = {"p", first.to(at::kFloat)};
    auto with_master = MakeOne({half}, GetParam());
    auto plain = MakeOne({full}, GetParam());
    for (int i = 0; i < 20; ++i) {
      const at::Tensor gradient = (at::rand({4, 4}) * 1e-3).to(dtype);
      with_master->ZeroGrad();
      SetGradient(half, gradient);
      with_master->GatherGradients();
      with_master->Step();
      SetGradient(full, gradient.to(at::kFloat));
      plain->Step();
      // The master is the fp32 run, the parameter its rounding.
      const at::Tensor master = with_master->StepTensors({half})[0];
      ASSERT_TRUE(at::equal(master, full.tensor)) << i;
      ASSERT_TRUE(at::equal(half.tensor, master.to(dtype))) << i;
    }
    EXPECT_TRUE(at::equal(plain->StepTensors({full})[0], full.tensor));
    EXPECT_TRUE(plain->masters().empty());
  }
}

TEST_P(EveryOptimizer, C23_TenResumesOfMastersAndMomentsDoNotDrift) {
  const at::Tensor first = at::rand({3, 3}).to(at::kBFloat16);
  const NamedTensor whole = {"p", first.clone()};
  auto uninterrupted = MakeOne({whole}, GetParam());
  NamedTensor parameter = {"p", first.clone()};
  auto resumed = MakeOne({parameter}, GetParam());
  for (int i = 0; i < 10; ++i) {
    const at::Tensor gradient =
        at::full({3, 3}, (1 + std::ldexp(1.0, -7)) * 1e-3).to(at::kBFloat16);
    for (const auto& [p, optimizer] :
         {std::pair{whole, uninterrupted.get()}, {parameter, resumed.get()}}) {
      optimizer->ZeroGrad();
      SetGradient(p, gradient);
      optimizer->GatherGradients();
      optimizer->Step();
    }
    // Another process: everything is made anew and loaded.
    const NamedTensor again = {"p", parameter.tensor.clone()};
    auto next = MakeOne({again}, GetParam());
    const absl::Status status =
        next->Load(resumed->state(), resumed->masters());
    ASSERT_TRUE(status.ok()) << status;
    parameter = again;
    resumed = std::move(next);
    ASSERT_TRUE(at::equal(resumed->StepTensors({parameter})[0],
                          uninterrupted->StepTensors({whole})[0]))
        << i;
    for (const ParameterState& state : resumed->state().states) {
      for (const Tensor& moment : state.moments) {
        EXPECT_EQ(moment.dtype(), DType::kF32);
      }
    }
  }
}

TEST(Optimizer, C23_MissingAndUnwantedMastersAreRefusedByName) {
  const NamedTensor half = {"p", at::ones({2}).to(at::kHalf)};
  const NamedTensor full = Parameter("q", {2});
  auto optimizer = MakeOne({half, full});
  const OptimizerState state = optimizer->state();
  EXPECT_TRUE(optimizer->Load(state, optimizer->masters()).ok());
  EXPECT_EQ(optimizer->Load(state).message(),
            "master: expected that of p, found none; the rounded parameter "
            "cannot stand for it");
  const float values[3] = {};
  std::vector<Tensor> masters = optimizer->masters();
  masters.push_back(Tensor::View("q", DType::kF32, {2}, values));
  EXPECT_NE(optimizer->Load(state, masters).message().find("found that of q"),
            std::string::npos);
  masters = {Tensor::View("p", DType::kF32, {3}, values)};
  EXPECT_NE(optimizer->Load(state, masters).message().find("[2]"),
            std::string::npos);
}

TEST(Optimizer, HalfParameterWithoutGradientIsLeftAlone) {
  const NamedTensor half = {"p", at::ones({2}).to(at::kHalf)};
  auto optimizer = MakeOne({half});
  optimizer->GatherGradients();
  optimizer->Step();
  EXPECT_TRUE(optimizer->state().states.empty());
  SetGradient(half, at::ones({2}).to(at::kHalf));
  optimizer->GatherGradients();
  optimizer->ZeroGrad();
  optimizer->Step();
  EXPECT_TRUE(optimizer->state().states.empty());
}

TEST(GroupsByRank, DecaysMatricesOnly) {
  Optimizer::Group options;
  options.weight_decay = 0.1;
  const auto groups =
      GroupsByRank({Parameter("w", {2, 2}), Parameter("b", {2})}, options);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].parameters[0].name, "w");
  EXPECT_EQ(groups[0].weight_decay, 0.1);
  EXPECT_EQ(groups[1].parameters[0].name, "b");
  EXPECT_EQ(groups[1].weight_decay, 0);
}

TEST(Clip, ScalesDownToTheLargestNormAndLeavesSmallerGradientsAlone) {
  const NamedTensor a = Parameter("a", {1});
  const NamedTensor b = Parameter("b", {1});
  SetGradient(a, at::full({1}, 3.0f));
  SetGradient(b, at::full({1}, 4.0f));
  const std::vector<at::Tensor> both = {a.tensor, b.tensor};
  const at::Tensor norm = GradientNorm(both);
  EXPECT_EQ(norm.item<float>(), 5.0f);
  ClipGradients(both, norm, 10.0);
  EXPECT_EQ(a.tensor.grad().item<float>(), 3.0f);
  ClipGradients(both, norm, 1.0);
  EXPECT_NEAR(a.tensor.grad().item<float>(), 0.6, 1e-6);
  EXPECT_NEAR(b.tensor.grad().item<float>(), 0.8, 1e-6);
}

TEST(Clip, ByValueClampsEveryElement) {
  const NamedTensor a = Parameter("a", {3});
  const NamedTensor without = Parameter("b", {1});
  SetGradient(a, at::full({3}, 0.25f));
  a.tensor.grad()[0].fill_(-7.0f);
  a.tensor.grad()[2].fill_(7.0f);
  ClipGradientsByValue({a.tensor, without.tensor}, 0.5);
  EXPECT_EQ(a.tensor.grad()[0].item<float>(), -0.5f);
  EXPECT_EQ(a.tensor.grad()[1].item<float>(), 0.25f);
  EXPECT_EQ(a.tensor.grad()[2].item<float>(), 0.5f);
  EXPECT_FALSE(without.tensor.grad().defined());
}

}  // namespace
}  // namespace reprise
