#include "tools/ckpt/tensor_statistics.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::ckpt {
namespace {

using ::testing::ElementsAre;

TEST(TensorStatistics, CountsWhatIsNotFiniteApart) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1, -3, 0, -0.0f, inf, -inf, std::nanf("")};
  const TensorStatistics s =
      StatisticsOf(Tensor::View("w", DType::kF32, {7}, values.data()), 2);
  EXPECT_EQ(s.elements(), 7u);
  EXPECT_EQ(s.nan(), 1u);
  EXPECT_EQ(s.infinite(), 2u);
  EXPECT_EQ(s.zero(), 2u);
  EXPECT_EQ(s.minimum(), -3);
  EXPECT_EQ(s.maximum(), 1);
  EXPECT_EQ(s.mean(), -0.5);
  EXPECT_DOUBLE_EQ(s.standard_deviation(), 1.5);
  EXPECT_THAT(s.values(), ElementsAre("1", "-3"));
}

TEST(TensorStatistics, ValuesAreInRowMajorOrderWhateverTheMemory) {
  const std::vector<int32_t> values = {0, 1, 2, 3, 4, 5};
  const TensorStatistics s = StatisticsOf(
      Tensor::Strided("w", DType::kI32, {3, 2}, {1, 3}, nullptr, values.data()),
      6);
  EXPECT_THAT(s.values(), ElementsAre("0", "3", "1", "4", "2", "5"));
}

TEST(TensorStatistics, EveryFloatingTypeHasItsValues) {
  struct Case {
    DType dtype;
    std::string bytes;
    double value;
  };
  const std::vector<Case> cases = {
      {DType::kF16, std::string("\x00\x3c", 2), 1},
      {DType::kF16, std::string("\x01\x00", 2), std::ldexp(1, -24)},
      {DType::kF16, std::string("\xff\x7b", 2), 65504},
      {DType::kBF16, std::string("\x80\xbf", 2), -1},
      {DType::kF8E4M3FN, std::string("\x7e", 1), 448},
      {DType::kF8E4M3FN, std::string("\x01", 1), std::ldexp(1, -9)},
      {DType::kF8E5M2, std::string("\x7b", 1), 57344},
      {DType::kI64, std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8), -1},
      {DType::kBool, std::string("\x01", 1), 1},
  };
  for (const Case& c : cases) {
    const TensorStatistics s =
        StatisticsOf(Tensor::View("w", c.dtype, {}, c.bytes.data()), 1);
    EXPECT_EQ(s.minimum(), c.value) << Name(c.dtype);
    EXPECT_EQ(s.elements(), 1u);
  }
  const std::string nan = "\x7f";
  EXPECT_EQ(StatisticsOf(Tensor::View("w", DType::kF8E4M3FN, {}, nan.data()), 1)
                .nan(),
            1u);
}

TEST(TensorStatistics, NothingHasNoMinimumAndComplexOnesHaveValuesOnly) {
  const TensorStatistics none =
      StatisticsOf(Tensor::View("w", DType::kF32, {0, 3}, nullptr), 8);
  EXPECT_EQ(none.elements(), 0u);
  EXPECT_FALSE(none.has_minimum());
  const float parts[2] = {1.5f, -2};
  const TensorStatistics complex =
      StatisticsOf(Tensor::View("w", DType::kC64, {1}, parts), 8);
  EXPECT_THAT(complex.values(), ElementsAre("1.5-2i"));
  EXPECT_FALSE(complex.has_mean());
}

}  // namespace
}  // namespace reprise::ckpt
