#include "trainer/amp/grad_scaler.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include <limits>

#include "gtest/gtest.h"

namespace reprise::amp {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

at::Tensor WithGradient(std::vector<int64_t> shape, float gradient,
                        at::ScalarType dtype = at::kFloat) {
  at::Tensor parameter = at::ones(shape, at::TensorOptions(dtype));
  parameter.mutable_grad() =
      at::full(shape, gradient, at::TensorOptions(dtype));
  return parameter;
}

// One step whose gradients are `gradient`; returns whether it was to be
// skipped.
bool Turn(GradScaler& scaler, float gradient) {
  EXPECT_TRUE(scaler.Unscale({WithGradient({3}, gradient)}).ok());
  const bool skip = scaler.found_inf();
  scaler.Update();
  return skip;
}

TEST(GradScaler, ScalesTheLossAndUnscalesTheGradients) {
  GradScaler scaler({.init_scale = 1024.0f}, at::kCPU);
  EXPECT_EQ(scaler.Scale(at::full({}, 0.5f)).item<float>(), 512.0f);
  const at::Tensor p = WithGradient({2}, 2048.0f);
  ASSERT_TRUE(scaler.Unscale({p}).ok());
  EXPECT_EQ(p.grad()[0].item<float>(), 2.0f);
  EXPECT_FALSE(scaler.found_inf());
}

TEST(GradScaler, C02_GrowsAfterExactlyTheIntervalOfGoodSteps) {
  GradScaler scaler({.init_scale = 8.0f, .growth_interval = 3}, at::kCPU);
  Turn(scaler, 1);
  Turn(scaler, 1);
  EXPECT_EQ(scaler.scale(), 8.0f);
  EXPECT_EQ(scaler.growth_tracker(), 2u);
  Turn(scaler, 1);
  EXPECT_EQ(scaler.scale(), 16.0f);
  EXPECT_EQ(scaler.growth_tracker(), 0u);
}

TEST(GradScaler, C01_HalvesAndForgetsGoodStepsOnInfAndOnNan) {
  for (float bad : {kInf, -kInf, kNan}) {
    GradScaler scaler({.init_scale = 8.0f, .growth_interval = 3}, at::kCPU);
    Turn(scaler, 1);
    EXPECT_TRUE(Turn(scaler, bad));
    EXPECT_EQ(scaler.scale(), 4.0f);
    EXPECT_EQ(scaler.growth_tracker(), 0u);
  }
}

// Rules: STEP-4
TEST(GradScaler, AnOverflowIsForgottenInTheNextStep) {
  GradScaler scaler({.init_scale = 8.0f}, at::kCPU);
  EXPECT_TRUE(Turn(scaler, kInf));
  EXPECT_FALSE(Turn(scaler, 1));
}

TEST(GradScaler, ParametersWithoutAGradientArePassedOver) {
  GradScaler scaler({}, at::kCPU);
  EXPECT_TRUE(scaler.Unscale({at::ones({2})}).ok());
  EXPECT_FALSE(scaler.found_inf());
}

TEST(GradScaler, RefusesFp16Gradients) {
  GradScaler scaler({}, at::kCPU);
  const absl::Status status = scaler.Unscale({WithGradient({2}, 1, at::kHalf)});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

TEST(GradScaler, RefusesToUnscaleTwiceInOneStep) {
  GradScaler scaler({}, at::kCPU);
  const at::Tensor p = WithGradient({2}, 1);
  ASSERT_TRUE(scaler.Unscale({p}).ok());
  EXPECT_EQ(scaler.Unscale({p}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(GradScaler, C03_LoadingAHundredTimesChangesNothing) {
  GradScaler scaler({.init_scale = 8.0f, .growth_interval = 5}, at::kCPU);
  Turn(scaler, 1);
  Turn(scaler, 1);
  const GradScalerState before = scaler.state();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(scaler.Load(scaler.state()).ok());
  EXPECT_EQ(scaler.state().scale, before.scale);
  EXPECT_EQ(scaler.state().growth_tracker, 2u);
  EXPECT_EQ(scaler.state().growth_interval, 5u);
}

TEST(GradScaler, LoadedStateGoesOnLikeTheOriginal) {
  GradScaler original({.init_scale = 8.0f, .growth_interval = 4}, at::kCPU);
  Turn(original, 1);
  Turn(original, kInf);
  Turn(original, 1);
  GradScaler resumed({}, at::kCPU);
  ASSERT_TRUE(resumed.Load(original.state()).ok());
  for (int step = 0; step < 20; ++step) {
    const float gradient = step % 7 == 6 ? kNan : 1.0f;
    EXPECT_EQ(Turn(original, gradient), Turn(resumed, gradient));
    EXPECT_EQ(original.scale(), resumed.scale());
    EXPECT_EQ(original.growth_tracker(), resumed.growth_tracker());
  }
}

TEST(GradScaler, LoadRefusesImpossibleStateAndKeepsItsOwn) {
  GradScaler scaler({.init_scale = 8.0f}, at::kCPU);
  const GradScalerState good = scaler.state();
  for (float scale : {0.0f, -1.0f, kInf, kNan}) {
    GradScalerState bad = good;
    bad.scale = scale;
    EXPECT_FALSE(scaler.Load(bad).ok()) << scale;
  }
  GradScalerState bad = good;
  bad.growth_tracker = bad.growth_interval;
  EXPECT_FALSE(scaler.Load(bad).ok());
  bad = good;
  bad.arithmetic = "grad-scaler-v2";
  EXPECT_FALSE(scaler.Load(bad).ok());
  EXPECT_EQ(scaler.scale(), 8.0f);
}

TEST(GradScaler, KnowsWhenTheScaleFellBelowTheMinimum) {
  GradScaler scaler({.init_scale = 2.0f, .min_scale = 1.0}, at::kCPU);
  Turn(scaler, kInf);
  EXPECT_FALSE(scaler.BelowMinimum());
  Turn(scaler, kInf);
  EXPECT_TRUE(scaler.BelowMinimum());
}

}  // namespace
}  // namespace reprise::amp
