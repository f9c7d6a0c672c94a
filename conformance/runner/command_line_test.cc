#include "conformance/runner/command_line.h"

#include <string>
#include <vector>

#include "conformance/runner/testing/script.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Split(const std::string& line) {
  return SplitCommand(line).value();
}

TEST(CommandLine, SplitsAsAShellDoes) {
  EXPECT_THAT(Split("  python3  train.py\t--lr=1 "),
              ElementsAre("python3", "train.py", "--lr=1"));
  EXPECT_THAT(Split(R"(a 'b c' "d \"e\" \n" f\ g '' h"i"j)"),
              ElementsAre("a", "b c", "d \"e\" \\n", "f g", "", "hij"));
  EXPECT_THAT(Split("$HOME *.py"), ElementsAre("$HOME", "*.py"));
  EXPECT_THAT(Split("   "), IsEmpty());
}

TEST(CommandLine, RefusesWhatIsOpen) {
  for (const char* line : {"a 'b", "a \"b", "a \\"}) {
    EXPECT_EQ(SplitCommand(line).status().code(),
              absl::StatusCode::kInvalidArgument)
        << line;
  }
}

TEST(CommandLine, JoinsSoThatSplittingGivesTheSame) {
  const std::vector<std::string> words = {"a",     "b c", "",     "it's",
                                          "\"q\"", "$x",  "a\\b", "--x=1,2"};
  EXPECT_EQ(Split(JoinCommand(words)), words);
}

TEST(CommandLine, MakesWordsThatNameFilesAbsolute) {
  const std::string folder = FreshFolder("person");
  WriteFile(folder + "/train.py", "");
  WriteFile(folder + "/python3", "");
  EXPECT_THAT(
      ResolveAgainst(folder, {"python3", "train.py", "--config=train.py",
                              "--other=none.py", "none.py", "/train.py",
                              "--train.py", ""}),
      ElementsAre("python3", folder + "/train.py",
                  "--config=" + folder + "/train.py", "--other=none.py",
                  "none.py", "/train.py", "--train.py", ""));
  EXPECT_THAT(ResolveAgainst(folder, {"./python3"}),
              ElementsAre(folder + "/./python3"));
}

}  // namespace
}  // namespace reprise::conformance
