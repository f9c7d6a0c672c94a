#include "trainer/optim/optimizer.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>

#include <cmath>

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

}  // namespace
}  // namespace reprise
