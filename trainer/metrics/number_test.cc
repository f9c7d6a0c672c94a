#include "trainer/metrics/number.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(JsonFloat, WritesTheValueForPeopleAndItsBits) {
  EXPECT_EQ(JsonFloat(0.5f), R"({"v":0.5,"bits":"3f000000"})");
  EXPECT_EQ(JsonFloat(0.1f), R"({"v":0.1,"bits":"3dcccccd"})");
  EXPECT_EQ(JsonFloat(65536.0f), R"({"v":65536,"bits":"47800000"})");
  EXPECT_EQ(JsonFloat(0.0f), R"({"v":0,"bits":"00000000"})");
  EXPECT_EQ(JsonFloat(-0.0f), R"({"v":-0,"bits":"80000000"})");
  EXPECT_EQ(JsonFloat(std::numeric_limits<float>::denorm_min()),
            R"({"v":1e-45,"bits":"00000001"})");
}

TEST(JsonDouble, WritesSixteenDigits) {
  EXPECT_EQ(JsonDouble(0.5), R"({"v":0.5,"bits":"3fe0000000000000"})");
  EXPECT_EQ(JsonDouble(0.1), R"({"v":0.1,"bits":"3fb999999999999a"})");
  EXPECT_EQ(JsonDouble(1e300), R"({"v":1e+300,"bits":"7e37e43c8800759c"})");
}

TEST(JsonFloat, NonFiniteHasNoValueButItsBits) {
  EXPECT_EQ(JsonFloat(std::numeric_limits<float>::infinity()),
            R"({"v":null,"bits":"7f800000"})");
  EXPECT_EQ(JsonFloat(-std::numeric_limits<float>::infinity()),
            R"({"v":null,"bits":"ff800000"})");
  EXPECT_EQ(JsonFloat(std::numeric_limits<float>::quiet_NaN()),
            R"({"v":null,"bits":"7fc00000"})");
  EXPECT_EQ(JsonDouble(std::numeric_limits<double>::infinity()),
            R"({"v":null,"bits":"7ff0000000000000"})");
}

TEST(JsonNumber, ShortestTextReadsBackToTheSameBits) {
  const char* given = std::getenv("REPRISE_SEED");
  uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10)
                                   : std::random_device()();
  SCOPED_TRACE(
      absl::StrCat("replay: bazel test //trainer/metrics:number_test "
                   "--test_env=REPRISE_SEED=",
                   seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 100000; ++i) {
    uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    float single;
    std::memcpy(&single, &bits, sizeof single);
    if (std::isfinite(value)) {
      std::string text = JsonDouble(value);
      double back = std::strtod(text.c_str() + strlen("{\"v\":"), nullptr);
      ASSERT_EQ(std::memcmp(&back, &value, sizeof value), 0) << text;
    }
    if (std::isfinite(single)) {
      std::string text = JsonFloat(single);
      float back = std::strtof(text.c_str() + strlen("{\"v\":"), nullptr);
      ASSERT_EQ(std::memcmp(&back, &single, sizeof single), 0) << text;
    }
  }
}

TEST(Hex64, HasSixteenDigits) {
  EXPECT_EQ(Hex64(0), "0000000000000000");
  EXPECT_EQ(Hex64(0xABCDEF), "0000000000abcdef");
  EXPECT_EQ(Hex64(~uint64_t{0}), "ffffffffffffffff");
}

TEST(JsonString, EscapesWhatJsonDemandsAndKeepsUtf8) {
  EXPECT_EQ(JsonString("plain"), "\"plain\"");
  EXPECT_EQ(JsonString("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(JsonString("\n\t\r\x01\x7f"), R"("\n\t\u000d\u0001\u007f")");
  EXPECT_EQ(JsonString("ß→"), "\"ß→\"");
  EXPECT_EQ(JsonString(absl::string_view("\0", 1)), R"("\u0000")");
}

}  // namespace
}  // namespace reprise
