// The trainer's arithmetic against Python's, from committed fixtures: bit for
// bit where the operators are the same, else within a stated distance.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "trainer/amp/grad_scaler.h"
#include "trainer/model/loss.h"
#include "trainer/model/model.h"
#include "trainer/optim/clip.h"
#include "trainer/optim/ema.h"
#include "trainer/optim/optimizer.h"
#include "trainer/parity/fixture.h"
#include "trainer/schedule/schedule.h"

namespace reprise {
namespace {

// Elements of every optimizer fixture.
constexpr int kWidth = 8;

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0)
      return line.substr(line.find(':') + 2);
  }
  return "";
}

// LibTorch's square root and matrix kernels are chosen by the CPU model: on the
// one of the fixtures every number has Python's bits, on another one the two
// are compared within a stated distance.
bool IsCpuOfFixtures() {
  static const bool same = [] {
    for (const Words& words : ReadFixture("convnet.txt")) {
      if (words[0] != "cpu") continue;
      return absl::StrJoin(words.begin() + 1, words.end(), " ") == CpuName();
    }
    return false;
  }();
  return same;
}

void ExpectLike(float found, const std::string& bits, const std::string& what) {
  const float expected = F32(bits);
  if (IsCpuOfFixtures() || !std::isfinite(expected)) {
    ASSERT_EQ(UlpDistance(found, expected), 0u)
        << what << ": expected " << expected << ", found " << found;
  } else {
    ASSERT_NEAR(found, expected, 1e-5 * std::max(1.0f, std::abs(expected)))
        << what;
  }
}

void ExpectLike(const at::Tensor& tensor, const Words& words, size_t first,
                const std::string& what) {
  const at::Tensor flat = tensor.detach().flatten();
  for (int i = 0; i < kWidth; ++i) {
    ExpectLike(flat[i].item<float>(), words[first + i],
               absl::StrCat(what, "[", i, "]"));
  }
}

class OptimizerParity : public testing::TestWithParam<const char*> {};

TEST_P(OptimizerParity, ScalerClipOptimizerAndEmaDoAsPythonFor200Steps) {
  const std::string fixture = GetParam();
  NamedTensor parameter{"p", FixedValues({kWidth})};
  Optimizer::Group group;
  group.name = "all";
  group.parameters = {parameter};
  group.lr = 1e-2;
  group.beta2 = 0.99;
  group.weight_decay = 0.1;
  if (fixture == "sgd_momentum") {
    group.momentum = 0.9;
    group.dampening = 0.25;
  } else if (fixture == "sgd_nesterov") {
    group.momentum = 0.9;
    group.nesterov = true;
  }
  auto optimizer =
      *Optimizer::Create(fixture.substr(0, fixture.find('_')), {group});
  amp::GradScaler scaler({.init_scale = 4096.0f, .growth_interval = 10},
                         at::kCPU);
  Ema ema({parameter}, 0.95);

  const std::vector<Words> gradients = ReadFixture("gradients.txt");
  const std::vector<Words> expected = ReadFixture(fixture + ".txt");
  ASSERT_EQ(gradients.size(), 200u);
  ASSERT_EQ(expected.size(), 200u);
  int skipped = 0;
  for (size_t step = 0; step < expected.size(); ++step) {
    const Words& words = expected[step];
    const std::string at = absl::StrCat(fixture, " step ", step);
    ASSERT_EQ(scaler.scale(), F32(words[0])) << at;
    // Python's graph is loss = sum(p * g), so its gradient is g * scale.
    at::Tensor gradient = at::zeros({kWidth});
    for (int i = 0; i < kWidth; ++i) {
      gradient[i].fill_(F32(gradients[step][i]) * scaler.scale());
    }
    parameter.tensor.mutable_grad() = gradient;
    ASSERT_TRUE(scaler.Unscale({parameter.tensor}).ok());
    const at::Tensor norm = GradientNorm({parameter.tensor});
    ExpectLike(norm.item<float>(), words[3], at + " norm");
    ASSERT_EQ(scaler.found_inf(), words[2] == "1") << at;
    if (!scaler.found_inf()) {
      ClipGradients({parameter.tensor}, norm, 1.0);
      optimizer->Step();
      ema.Update();
    }
    skipped += scaler.found_inf();
    scaler.Update();
    ASSERT_EQ(absl::StrCat(scaler.growth_tracker()), words[1]) << at;
    ExpectLike(parameter.tensor, words, 4, at + " parameter");
    ExpectLike(ema.averages()[0].tensor, words, 4 + kWidth, at + " average");
  }
  EXPECT_EQ(skipped, 4) << "the fixture's Inf and NaN steps";
}

INSTANTIATE_TEST_SUITE_P(Kinds, OptimizerParity,
                         testing::Values("adamw", "adam", "sgd", "sgd_momentum",
                                         "sgd_nesterov"));

TEST(ScheduleParity, WarmupCosineIsWithinOneUlpOfTheBaseOfPythonsClosedForm) {
  const auto schedule = WarmupCosine::Create({20, 300, 0.01});
  ASSERT_TRUE(schedule.ok());
  const std::vector<Words> expected = ReadFixture("warmup_cosine.txt");
  ASSERT_EQ(expected.size(), 301u);
  // Near the horizon 1 + cos cancels, so that a last-bit difference of the
  // cosine is many units of the small result: the unit is that of the base.
  constexpr double kUlpOfBase = std::numeric_limits<double>::epsilon();
  double worst = 0;
  for (size_t position = 0; position < expected.size(); ++position) {
    const double python = F64(expected[position][0]);
    const double distance = std::abs(schedule->Fraction(position) - python);
    worst = std::max(worst, distance);
    EXPECT_LE(distance, kUlpOfBase)
        << "position " << position << ": expected " << python << ", found "
        << schedule->Fraction(position);
  }
  std::printf("warmup-cosine-v1: largest distance %.2f ulp of the base\n",
              worst / kUlpOfBase);
}

