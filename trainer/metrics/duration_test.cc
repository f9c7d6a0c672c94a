#include "trainer/metrics/duration.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(FormatDuration, GrowsUnitByUnit) {
  EXPECT_EQ(FormatDuration(0), "0:00");
  EXPECT_EQ(FormatDuration(0.99), "0:00");
  EXPECT_EQ(FormatDuration(59.99), "0:59");
  EXPECT_EQ(FormatDuration(60), "1:00");
  EXPECT_EQ(FormatDuration(3599), "59:59");
  EXPECT_EQ(FormatDuration(3600), "1:00:00");
  EXPECT_EQ(FormatDuration(3723), "1:02:03");
  EXPECT_EQ(FormatDuration(86399), "23:59:59");
  EXPECT_EQ(FormatDuration(93784), "1d 02:03:04");
}

TEST(FormatDuration, SaysNothingAboutTheUnknowable) {
  for (double seconds :
       {-1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e18}) {
    EXPECT_EQ(FormatDuration(seconds), "-:--");
  }
}

}  // namespace
}  // namespace reprise
