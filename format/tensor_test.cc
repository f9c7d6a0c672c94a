#include "format/tensor.h"

#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int32_t> Numbers(int count) {
  std::vector<int32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

Tensor Strided(std::vector<int64_t> shape, std::vector<int64_t> strides,
               const void* data) {
  return Tensor::Strided("t", DType::kI32, std::move(shape), std::move(strides),
                         nullptr, data);
}

std::vector<int32_t> Copied(const Tensor& tensor, size_t piece) {
  std::vector<int32_t> out(tensor.num_elements());
  for (size_t i = 0; i < out.size(); i += piece) {
    const size_t count = std::min(piece, out.size() - i);
    EXPECT_TRUE(tensor
                    .CopyBytes(i * 4, count * 4,
                               reinterpret_cast<char*>(out.data() + i))
                    .ok());
  }
  return out;
}

TEST(DType, EveryOneHasNameAndSize) {
  EXPECT_EQ(AllDTypes().size(), 17u);
  std::set<std::string> names;
  int floating = 0;
  for (DType dtype : AllDTypes()) {
    EXPECT_GE(SizeOf(dtype), 1u) << Name(dtype);
    EXPECT_NE(Name(dtype), "unknown");
    EXPECT_TRUE(names.insert(std::string(Name(dtype))).second);
    floating += IsFloatingPoint(dtype);
  }
  EXPECT_EQ(floating, 6);
  EXPECT_TRUE(IsFloatingPoint(DType::kBF16));
  EXPECT_FALSE(IsFloatingPoint(DType::kC64));
  EXPECT_EQ(SizeOf(static_cast<DType>(18)), 0u);
  EXPECT_EQ(SizeOf(DType::kC128), 16u);
  EXPECT_EQ(Name(DType::kF8E4M3FN), "f8e4m3fn");
}

TEST(Tensor, C35_ChannelsLastIsDenseInItsOrder) {
  const std::vector<int32_t> numbers = Numbers(24);
  const Tensor tensor = Strided({2, 3, 2, 2}, {12, 1, 6, 3}, numbers.data());
  EXPECT_TRUE(tensor.IsDense());
  EXPECT_FALSE(tensor.IsRowMajor());
  EXPECT_THAT(tensor.DimensionOrder(), ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(DenseStrides(tensor.shape(), tensor.DimensionOrder()),
              ElementsAre(12, 1, 6, 3));
  EXPECT_EQ(Copied(tensor, 5), numbers);
}

TEST(Tensor, C35_ChannelsLastStaysSoWhenHeightAndWidthAreOne) {
  const std::vector<int32_t> numbers = Numbers(6);
  const Tensor tensor = Strided({2, 3, 1, 1}, {3, 1, 3, 3}, numbers.data());
  EXPECT_THAT(tensor.DimensionOrder(), ElementsAre(0, 2, 3, 1));
  const Tensor plain = Strided({2, 3, 1, 1}, {3, 1, 1, 1}, numbers.data());
  EXPECT_THAT(plain.DimensionOrder(), ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(plain.IsRowMajor());
}

TEST(Tensor, C35_SlicesAreCopiedRowMajorInPiecesOfAnySize) {
  const std::vector<int32_t> numbers = Numbers(24);
  // Columns 1 and 2 of a 6 x 4 matrix.
  const Tensor columns = Strided({6, 2}, {4, 1}, numbers.data() + 1);
  EXPECT_FALSE(columns.IsDense());
  EXPECT_THAT(columns.DimensionOrder(), ElementsAre(0, 1));
  // Every second row, transposed.
  const Tensor rows = Strided({4, 3}, {1, 8}, numbers.data());
  for (size_t piece : {1, 2, 3, 5, 100}) {
    EXPECT_THAT(Copied(columns, piece),
                ElementsAre(1, 2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22));
    EXPECT_THAT(Copied(rows, piece),
                ElementsAre(0, 8, 16, 1, 9, 17, 2, 10, 18, 3, 11, 19));
  }
}

TEST(Tensor, EmptyAndScalarAreRowMajor) {
  const Tensor empty =
      Tensor::Strided("e", DType::kF64, {3, 0, 2}, {7, 7, 7}, nullptr, nullptr);
  EXPECT_TRUE(empty.IsRowMajor());
  EXPECT_EQ(empty.num_bytes(), 0u);
  const int64_t one = 1;
  const Tensor scalar = Tensor::View("s", DType::kI64, {}, &one);
  EXPECT_THAT(scalar.DimensionOrder(), IsEmpty());
  EXPECT_TRUE(scalar.IsRowMajor());
  EXPECT_EQ(scalar.num_bytes(), 8u);
}

TEST(Tensor, OnDeviceAsksItsFunction) {
  const Tensor tensor = Tensor::OnDevice(
      "d", DType::kU8, {4}, {}, [](uint64_t offset, size_t size, char* out) {
        std::memset(out, static_cast<int>('a' + offset), size);
        return absl::OkStatus();
      });
  char out[2];
  ASSERT_TRUE(tensor.CopyBytes(2, 2, out).ok());
  EXPECT_EQ(std::string(out, 2), "cc");
  EXPECT_EQ(tensor.data(), nullptr);
}

TEST(Tensor, NoDataIsAnErrorAndNotACrash) {
  const Tensor tensor = Tensor::Elsewhere("far", DType::kU8, {4}, {});
  char out[4];
  EXPECT_FALSE(tensor.CopyBytes(0, 4, out).ok());
}

}  // namespace
}  // namespace reprise