// Compares one forward and backward pass with the fixture. On the CPU model of
// the fixture every number has Python's bits; on another one, whose matrix
// kernels differ, a distance of `tolerance` relative to the tensor's norm.
class ModelParity {
 public:
  ModelParity(const std::string& fixture, double tolerance)
      : tolerance_(tolerance) {
    for (const Words& words : ReadFixture(fixture)) {
      if (words[0] == "cpu") continue;
      if (words[0] == "loss") {
        entries_["loss"] = {words[1]};
      } else {
        entries_[words[0] + " " + words[1]] =
            Words(words.begin() + 2, words.end());
      }
    }
    std::printf(
        "%s: %s\n", fixture.c_str(),
        same_cpu_ ? "same CPU, bits compared" : "another CPU, values compared");
  }

  void ExpectInitialValues(const Model& model) {
    for (const NamedTensor& p : model.Parameters()) {
      const Words& words = entries_.at("init " + p.name);
      ++compared_;
      // The draws come from the generator alone: bits on every CPU.
      EXPECT_EQ(p.tensor.to(at::kDouble).sum().item<double>(), F64(words[0]))
          << p.name;
      ExpectFirstTwo(p.tensor, words, 1, 0, "init " + p.name);
    }
  }

  void ExpectPass(Model& model, const at::Tensor& input,
                  const at::Tensor& labels) {
    const at::Tensor loss = MeanLoss(model.Forward(input), labels);
    loss.backward();
    Expect(loss.item<float>(), entries_.at("loss")[0], 1, "loss");
    for (const NamedTensor& p : model.Parameters()) {
      const Words& words = entries_.at("grad " + p.name);
      ++compared_;
      const float norm = F32(words[0]);
      Expect(at::linalg_vector_norm(p.tensor.grad()).item<float>(), words[0],
             norm, "norm of " + p.name);
      ExpectFirstTwo(p.tensor.grad(), words, 1, norm, "gradient of " + p.name);
    }
    for (const NamedTensor& b : model.Buffers()) {
      if (b.tensor.scalar_type() != at::kFloat) continue;
      ++compared_;
      ExpectFirstTwo(b.tensor, entries_.at("buffer " + b.name), 0, 1, b.name);
    }
  }

  // Every entry of the fixture but the loss was compared.
  void ExpectComplete() const { EXPECT_EQ(compared_, entries_.size() - 1); }

 private:
  void Expect(float found, const std::string& bits, double scale,
              const std::string& what) {
    const float expected = F32(bits);
    if (same_cpu_) {
      EXPECT_EQ(UlpDistance(found, expected), 0u)
          << what << ": expected " << expected << ", found " << found;
    } else {
      EXPECT_NEAR(found, expected, tolerance_ * scale) << what;
    }
  }

  void ExpectFirstTwo(const at::Tensor& tensor, const Words& words,
                      size_t first, double scale, const std::string& what) {
    const at::Tensor flat = tensor.detach().flatten();
    for (size_t i = first; i < words.size(); ++i) {
      Expect(flat[i - first].item<float>(), words[i], scale, what);
    }
  }

  const double tolerance_;
  const bool same_cpu_ = IsCpuOfFixtures();
  std::map<std::string, Words> entries_;
  size_t compared_ = 0;
};

void RunModel(const std::string& fixture, const ModelOptions& options,
              const at::Tensor& input, const at::Tensor& labels,
              double tolerance) {
  at::set_num_threads(1);
  at::Generator generator =
      at::globalContext().defaultGenerator(at::Device(at::kCPU));
  generator.set_current_seed(7);
  auto model = MakeModel(options);
  ASSERT_TRUE(model.ok());
  ModelParity parity(fixture, tolerance);
  parity.ExpectInitialValues(**model);
  parity.ExpectPass(**model, input, labels);
  parity.ExpectComplete();
}

TEST(ModelParity, ConvNetDrawsAndComputesAsPythonDoes) {
  ModelOptions options;
  options.kind = "convnet";
  options.hidden = 32;
  RunModel("convnet.txt", options, FixedValues({4, 1, 28, 28}), at::arange(4),
           1e-4);
}

TEST(ModelParity, ResNet18DrawsAndComputesAsPythonDoes) {
  ModelOptions options;
  options.kind = "resnet18";
  options.channels = 3;
  options.classes = 1000;
  RunModel("resnet18.txt", options, FixedValues({2, 3, 64, 64}), at::arange(2),
           1e-3);
}

TEST(ModelParity, GptDrawsAndComputesAsPythonDoes) {
  ModelOptions options;
  options.kind = "gpt";
  options.hidden = 32;
  options.layers = 2;
  options.heads = 4;
  options.sequence_length = 16;
  options.classes = 256;
  const at::Tensor bytes = (at::arange(4 * 16 + 1) * 37).remainder(256);
  RunModel("gpt.txt", options, bytes.narrow(0, 0, 64).view({4, 16}),
           bytes.narrow(0, 1, 64).view({4, 16}), 1e-4);
}

}  // namespace
}  // namespace reprise
