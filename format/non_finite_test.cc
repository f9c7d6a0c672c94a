#include "format/non_finite.h"

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace reprise {
namespace {

struct Case {
  DType dtype;
  std::vector<std::string> not_finite;  // elements, lowest byte first
  std::string largest;                  // the largest finite number
};

std::vector<Case> Cases() {
  using std::string;
  return {
      {DType::kF16,
       {string("\x00\x7c", 2), string("\x00\xfc", 2), string("\x01\x7e", 2)},
       string("\xff\x7b", 2)},
      {DType::kBF16,
       {string("\x80\x7f", 2), string("\x80\xff", 2), string("\xc0\x7f", 2)},
       string("\x7f\x7f", 2)},
      {DType::kF32,
       {string("\x00\x00\x80\x7f", 4), string("\x00\x00\x80\xff", 4),
        string("\x00\x00\xc0\x7f", 4)},
       string("\xff\xff\x7f\x7f", 4)},
      {DType::kF64,
       {string("\0\0\0\0\0\0\xf0\x7f", 8), string("\0\0\0\0\0\0\xf0\xff", 8),
        string("\0\0\0\0\0\0\xf8\x7f", 8)},
       string("\xff\xff\xff\xff\xff\xff\xef\x7f", 8)},
  };
}

// Every length and place around the blocks in which it looks.
TEST(NonFinite, IsFoundWhereverItIsAndNothingElseIs) {
  for (const Case& c : Cases()) {
    const size_t width = SizeOf(c.dtype);
    const size_t block = 2048 / width;
    for (const size_t count : {size_t{0}, size_t{1}, block - 1, block,
                               block + 1, 3 * block, 3 * block + 7}) {
      std::string bytes;
      for (size_t i = 0; i < count; ++i) bytes += c.largest;
      const auto has = [&] {
        return HasNonFinite(Tensor::View(
            "t", c.dtype, {static_cast<int64_t>(count)}, bytes.data()));
      };
      EXPECT_FALSE(has()) << Name(c.dtype) << " " << count;
      for (size_t at = 0; at < count; ++at) {
        const std::string& element = c.not_finite[at % c.not_finite.size()];
        std::memcpy(&bytes[at * width], element.data(), width);
        ASSERT_TRUE(has()) << Name(c.dtype) << " " << at << " of " << count;
        std::memcpy(&bytes[at * width], c.largest.data(), width);
      }
    }
  }
}

TEST(NonFinite, WholeNumbersAreNeverIt) {
  const std::string ones(64, '\xff');
  for (const DType dtype : {DType::kI32, DType::kU8, DType::kI64}) {
    EXPECT_FALSE(HasNonFinite(Tensor::View(
        "t", dtype, {static_cast<int64_t>(64 / SizeOf(dtype))}, ones.data())));
  }
}

}  // namespace
}  // namespace reprise
