// The released vectors of the algorithms that run on LibTorch's operators. A
// change that fails here is another algorithm: it needs a new id, a new file of
// vectors and the old code kept (spec/ALGORITHMS.md).
//
// Runs in LibTorch's portable instruction set: others fuse a product with the
// sum that follows.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <zlib.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/random/read_vectors.h"
#include "gtest/gtest.h"
#include "trainer/amp/grad_scaler.h"
#include "trainer/model/model.h"
#include "trainer/optim/optimizer.h"

namespace reprise {
namespace {

using Row = std::vector<std::string>;

template <typename Float, typename Bits>
Float FromBits(const std::string& digits) {
  if (digits == "nan") return std::nanf("");
  const Bits bits = std::stoull(digits, nullptr, 16);
  Float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
double F64(const std::string& digits) {
  return FromBits<double, uint64_t>(digits);
}
float F32(const std::string& digits) {
  return FromBits<float, uint32_t>(digits);
}
std::string Digits(float value) {
  if (std::isnan(value)) return "nan";
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return absl::StrCat(absl::Hex(bits, absl::kZeroPad8));
}

// A row split at its "=" fields.
std::vector<Row> Parts(const Row& row) {
  std::vector<Row> parts(1);
  for (const std::string& field : row) {
    if (field == "=") {
      parts.emplace_back();
    } else {
      parts.back().push_back(field);
    }
  }
  return parts;
}

at::Tensor Floats(const Row& digits, size_t first, size_t count) {
  at::Tensor values =
      at::empty({static_cast<int64_t>(count)}, at::TensorOptions(at::kFloat));
  for (size_t i = 0; i < count; ++i) {
    values.mutable_data_ptr<float>()[i] = F32(digits[first + i]);
  }
  return values;
}

Row DigitsOf(const float* values, size_t count) {
  Row digits;
  for (size_t i = 0; i < count; ++i) digits.push_back(Digits(values[i]));
  return digits;
}

Row DigitsOf(const at::Tensor& values) {
  return DigitsOf(values.const_data_ptr<float>(), values.numel());
}

at::CPUGeneratorImpl* SeededGenerator(uint64_t seed) {
  at::set_num_threads(1);
  at::Generator generator =
      at::globalContext().defaultGenerator(at::Device(at::kCPU));
  generator.set_current_seed(seed);
  return at::check_generator<at::CPUGeneratorImpl>(generator);
}

std::string Crc32(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().contiguous();
  return absl::StrCat(
      absl::Hex(crc32(0, static_cast<const Bytef*>(values.const_data_ptr()),
                      values.nbytes()),
                absl::kZeroPad8));
}

// Compares the first values of every model that the vectors `name` describe.
void ExpectFirstValues(const std::string& name) {
  std::map<std::string, std::vector<Row>> cases;
  for (const Row& row : ReadVectors(name)) {
    cases[absl::StrJoin(row.begin(), row.begin() + 4, " ")].push_back(row);
  }
  for (const auto& [key, rows] : cases) {
    ModelOptions options;
    options.kind = rows[0][0];
    options.hidden = std::stoll(rows[0][1]);
    options.height = options.width = std::stoll(rows[0][2]);
    at::CPUGeneratorImpl* generator = SeededGenerator(std::stoull(rows[0][3]));
    auto model = MakeModel(options);
    ASSERT_TRUE(model.ok()) << model.status();
    std::vector<Row> found;
    for (const NamedTensor& p : (*model)->Parameters()) {
      found.push_back(
          {p.name, absl::StrCat(p.tensor.numel()), "=", Crc32(p.tensor)});
    }
    found.push_back({"next", "="});
    for (int i = 0; i < 3; ++i) {
      found.back().push_back(
          absl::StrCat(absl::Hex(generator->random(), absl::kZeroPad8)));
    }
    std::vector<std::string> lines;
    for (const Row& row : found) {
      lines.push_back(absl::StrCat(key, " ", absl::StrJoin(row, " ")));
    }
    ASSERT_EQ(lines.size(), rows.size()) << "found:\n"
                                         << absl::StrJoin(lines, "\n");
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(lines[i], absl::StrJoin(rows[i], " "))
          << "torch-default-v1 gives other first values: another algorithm "
             "needs another id";
    }
  }
}

TEST(TorchDefaultV1, MlpAndConvNetHaveTheReleasedFirstValues) {
  ExpectFirstValues("torch-default-v1");
}

TEST(TorchDefaultV1, ResNet18HasTheReleasedFirstValues) {
  ExpectFirstValues("torch-default-v1-resnet18");
}

TEST(TorchDefaultV1, AnotherSeedGivesOtherValues) {
  const std::vector<Row> rows = ReadVectors("torch-default-v1");
  SeededGenerator(std::stoull(rows[0][3]) + 1);
  ModelOptions options;
  options.kind = rows[0][0];
  options.hidden = std::stoll(rows[0][1]);
  options.height = options.width = std::stoll(rows[0][2]);
  EXPECT_NE(Crc32((*MakeModel(options))->Parameters()[0].tensor), rows[0][7]);
}

TEST(TorchSingleTensorV1, EveryKindHasTheReleasedUpdates) {
  std::unique_ptr<Optimizer> optimizer;
  NamedTensor parameter{"p", at::Tensor()};
  for (const Row& row : ReadVectors("torch-single-tensor-v1")) {
    const std::vector<Row> parts = Parts(row);
    const Row& given = parts[0];
    const std::string line = absl::StrJoin(row, " ");
    if (given[9] == "1") {
      parameter.tensor = Floats(parts[1], 0, 4);
      Optimizer::Group group;
      group.name = "all";
      group.parameters = {parameter};
      group.lr = group.base_lr = F64(given[1]);
      group.weight_decay = F64(given[2]);
      group.beta1 = F64(given[3]);
      group.beta2 = F64(given[4]);
      group.eps = F64(given[5]);
      group.momentum = F64(given[6]);
      group.dampening = F64(given[7]);
      group.nesterov = given[8] == "1";
      auto made = Optimizer::Create(given[0], {group});
      ASSERT_TRUE(made.ok()) << made.status();
      optimizer = *std::move(made);
    }
    ASSERT_EQ(DigitsOf(parameter.tensor), parts[1]) << line;
    parameter.tensor.mutable_grad() = Floats(given, 10, 4);
    optimizer->Step();
    EXPECT_EQ(DigitsOf(parameter.tensor), parts[2])
        << "torch-single-tensor-v1 computes something else: another algorithm "
           "needs another id; "
        << line;
    const OptimizerState state = optimizer->state();
    ASSERT_EQ(state.states[0].moments.size(), parts.size() - 3) << line;
    for (size_t k = 3; k < parts.size(); ++k) {
      const Tensor& moment = state.states[0].moments[k - 3];
      EXPECT_EQ(DigitsOf(static_cast<const float*>(moment.data()), 4), parts[k])
          << moment.name() << "; " << line;
    }
  }
}

TEST(GradScalerV1, UnscalesAndMovesTheScaleAsReleased) {
  for (const Row& row : ReadVectors("grad-scaler-v1")) {
    const std::vector<Row> parts = Parts(row);
    const Row& given = parts[0];
    amp::GradScaler scaler({}, at::kCPU);
    GradScalerState state = scaler.state();
    EXPECT_EQ(state.arithmetic, "grad-scaler-v1");
    state.growth_factor = F64(given[1]);
    state.backoff_factor = F64(given[2]);
    state.growth_interval = std::stoul(given[3]);
    state.scale = F32(given[4]);
    state.growth_tracker = std::stoul(given[5]);
    ASSERT_TRUE(scaler.Load(state).ok());
    at::Tensor p = Floats(given, 6, 2);
    p.mutable_grad() = Floats(given, 6, 2);
    ASSERT_TRUE(scaler.Unscale({p}).ok());
    Row found = DigitsOf(p.grad());
    found.push_back(scaler.found_inf() ? "1" : "0");
    scaler.Update();
    found.push_back(Digits(scaler.scale()));
    found.push_back(absl::StrCat(scaler.growth_tracker()));
    EXPECT_EQ(found, parts[1])
        << "grad-scaler-v1 computes something else: another algorithm needs "
           "another id; "
        << absl::StrJoin(row, " ");
  }
}

}  // namespace
}  // namespace reprise
