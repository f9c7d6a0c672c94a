#include "format/utf8.h"

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(Utf8, AcceptsEveryLengthAndItsBounds) {
  for (const char* text :
       {"", "plain", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
        "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
        "ge\xc3\xa4nderte \xe5\xb1\xa4"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  EXPECT_TRUE(IsUtf8(absl::string_view("a\0b", 3)));
}

TEST(Utf8, RefusesOverlongSurrogatesStraysAndCutOnes) {
  for (const char* text :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf",
        "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf8\x88\x80\x80\x80", "\xff", "a\xc3", "\xe5\xb1", "\xf0\x90\x80",
        "\xc3(", "latin \xe4"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

}  // namespace
}  // namespace reprise
