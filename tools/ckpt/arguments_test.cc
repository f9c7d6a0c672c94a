#include "tools/ckpt/arguments.h"

#include <stdlib.h>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace reprise::ckpt {
namespace {

const std::vector<Flag> kFlags = {
    {"out", "FOLDER", ""}, {"keep", "N", ""}, {"json", "", ""}};

TEST(Arguments, TakesFlagsAndPathsInAnyOrder) {
  unsetenv("BUILD_WORKING_DIRECTORY");
  const auto arguments = Arguments::Parse(
      {"a.pt", "--out=run=1", "--keep", "3", "--json", "b"}, kFlags);
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->paths(), (std::vector<std::string>{"a.pt", "b"}));
  EXPECT_EQ(arguments->Text("out"), "run=1");
  EXPECT_EQ(**arguments->Count("keep"), 3);
  EXPECT_TRUE(arguments->Has("json"));
}

TEST(Arguments, TwoDashesEndTheFlags) {
  const auto arguments = Arguments::Parse({"--", "--json"}, kFlags);
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->paths(), std::vector<std::string>{"--json"});
  EXPECT_FALSE(arguments->Has("json"));
}

TEST(Arguments, RefusesWhatTheVerbDoesNotHave) {
  const struct {
    std::vector<std::string> words;
    const char* says;
  } kCases[] = {
      {{"--force"}, "--out --keep --json"},
      {{"--json=yes"}, "takes no value"},
      {{"--out"}, "wants a value"},
      {{"--json", "--json"}, "given twice"},
  };
  for (const auto& c : kCases) {
    const auto arguments = Arguments::Parse(c.words, kFlags);
    EXPECT_EQ(arguments.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(arguments.status().message(), c.says))
        << arguments.status();
  }
}

TEST(Arguments, RefusesCountsThatAreNone) {
  for (const char* text : {"", "-1", "1.5", "1e3", "18446744073709551616"}) {
    const auto arguments =
        Arguments::Parse({std::string("--keep=") + text}, kFlags);
    ASSERT_TRUE(arguments.ok());
    EXPECT_FALSE(arguments->Count("keep").ok()) << text;
  }
  EXPECT_FALSE(Arguments::Parse({}, kFlags)->Count("keep")->has_value());
}

TEST(Arguments, PathsAreWhatThePersonMeant) {
  setenv("BUILD_WORKING_DIRECTORY", "/home/somebody", 1);
  EXPECT_EQ(PersonsPath("a.pt"), "/home/somebody/a.pt");
  EXPECT_EQ(PersonsPath("/tmp/a.pt"), "/tmp/a.pt");
  unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_EQ(PersonsPath("a.pt"), "a.pt");
}

}  // namespace
}  // namespace reprise::ckpt
