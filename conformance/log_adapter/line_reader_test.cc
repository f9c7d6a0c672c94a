#include "conformance/log_adapter/line_reader.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LineReader, SplitsAtNewlinesAndCarriageReturns) {
  LineReader reader;
  EXPECT_THAT(reader.Add("one\ntwo\r\nthr"), ElementsAre("one", "two"));
  EXPECT_THAT(reader.Add("ee\r 4%\r"), ElementsAre("three", " 4%"));
  EXPECT_THAT(reader.Finish(), IsEmpty());
}

TEST(LineReader, GivesEveryByteOnceHoweverItIsCut) {
  const std::string text = "a 1\r\nb 2\rc 3\r\n\r\n  \nd 4\n";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    LineReader reader;
    std::vector<std::string> lines = reader.Add(text.substr(0, cut));
    for (const std::string& line : reader.Add(text.substr(cut))) {
      lines.push_back(line);
    }
    EXPECT_THAT(lines, ElementsAre("a 1", "b 2", "c 3", "d 4")) << cut;
  }
}

TEST(LineReader, TakesABarForWholeOnceItRests) {
  LineReader reader;
  EXPECT_THAT(reader.Add("\r 5/10 ["), IsEmpty());
  EXPECT_THAT(reader.Idle(), ElementsAre(" 5/10 ["));
  EXPECT_THAT(reader.Idle(), IsEmpty());
  EXPECT_THAT(reader.Add("\r"), IsEmpty());
}

TEST(LineReader, DoesNotCutALineThatRests) {
  LineReader reader;
  EXPECT_THAT(reader.Add("first\nloss 0.6"), ElementsAre("first"));
  EXPECT_THAT(reader.Idle(), IsEmpty());
  EXPECT_THAT(reader.Add("931\n"), ElementsAre("loss 0.6931"));
}

TEST(LineReader, TakesOutColoursAndTitles) {
  LineReader reader;
  EXPECT_THAT(reader.Add("\x1b[1;32mloss\x1b[0m 0.5\x1b[K\n"
                         "\x1b]0;title\x07next\n"),
              ElementsAre("loss 0.5", "next"));
}

TEST(LineReader, BoundsALineThatNeverEnds) {
  LineReader reader;
  EXPECT_THAT(reader.Add(std::string(1 << 20, 'x')), IsEmpty());
  const std::vector<std::string> lines = reader.Add("\n");
  ASSERT_EQ(lines.size(), 1);
  EXPECT_EQ(lines[0].size(), 64 << 10);
}

TEST(LineReader, GivesTheLastLineWithoutNewline) {
  LineReader reader;
  EXPECT_THAT(reader.Add("end"), IsEmpty());
  EXPECT_THAT(reader.Finish(), ElementsAre("end"));
}

}  // namespace
}  // namespace reprise::conformance
