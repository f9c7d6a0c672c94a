#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/randint.h>

#include <cmath>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "trainer/amp/autocast.h"
#include "trainer/model/loss.h"
#include "trainer/model/model.h"

namespace reprise {
namespace {

void Seed(uint64_t seed) {
  at::Generator generator =
      at::globalContext().defaultGenerator(at::Device(at::kCPU));
  generator.set_current_seed(seed);
}

std::unique_ptr<Model> Make(double dropout = 0) {
  Seed(3);
  ModelOptions options;
  options.kind = "gpt";
  options.hidden = 32;
  options.layers = 2;
  options.heads = 4;
  options.sequence_length = 16;
  options.classes = 256;
  options.dropout = dropout;
  auto model = MakeModel(options);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

at::Tensor Tokens() { return at::randint(256, {3, 16}, at::kLong); }
// Labels that do not follow from the embedding of the token itself.
at::Tensor Labels(const at::Tensor& tokens) {
  return (tokens * 11 + 5).remainder(256);
}

TEST(Gpt, HasTheNamesOfGpt2AndOneTensorForBothEndsOfTheModel) {
  const auto model = Make();
  std::set<std::string> names;
  for (const NamedTensor& p : model->Parameters()) {
    EXPECT_TRUE(names.insert(p.name).second) << p.name;
    EXPECT_TRUE(p.tensor.requires_grad());
  }
  for (const char* name :
       {"wte.weight", "wpe.weight", "h.0.ln_1.weight", "h.1.attn.c_attn.bias",
        "h.1.mlp.c_proj.weight", "ln_f.bias"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
  EXPECT_EQ(names.size(), 2u + 2 * 12 + 2);
  EXPECT_TRUE(model->Buffers().empty());
  const auto tied = model->TiedNames();
  ASSERT_EQ(tied.size(), 1u);
  EXPECT_EQ(tied[0].name, "lm_head.weight");
  EXPECT_EQ(names.count("lm_head.weight"), 0u);
  EXPECT_EQ(tied[0].tensor.const_data_ptr(),
            model->Parameters()[0].tensor.const_data_ptr());
}

TEST(Gpt, FirstLossIsThatOfKnowingNothing) {
  const auto model = Make();
  const at::Tensor tokens = Tokens();
  const float loss =
      MeanLoss(model->Forward(tokens), Labels(tokens)).item<float>();
  EXPECT_NEAR(loss, std::log(256.0), 0.1);
  EXPECT_STREQ(model->initialisation(), "gpt2-normal-v1");
}

TEST(Gpt, AByteIsPredictedFromThoseBeforeItOnly) {
  const auto model = Make();
  const at::Tensor tokens = Tokens();
  const at::Tensor before = model->Forward(tokens);
  at::Tensor changed = tokens.clone();
  changed.select(1, 9).copy_((tokens.select(1, 9) + 1).remainder(256));
  const at::Tensor after = model->Forward(changed);
  EXPECT_TRUE(at::equal(before.narrow(1, 0, 9), after.narrow(1, 0, 9)));
  for (int64_t t = 9; t < 16; ++t) {
    EXPECT_FALSE(at::equal(before.select(1, t), after.select(1, t))) << t;
  }
}

TEST(Gpt, GivesFp32LogitsAndFp32GradientsInEveryPrecision) {
  const at::Tensor tokens = Tokens();
  const float expected =
      MeanLoss(Make()->Forward(tokens), Labels(tokens)).item<float>();
  for (at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    const auto model = Make();
    at::Tensor logits, loss;
    {
      const amp::Autocast autocast(at::kCPU, dtype);
      logits = model->Forward(tokens);
      loss = MeanLoss(logits, Labels(tokens));
    }
    EXPECT_EQ(logits.sizes(), at::IntArrayRef({3, 16, 256}));
    EXPECT_EQ(logits.scalar_type(), at::kFloat);
    EXPECT_NEAR(loss.item<float>(), expected, 0.02);
    loss.backward();
    for (const NamedTensor& p : model->Parameters()) {
      ASSERT_TRUE(p.tensor.grad().defined()) << p.name;
      EXPECT_EQ(p.tensor.grad().scalar_type(), at::kFloat) << p.name;
      EXPECT_TRUE(at::isfinite(p.tensor.grad()).all().item<bool>()) << p.name;
    }
  }
}

TEST(Gpt, C23_MatricesKeptInHalfHaveHalfGradientsAndNothingElseDoes) {
  const at::Tensor tokens = Tokens();
  for (at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    const auto model = Make();
    model->KeepMatricesIn(dtype);
    at::Tensor loss;
    {
      const amp::Autocast autocast(at::kCPU, dtype);
      loss = MeanLoss(model->Forward(tokens), Labels(tokens));
    }
    EXPECT_NEAR(loss.item<float>(), std::log(256.0), 0.1);
    (loss * 1024).backward();
    for (const NamedTensor& p : model->Parameters()) {
      const at::ScalarType kept = p.tensor.dim() == 2 ? dtype : at::kFloat;
      EXPECT_EQ(p.tensor.scalar_type(), kept) << p.name;
      ASSERT_TRUE(p.tensor.grad().defined()) << p.name;
      EXPECT_EQ(p.tensor.grad().scalar_type(), kept) << p.name;
    }
    EXPECT_EQ(model->TiedNames()[0].tensor.const_data_ptr(),
              model->Parameters()[0].tensor.const_data_ptr());
  }
}

TEST(Gpt, DropoutIsOnWhileTrainingOnly) {
  const auto model = Make(0.5);
  const at::Tensor tokens = Tokens();
  EXPECT_FALSE(at::equal(model->Forward(tokens), model->Forward(tokens)));
  model->SetTraining(false);
  EXPECT_TRUE(at::equal(model->Forward(tokens), model->Forward(tokens)));
}

TEST(Gpt, AcceptsShorterSequences) {
  const auto model = Make();
  const at::Tensor tokens = Tokens();
  const at::Tensor whole = model->Forward(tokens);
  const at::Tensor part = model->Forward(tokens.narrow(1, 0, 5));
  EXPECT_TRUE(part.allclose(whole.narrow(1, 0, 5), 1e-4, 1e-5));
}

TEST(Gpt, RefusesHeadsThatDoNotDivideTheWidth) {
  ModelOptions options;
  options.kind = "gpt";
  options.heads = 3;
  EXPECT_NE(MakeModel(options).status().message().find("model.heads"),
            std::string::npos);
}

TEST(MeanLoss, IsTheMeanOverEveryPrediction) {
  const at::Tensor logits =
      at::arange(24, at::kFloat).remainder(5).view({2, 3, 4});
  const at::Tensor labels = at::arange(6, at::kLong).remainder(4).view({2, 3});
  const float all = MeanLoss(logits, labels).item<float>();
  const float first = MeanLoss(logits[0], labels[0]).item<float>();
  const float second = MeanLoss(logits[1], labels[1]).item<float>();
  EXPECT_NEAR(all, (first + second) / 2, 1e-6);
  EXPECT_EQ(CountRight(logits, labels), CountRight(logits[0], labels[0]) +
                                            CountRight(logits[1], labels[1]));
}

}  // namespace
}  // namespace reprise
