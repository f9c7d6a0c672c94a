#include "trainer/schedule/exact_math.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace reprise {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

TEST(CosPi, IsTheCosine) {
  for (int i = 0; i <= 1000; ++i) {
    const double t = i / 1000.0;
    EXPECT_NEAR(CosPi(t), std::cos(M_PI * t), 5e-16) << t;
  }
  EXPECT_EQ(CosPi(0), 1.0);
  EXPECT_EQ(CosPi(0.5), -CosPi(0.5));
  EXPECT_EQ(CosPi(1), -1.0);
}

TEST(Power, IsWithinOneUnitOfTheCLibrarys) {
  for (double base : {0.1, 0.5, 0.9, 0.97, 0.999, 0.9999999, 1.0}) {
    for (uint64_t n : {0ull, 1ull, 2ull, 3ull, 10ull, 41ull, 1000ull, 12345ull,
                       10000000ull, 9007199254740992ull}) {
      const double expected = std::pow(base, static_cast<double>(n));
      if (expected < 1e-290) continue;
      EXPECT_NEAR(Power(base, n), expected, kEpsilon * expected)
          << base << "^" << n;
    }
  }
}

TEST(Power, EndsAreExact) {
  EXPECT_EQ(Power(0.3, 0), 1.0);
  EXPECT_EQ(Power(0.3, 1), 0.3);
  EXPECT_EQ(Power(0.5, 52), kEpsilon);
  EXPECT_EQ(Power(1.0, ~uint64_t{0}), 1.0);
  EXPECT_EQ(Power(0.5, 100000), 0.0);
  EXPECT_EQ(Power(0.0, 3), 0.0);
}

}  // namespace
}  // namespace reprise
