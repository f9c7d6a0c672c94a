#include "conformance/protocol/number.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

TEST(Number, CarriesTheBitsOfAFloatAndOfADouble) {
  EXPECT_EQ(NumberOf(0.5f).bits(), "3f000000");
  EXPECT_EQ(NumberOf(0.5).bits(), "3fe0000000000000");
  EXPECT_EQ(NumberOf(-0.0f).bits(), "80000000");
  EXPECT_EQ(NumberOf(0.5f).v(), 0.5);
}

TEST(Number, ReadsBackExactlyWhatWasWritten) {
  for (double value : {0.1, -3e300, 5e-324, 0.0}) {
    auto reading = Read(NumberOf(value));
    ASSERT_TRUE(reading.ok()) << reading.status();
    EXPECT_EQ(reading->value, value);
    EXPECT_TRUE(reading->exact());
    EXPECT_EQ(reading->width, 64);
  }
  auto narrow = Read(NumberOf(0.1f));
  ASSERT_TRUE(narrow.ok());
  EXPECT_EQ(narrow->value, static_cast<double>(0.1f));
  EXPECT_EQ(narrow->width, 32);
}

TEST(Number, SaysInBitsWhichNonFiniteValueItIs) {
  Number infinite = NumberOf(std::numeric_limits<float>::infinity());
  EXPECT_FALSE(infinite.has_v());
  EXPECT_EQ(infinite.bits(), "7f800000");
  auto reading = Read(infinite);
  ASSERT_TRUE(reading.ok());
  EXPECT_TRUE(std::isinf(reading->value));
  EXPECT_FALSE(reading->finite());
  EXPECT_TRUE(std::isnan(
      Read(NumberOf(std::numeric_limits<double>::quiet_NaN()))->value));
}

TEST(Number, KnowsATextToHalfItsLastDigit) {
  EXPECT_DOUBLE_EQ(Read(NumberOfText("0.6931"))->resolution, 0.00005);
  EXPECT_DOUBLE_EQ(Read(NumberOfText("1.5e-3"))->resolution, 0.00005);
  EXPECT_DOUBLE_EQ(Read(NumberOfText(" 12 "))->resolution, 0.5);
  EXPECT_DOUBLE_EQ(Read(NumberOfText("0.6931"))->value, 0.6931);
  auto nan = Read(NumberOfText("nan"));
  ASSERT_TRUE(nan.ok()) << nan.status();
  EXPECT_TRUE(std::isnan(nan->value));
  EXPECT_EQ(nan->width, 0);
}

TEST(Number, TakesABareValueForAFloat32) {
  Number number;
  number.set_v(2.0);
  auto reading = Read(number);
  ASSERT_TRUE(reading.ok());
  EXPECT_DOUBLE_EQ(reading->resolution, std::ldexp(1.0, -23));
  EXPECT_FALSE(reading->exact());
}

TEST(Number, RefusesWhatIsNoNumber) {
  Number number;
  EXPECT_NE(Read(number).status().message().find("none of them"),
            std::string::npos);
  number.set_bits("3f0000");
  EXPECT_NE(Read(number).status().message().find("8 or 16"), std::string::npos);
  number.set_bits("3f00000g");
  EXPECT_FALSE(Read(number).ok());
  EXPECT_FALSE(Read(NumberOfText("loss")).ok());
}

TEST(Number, RefusesAValueThatContradictsItsBits) {
  Number number = NumberOf(0.5f);
  number.set_v(0.51);
  EXPECT_NE(Read(number).status().message().find("0.51"), std::string::npos);
  number.set_v(0.500001);  // fewer digits than it has: fine
  EXPECT_TRUE(Read(number).ok());
}

TEST(Number, ComparesBitsAndNotValues) {
  EXPECT_TRUE(SameBits(NumberOf(0.1f), NumberOf(0.1f)));
  EXPECT_FALSE(SameBits(NumberOf(0.0f), NumberOf(-0.0f)));
  EXPECT_FALSE(SameBits(NumberOf(0.5f), NumberOf(0.5)));
  EXPECT_FALSE(SameBits(NumberOfText("1"), NumberOfText("1")));
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(SameBits(NumberOf(nan), NumberOf(nan)));
}

}  // namespace
}  // namespace reprise::conformance
