#include "trainer/optim/ema.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>

#include <utility>

#include "gtest/gtest.h"
#include "trainer/checkpoint/torch_tensor.h"

namespace reprise {
namespace {

std::vector<NamedTensor> Parameters(double value) {
  return {{"w", at::full({3}, value)}, {"b", at::full({1}, -value)}};
}

std::vector<Tensor> Views(const std::vector<NamedTensor>& tensors) {
  std::vector<Tensor> views;
  for (const NamedTensor& t : tensors)
    views.push_back(ViewOf(t.name, t.tensor));
  return views;
}

TEST(Ema, RampBeginsAtATenthAndEndsAtTheDecay) {
  const std::vector<NamedTensor> parameters = Parameters(1);
  Ema ema(parameters, 0.5, kEmaRampV1);
  EXPECT_EQ(ema.NextDecay(), 1.0 / 10);
  ema.Update();
  EXPECT_EQ(ema.NextDecay(), 2.0 / 11);
  for (int i = 0; i < 10; ++i) ema.Update();
  EXPECT_EQ(ema.NextDecay(), 0.5);
  EXPECT_EQ(Ema(parameters, 0.5).NextDecay(), 0.5);
}

TEST(Ema, GoesOnBitForBitFromItsState) {
  std::vector<NamedTensor> parameters = Parameters(1);
  Ema whole(parameters, 0.9, kEmaRampV1);
  const auto train = [&parameters](Ema* ema, int step) {
    parameters[0].tensor.fill_(0.1 * step * step);
    parameters[1].tensor.fill_(1.0 / (step + 1));
    ema->Update();
  };
  for (int step = 0; step < 5; ++step) train(&whole, step);
  Ema resumed(Parameters(7), 0.2);
  const absl::Status status =
      resumed.Load(whole.state(), Views(whole.averages()));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(resumed.updates(), 5u);
  EXPECT_EQ(resumed.NextDecay(), whole.NextDecay());
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(
        at::equal(resumed.averages()[i].tensor, whole.averages()[i].tensor));
  }
}

TEST(Ema, WithoutUpdatesTheAverageIsTheWeightsAsTheyAre) {
  const std::vector<NamedTensor> parameters = Parameters(1);
  Ema ema(parameters, 0.9);
  parameters[0].tensor.fill_(5);  // loaded since
  ASSERT_TRUE(ema.Load({0.9, "", 0}, {}).ok());
  EXPECT_TRUE(at::equal(ema.averages()[0].tensor, parameters[0].tensor));
}

TEST(Ema, RefusesAnotherModelsAveragesByName) {
  Ema ema(Parameters(1), 0.9);
  std::vector<NamedTensor> other = Parameters(1);
  other.pop_back();
  EXPECT_NE(ema.Load({0.9, "", 1}, Views(other)).message().find("of b"),
            std::string::npos);
  other.push_back({"b", at::full({1}, 1.0)});
  other.push_back({"stranger", at::full({1}, 1.0)});
  EXPECT_NE(ema.Load({0.9, "", 1}, Views(other)).message().find("stranger"),
            std::string::npos);
  EXPECT_NE(ema.Load({0.9, "ramp-v9", 1}, {}).message().find("ramp-v9"),
            std::string::npos);
}

}  // namespace
}  // namespace reprise
