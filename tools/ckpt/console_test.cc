#include "tools/ckpt/console.h"

#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::ckpt {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Console, TablesLineUpWhateverTheColours) {
  Table table({"STEP", "STATE"});
  table.Add({{"60"}, {"ok", Paint::kGood}, {"best"}});
  table.Add({{"1000000"}, {"damaged", Paint::kBad}, {""}});
  std::ostringstream plain;
  table.Print(plain, false);
  EXPECT_EQ(plain.str(),
            "STEP     STATE\n"
            "60       ok       best\n"
            "1000000  damaged\n");
  std::ostringstream painted;
  table.Print(painted, true);
  EXPECT_THAT(painted.str(), HasSubstr("\x1b[32mok\x1b[0m       best\n"));
}

TEST(Console, SizesAndTimesAreForPeople) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(1023), "1023 B");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes(uint64_t{5} << 30), "5.0 GiB");
  EXPECT_EQ(HumanBytes(uint64_t{1} << 60), "1024.0 PiB");
  EXPECT_EQ(HumanTime(0), "-");
  EXPECT_EQ(HumanTime(1'000'000'000), "1970-01-01 00:00:01 UTC");
}

TEST(Console, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(Shortened("short", 5), "short");
  EXPECT_EQ(Shortened("longer", 5), "longe...");
  EXPECT_EQ(Shortened("ab\xe5\xb1\xa4", 3), "ab...");
}

TEST(Console, ProgressShowsHowFarAndLeavesNothing) {
  std::ostringstream out;
  {
    ProgressBar bar(out, true, "verify");
    bar.Update(512, 1024);
    bar.Update(1024, 1024);
    EXPECT_THAT(out.str(),
                HasSubstr("verify [############            ] 512 B"));
    EXPECT_THAT(out.str(), HasSubstr("of 1.0 KiB"));
  }
  EXPECT_EQ(out.str().back(), '\r');
  std::ostringstream hidden;
  {
    ProgressBar bar(hidden, false, "verify");
    bar.Update(1, 2);
  }
  EXPECT_EQ(hidden.str(), "");
}

}  // namespace
}  // namespace reprise::ckpt
