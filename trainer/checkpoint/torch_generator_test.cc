#include "trainer/checkpoint/torch_generator.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <string>

#include "format/refusal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

at::Tensor Draw(const at::Generator& generator) {
  return at::randn({7}, generator, at::TensorOptions(at::kFloat));
}

TEST(TorchGenerator, LoadedOneDrawsWhatTheSavedOneWouldHave) {
  at::Generator generator = at::detail::createCPUGenerator(5);
  Draw(generator);  // an odd number: half a pair of normal values is state
  const GeneratorState saved = SaveGenerator(generator, "cpu");
  EXPECT_EQ(saved.algorithm, "mt19937");
  const at::Tensor expected = Draw(generator);
  at::Generator other = at::detail::createCPUGenerator(9);
  const absl::Status loaded = LoadGenerator({saved}, "cpu", &other);
  ASSERT_TRUE(loaded.ok()) << loaded;
  EXPECT_TRUE(at::equal(Draw(other), expected));
}

TEST(TorchGenerator, WhatIsNotItsStateIsRefusedAndChangesNothing) {
  at::Generator generator = at::detail::createCPUGenerator(5);
  const GeneratorState saved = SaveGenerator(generator, "cpu");
  const auto refused = [&](const std::vector<GeneratorState>& states,
                           Refusal refusal, const std::string& text) {
    const absl::Status status = LoadGenerator(states, "cpu", &generator);
    EXPECT_EQ(RefusalOf(status), refusal) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_EQ(SaveGenerator(generator, "cpu").state, saved.state);
  };
  refused({}, Refusal::MISSING_ITEM, "rng.cpu: the checkpoint has no state");
  GeneratorState other =
      SaveGenerator(at::detail::createCPUGenerator(6), "cpu");
  other.state.pop_back();
  refused({other}, Refusal::MISMATCH, "rng.cpu: expected 5056 bytes, found");
  other = SaveGenerator(at::detail::createCPUGenerator(6), "cpu");
  other.library = "libtorch 1.0.0";
  refused({other}, Refusal::MISMATCH, "found one of libtorch 1.0.0");
}

}  // namespace
}  // namespace reprise
