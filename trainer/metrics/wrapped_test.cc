#include "trainer/metrics/wrapped.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

constexpr char kText[] =
    "loss 0.4102 at step 40, of which no checkpoint is kept";

TEST(Wrapped, BreaksAtBlanksAndIndentsAsFarAsTheHead) {
  EXPECT_EQ(Wrapped("  best         ", kText, 50),
            "  best         loss 0.4102 at step 40, of which no\n"
            "               checkpoint is kept\n");
}

TEST(Wrapped, TextThatFitsIsOneLine) {
  EXPECT_EQ(Wrapped("a  ", "b c", 6), "a  b c\n");
  EXPECT_EQ(Wrapped("a  ", "b c", 5), "a  b\n  c\n");
}

TEST(Wrapped, WithoutAWidthEverythingIsOneLine) {
  const std::string head = "  best         ";
  EXPECT_EQ(Wrapped(head, kText, 0), head + kText + "\n");
}

TEST(Wrapped, WordLongerThanALineStaysWhole) {
  EXPECT_EQ(Wrapped("folder  ", "/a/long/path/to/a/run b", 12),
            "folder\n      /a/long/path/to/a/run\n      b\n");
}

TEST(Wrapped, NoTextLeavesTheHeadWithoutBlanksAtItsEnd) {
  EXPECT_EQ(Wrapped("model.ties   ", "", 0), "model.ties\n");
  EXPECT_EQ(Wrapped("model.ties   ", "", 60), "model.ties\n");
}

TEST(Wrapped, NoWidthLosesAWord) {
  for (int columns = 0; columns <= 120; ++columns) {
    const std::string rows = Wrapped("  best         ", kText, columns);
    std::vector<std::string> words =
        absl::StrSplit(rows, absl::ByAnyChar(" \n"), absl::SkipEmpty());
    ASSERT_EQ(words.size(), 12u) << columns;
    EXPECT_EQ(words.front(), "best");
    EXPECT_EQ(words.back(), "kept");
    for (absl::string_view row : absl::StrSplit(rows, '\n')) {
      EXPECT_TRUE(columns < 30 || row.size() <= columns) << row;
      EXPECT_TRUE(row.empty() || row.back() != ' ') << row;
    }
  }
}

}  // namespace
}  // namespace reprise
