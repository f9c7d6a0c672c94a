#include "trainer/model/model.h"

#include <ATen/Context.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>

#include <set>

#include "gtest/gtest.h"
#include "trainer/amp/autocast.h"

namespace reprise {
namespace {

void Seed(uint64_t seed) {
  at::Generator generator =
      at::globalContext().defaultGenerator(at::Device(at::kCPU));
  generator.set_current_seed(seed);
}

std::unique_ptr<Model> Make(const std::string& kind) {
  ModelOptions options;
  options.kind = kind;
  options.hidden = 16;
  options.dropout = 0.5;
  auto model = MakeModel(options);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

class EveryModel : public testing::TestWithParam<const char*> {};

TEST_P(EveryModel, EqualSeedsGiveEqualValuesUnderUniqueNames) {
  Seed(3);
  const auto a = Make(GetParam())->Parameters();
  Seed(3);
  const auto b = Make(GetParam())->Parameters();
  ASSERT_EQ(a.size(), b.size());
  std::set<std::string> names;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_TRUE(at::equal(a[i].tensor, b[i].tensor)) << a[i].name;
    EXPECT_TRUE(names.insert(a[i].name).second) << a[i].name;
  }
}

TEST_P(EveryModel, GivesFp32LogitsAndFp32GradientsInEveryPrecision) {
  for (at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    Seed(3);
    const auto model = Make(GetParam());
    at::Tensor logits;
    {
      const amp::Autocast autocast(at::kCPU, dtype);
      logits = model->Forward(at::rand({4, 1, 28, 28}));
    }
    EXPECT_EQ(logits.sizes(), at::IntArrayRef({4, 10}));
    EXPECT_EQ(logits.scalar_type(), at::kFloat);
    logits.square().sum().backward();
    for (const NamedTensor& p : model->Parameters()) {
      ASSERT_TRUE(p.tensor.grad().defined()) << p.name;
      EXPECT_EQ(p.tensor.grad().scalar_type(), at::kFloat) << p.name;
      EXPECT_TRUE(at::isfinite(p.tensor.grad()).all().item<bool>()) << p.name;
    }
  }
}

TEST_P(EveryModel, DropoutAndStatisticsAreOnWhileTrainingOnly) {
  const bool has_dropout = GetParam() != std::string("resnet18");
  Seed(3);
  const auto model = Make(GetParam());
  const at::Tensor images = at::rand({4, 1, 28, 28});
  EXPECT_EQ(at::equal(model->Forward(images), model->Forward(images)),
            !has_dropout);
  model->SetTraining(false);
  const at::Tensor statistics = model->Buffers()[0].tensor.clone();
  EXPECT_TRUE(at::equal(model->Forward(images), model->Forward(images)));
  EXPECT_TRUE(at::equal(statistics, model->Buffers()[0].tensor));
  model->SetTraining(true);
  model->Forward(images);
  EXPECT_FALSE(at::equal(statistics, model->Buffers()[0].tensor));
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel,
                         testing::Values("convnet", "mlp", "resnet18"));

// Rules: TEN-4
TEST(ResNet18, HasTorchvisionsNamesAndSize) {
  ModelOptions options;
  options.kind = "resnet18";
  options.channels = 3;
  options.classes = 1000;
  const auto model = MakeModel(options);
  ASSERT_TRUE(model.ok());
  int64_t elements = 0;
  std::set<std::string> names;
  for (const NamedTensor& p : (*model)->Parameters()) {
    elements += p.tensor.numel();
    names.insert(p.name);
  }
  EXPECT_EQ(elements, 11689512);  // torchvision's published count
  EXPECT_EQ(names.count("layer2.0.downsample.0.weight"), 1u);
  EXPECT_EQ(names.count("layer4.1.bn2.bias"), 1u);
}

TEST(ResNet18, NarrowOneHasTheSameNamesAndChannelsInTheSameProportion) {
  ModelOptions options;
  options.kind = "resnet18";
  const auto wide = MakeModel(options);
  options.resnet_width = 4;
  const auto narrow = MakeModel(options);
  ASSERT_TRUE(wide.ok() && narrow.ok());
  const auto a = (*wide)->Parameters(), b = (*narrow)->Parameters();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    ASSERT_EQ(a[i].tensor.dim(), b[i].tensor.dim()) << a[i].name;
    for (int64_t d = 0; d < a[i].tensor.dim(); ++d) {
      // Classes, image channels and kernels stay; all below 64 here.
      const int64_t size = a[i].tensor.size(d);
      EXPECT_EQ(b[i].tensor.size(d), size >= 64 ? size / 16 : size)
          << a[i].name << " dimension " << d;
    }
  }
  EXPECT_EQ((*narrow)->Forward(at::rand({4, 1, 28, 28})).sizes(),
            at::IntArrayRef({4, 10}));
}

TEST(MakeModel, RefusesAnUnknownKindByName) {
  ModelOptions options;
  options.kind = "resnet9000";
  const auto model = MakeModel(options);
  EXPECT_NE(model.status().message().find("resnet9000"), std::string::npos);
}

TEST(Autocast, LeavesNothingBehind) {
  {
    const amp::Autocast outer(at::kCPU, at::kHalf);
    const amp::Autocast inner(at::kCPU, at::kFloat);
  }
  const at::Tensor a = at::ones({2, 2});
  EXPECT_EQ(a.matmul(a).scalar_type(), at::kFloat);
}

}  // namespace
}  // namespace reprise
