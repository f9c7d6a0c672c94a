#include "trainer/parity/fixture.h"

#include <ATen/ops/empty.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

template <typename Float, typename Bits>
Float FromBits(const std::string& digits) {
  const Bits bits = std::strtoull(digits.c_str(), nullptr, 16);
  Float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

template <typename Bits, typename Float>
uint64_t Distance(Float a, Float b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (!std::isfinite(a) || !std::isfinite(b) ||
      std::signbit(a) != std::signbit(b)) {
    return std::numeric_limits<uint32_t>::max();
  }
  Bits x, y;
  std::memcpy(&x, &a, sizeof(x));
  std::memcpy(&y, &b, sizeof(y));
  return x > y ? x - y : y - x;
}

}  // namespace

std::vector<Words> ReadFixture(const std::string& name) {
  std::ifstream file(absl::StrCat("trainer/parity/fixtures/", name));
  EXPECT_TRUE(file.good()) << "cannot read fixture " << name;
  std::vector<Words> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    lines.push_back(absl::StrSplit(line, ' '));
  }
  return lines;
}

float F32(const std::string& bits) { return FromBits<float, uint32_t>(bits); }
double F64(const std::string& bits) { return FromBits<double, uint64_t>(bits); }

uint64_t UlpDistance(float a, float b) { return Distance<uint32_t>(a, b); }
uint64_t UlpDistance(double a, double b) { return Distance<uint64_t>(a, b); }

at::Tensor FixedValues(std::vector<int64_t> shape, uint32_t seed) {
  at::Tensor values = at::empty(shape, at::kFloat);
  float* out = values.mutable_data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    out[i] = static_cast<float>(static_cast<int32_t>(seed) >> 8) / (1 << 23);
  }
  return values;
}

}  // namespace reprise
