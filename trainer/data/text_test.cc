#include "trainer/data/text.h"

#include <cctype>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace reprise {
namespace {

// A folder with two texts of this test's own.
std::string Folder(const std::string& train, const std::string& test) {
  const std::string folder = ::testing::TempDir();
  std::ofstream(folder + "/train.txt") << train;
  std::ofstream(folder + "/test.txt") << test;
  return folder;
}

TEST(LoadText, ReadsTheLicencesOfEveryDebianMachine) {
  const auto train = LoadText("", Split::kTrain, 128, 0);
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_TRUE(train->is_text());
  EXPECT_EQ(train->size, 1675);
  EXPECT_EQ(train->text.size(), 1675u * 128 + 1);
  EXPECT_EQ(train->classes, 256);
  const auto test = LoadText("", Split::kTest, 128, 0);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_EQ(test->size, 178);
  // English prose: mostly lower-case letters.
  int letters = 0;
  for (uint8_t byte : test->text) letters += std::islower(byte) != 0;
  EXPECT_GT(letters, static_cast<int>(test->text.size() / 2));
}

TEST(LoadText, LabelsAreTheBytesThatFollow) {
  const auto data = LoadText(Folder("abcdefghij", "xyz"), Split::kTrain, 3, 0);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->size, 3);
  EXPECT_EQ(std::string(data->window(0), data->window(0) + 4), "abcd");
  EXPECT_EQ(std::string(data->window(2), data->window(2) + 4), "ghij");
}

TEST(LoadText, LeavesOutWhatFillsNoWindow) {
  const auto data = LoadText(Folder("abcdefghi", "xyz"), Split::kTrain, 3, 0);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->size, 2);
  EXPECT_EQ(data->text.size(), 7u);
}

TEST(LoadText, LimitTakesTheFirstWindows) {
  const std::string folder = Folder("abcdefghij", "vwxyz");
  const auto data = LoadText(folder, Split::kTrain, 3, 2);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->size, 2);
  EXPECT_EQ(std::string(data->text.begin(), data->text.end()), "abcdefg");
  const absl::Status status = LoadText(folder, Split::kTest, 2, 3).status();
  EXPECT_EQ(status.message(),
            "text: expected a limit of at most the 2 sequences of 2 bytes, "
            "found 3");
}

TEST(LoadText, RefusesWhatIsMissingOrTooShortByName) {
  const absl::Status missing =
      LoadText("/nonexistent", Split::kTest, 8, 0).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(missing.message().find("/nonexistent/test.txt"), std::string::npos);
  EXPECT_NE(missing.message().find("--data_dir"), std::string::npos);
  for (const char* text : {"", "abc"}) {
    const absl::Status status =
        LoadText(Folder(text, "x"), Split::kTrain, 3, 0).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("more than 3 bytes"), std::string::npos);
  }
  EXPECT_FALSE(LoadText("", Split::kTrain, 0, 0).ok());
}

}  // namespace
}  // namespace reprise
