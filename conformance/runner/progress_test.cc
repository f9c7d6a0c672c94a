#include "conformance/runner/progress.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CampaignProgress::Surroundings Into(std::string* text, bool terminal) {
  return {terminal,
          [text](absl::string_view more) { absl::StrAppend(text, more); }};
}

TEST(CampaignProgress, WritesOneLineACaseToAFile) {
  std::string text;
  {
    CampaignProgress progress(Into(&text, false));
    progress.SetCases(2);
    progress.BeginCase("default/a", absl::Seconds(90));
    progress.Attempt(1, 5, 10);
    progress.EndCase("default/a", "as planned");
  }
  EXPECT_EQ(text, "[1/2] default/a: as planned\n");
}

TEST(CampaignProgress, RedrawsOneLineOnATerminalWithTheTimeLeft) {
  std::string text;
  {
    CampaignProgress progress(Into(&text, true));
    progress.SetCases(2);
    progress.BeginCase("default/a", absl::Seconds(90));
    EXPECT_THAT(text, HasSubstr("\r[1/2] default/a  attempt 1  1m30s left"));
    EXPECT_THAT(text, Not(HasSubstr("\n")));
    progress.EndCase("default/a", "as planned");
  }
  EXPECT_THAT(text, HasSubstr("[1/2] default/a: as planned\n"));
}

}  // namespace
}  // namespace reprise::conformance
