#include "trainer/optim/parameter_groups.h"

#include <ATen/ops/ones.h>

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/optim/frozen.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<NamedTensor> Parameters() {
  std::vector<NamedTensor> parameters;
  for (const char* name :
       {"conv1.weight", "conv1.bias", "norm1.weight", "fc2.weight"}) {
    parameters.push_back({name, at::ones({2}).set_requires_grad(true)});
  }
  return parameters;
}

std::vector<std::string> Names(const Optimizer::Group& group) {
  std::vector<std::string> names;
  for (const NamedTensor& p : group.parameters) names.push_back(p.name);
  return names;
}

Optimizer::Group Options() {
  Optimizer::Group options;
  options.lr = 0.25;
  options.base_lr = 0.5;
  options.weight_decay = 0.1;
  options.momentum = 0.9;
  return options;
}

TEST(GroupsByRules, FirstPatternThatIsFoundTakesTheParameter) {
  const auto groups = GroupsByRules(
      Parameters(), Options(),
      ParseGroupRules("none weight_decay=0 (bias|norm); head lr_scale=0.5 "
                      "^fc2\\.; conv conv")
          .value());
  ASSERT_TRUE(groups.ok()) << groups.status();
  ASSERT_EQ(groups->size(), 3u);
  EXPECT_THAT(Names((*groups)[0]), ElementsAre("conv1.bias", "norm1.weight"));
  EXPECT_EQ((*groups)[0].weight_decay, 0);
  EXPECT_EQ((*groups)[0].base_lr, 0.5);
  EXPECT_EQ((*groups)[0].pattern, "(bias|norm)");
  EXPECT_THAT(Names((*groups)[1]), ElementsAre("fc2.weight"));
  EXPECT_EQ((*groups)[1].base_lr, 0.25);
  EXPECT_EQ((*groups)[1].lr, 0.125);
  EXPECT_EQ((*groups)[1].lr_scale, 0.5);
  EXPECT_EQ((*groups)[1].weight_decay, 0.1);
  EXPECT_EQ((*groups)[1].momentum, 0.9);
  EXPECT_THAT(Names((*groups)[2]), ElementsAre("conv1.weight"));
}

TEST(GroupsByRules, WhatNoRuleTakesIsTheRest) {
  const auto groups = GroupsByRules(Parameters(), Options(),
                                    ParseGroupRules("none bias").value());
  ASSERT_TRUE(groups.ok()) << groups.status();
  ASSERT_EQ(groups->size(), 2u);
  EXPECT_EQ((*groups)[1].name, "rest");
  EXPECT_TRUE((*groups)[1].pattern.empty());
  EXPECT_EQ((*groups)[1].parameters.size(), 3u);
}

TEST(GroupsByRules, ARuleThatTakesNothingIsRefusedByName) {
  const absl::Status status =
      GroupsByRules(Parameters(), Options(),
                    ParseGroupRules("all .; late bias").value())
          .status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("group late"));
  const absl::Status bad =
      GroupsByRules(Parameters(), Options(), {{"bad", "(", std::nullopt, 1}})
          .status();
  EXPECT_THAT(std::string(bad.message()), HasSubstr("group bad"));
}

TEST(FreezeByPattern, FreezesWhatHasThePatternAndThawsAllOthers) {
  const auto parameters = Parameters();
  ASSERT_TRUE(FreezeByPattern(parameters, "^(conv1|norm1)\\.").ok());
  EXPECT_THAT(FrozenNames(parameters),
              ElementsAre("conv1.bias", "conv1.weight", "norm1.weight"));
  ASSERT_TRUE(FreezeByPattern(parameters, "bias").ok());
  EXPECT_THAT(FrozenNames(parameters), ElementsAre("conv1.bias"));
  ASSERT_TRUE(FreezeByPattern(parameters, "").ok());
  EXPECT_TRUE(FrozenNames(parameters).empty());
}

TEST(FreezeByPattern, RefusesAPatternOfNothingOrEverything) {
  const auto parameters = Parameters();
  ASSERT_TRUE(FreezeByPattern(parameters, "bias").ok());
  for (const char* pattern : {"lstm", ".", "("}) {
    EXPECT_FALSE(FreezeByPattern(parameters, pattern).ok()) << pattern;
    EXPECT_THAT(FrozenNames(parameters), ElementsAre("conv1.bias"));
  }
}

TEST(FreezeByPattern, FrozenAndThawedAgainTheMomentsGoOn) {
  const auto parameters = Parameters();
  auto optimizer =
      *Optimizer::Create("adamw", {*GroupsByRules(parameters, Options(), {})});
  const auto step = [&] {
    optimizer->ZeroGrad();
    for (const NamedTensor& p : parameters) {
      if (!p.tensor.requires_grad()) continue;
      at::Tensor tensor = p.tensor;
      tensor.mutable_grad() = at::ones({2});
    }
    optimizer->Step();
  };
  step();
  ASSERT_TRUE(FreezeByPattern(parameters, "fc2").ok());
  const at::Tensor frozen = parameters[3].tensor.detach().clone();
  step();
  step();
  EXPECT_TRUE(parameters[3].tensor.equal(frozen));
  ASSERT_TRUE(FreezeByPattern(parameters, "").ok());
  step();
  for (const ParameterState& state : optimizer->state().states) {
    EXPECT_EQ(state.step, state.parameter == "fc2.weight" ? 2u : 4u);
  }
  EXPECT_FALSE(parameters[3].tensor.equal(frozen));
}

}  // namespace
}  // namespace reprise
