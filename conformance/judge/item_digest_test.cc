#include "conformance/judge/item_digest.h"

#include <string>

#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

v1::ItemDigest Digest(const std::string& digest, const std::string& value) {
  v1::ItemDigest result;
  result.set_digest(digest);
  result.set_value(value);
  return result;
}

TEST(ItemDigest, DigestsDecideWhereBothHaveOne) {
  EXPECT_TRUE(SameDigest(Digest("a", "1"), Digest("a", "1.0")));
  EXPECT_FALSE(SameDigest(Digest("a", "1"), Digest("b", "1")));
  EXPECT_TRUE(SameDigest(Digest("a", "1"), Digest("", "1")));
  EXPECT_FALSE(SameDigest(Digest("a", "1"), Digest("", "2")));
}

TEST(ItemDigest, NumbersAreReadFromWhatTesteesPrint) {
  EXPECT_EQ(ValueOf(Digest("", "12.5")), 12.5);
  EXPECT_EQ(ValueOf(Digest("", "3 of 6")), 3);
  EXPECT_EQ(ValueOf(Digest("", "fc.weight=7;fc.bias=7;")), 7);
}

TEST(ItemDigest, WhatIsNotOneNumberHasNone) {
  EXPECT_EQ(ValueOf(Digest("", "a=7;b=8;")), std::nullopt);
  EXPECT_EQ(ValueOf(Digest("", "adamw")), std::nullopt);
  EXPECT_EQ(ValueOf(Digest("", "a=x;")), std::nullopt);
  EXPECT_EQ(ValueOf(Digest("", "")), std::nullopt);
}

}  // namespace
}  // namespace reprise::conformance
