#include "conformance/runner/environment.h"

#include <stdlib.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Environment, PassesOnOnlyWhatIsStated) {
  setenv("LANG", "C.UTF-8", 1);
  setenv("REPRISE_SECRET", "x", 1);
  setenv("HOME", "/home/person", 1);
  const auto entries = TesteeEnvironment({}, "/h", "/t");
  EXPECT_THAT(entries, Contains("LANG=C.UTF-8"));
  EXPECT_THAT(entries, Contains("HOME=/h"));
  EXPECT_THAT(entries, Contains("TMPDIR=/t"));
  EXPECT_THAT(entries, Not(Contains(HasSubstr("REPRISE_SECRET"))));
}

TEST(Environment, AlwaysHasAPath) {
  unsetenv("PATH");
  EXPECT_THAT(TesteeEnvironment({}, "/h", "/t"),
              Contains("PATH=/usr/local/bin:/usr/bin:/bin"));
}

TEST(Environment, PassesOrSetsWhatThePersonAsksFor) {
  setenv("HOME", "/home/person", 1);
  setenv("MINE", "1", 1);
  unsetenv("ABSENT");
  const auto entries =
      TesteeEnvironment({"HOME", "MINE", "SET=a=b", "ABSENT"}, "/h", "/t");
  EXPECT_THAT(entries, Contains("HOME=/home/person"));
  EXPECT_THAT(entries, Contains("MINE=1"));
  EXPECT_THAT(entries, Contains("SET=a=b"));
  EXPECT_THAT(entries, Not(Contains(HasSubstr("ABSENT"))));
}

}  // namespace
}  // namespace reprise::conformance
