#include "conformance/log_adapter/adapter_file.h"

#include <stdlib.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kGood[] = R"text(name: "mine"
command: "train"
command: "--seed={seed}"
seed: 1
lines { kind: STEP regex: "step (?P<step>\\d+) loss (?P<loss>\\S+)" }
)text";

absl::Status Refusal(const std::string& text) {
  return AdapterFile::Parse(text, "a.adapter").status();
}

TEST(AdapterFile, DescribesWhatItsGroupsRead) {
  const auto file = AdapterFile::Parse(kGood, "a.adapter");
  ASSERT_TRUE(file.ok()) << file.status();
  const Description description = file->Describe();
  EXPECT_EQ(description.protocol(), "1");
  EXPECT_EQ(description.name(), "mine");
  EXPECT_THAT(description.channels(), ElementsAre("loss", "step"));
  EXPECT_EQ(description.determinism(), v1::LOOSE);
  EXPECT_EQ(description.features_size(), 0);
}

struct Bad {
  const char* name;
  std::string text;
  const char* message;
};

std::ostream& operator<<(std::ostream& out, const Bad& bad) {
  return out << bad.name;
}

class BadAdapter : public testing::TestWithParam<Bad> {};

TEST_P(BadAdapter, IsRefusedAtItsLineAndColumn) {
  const absl::Status status = Refusal(GetParam().text);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadAdapter,
    testing::Values(
        Bad{"Syntax", "name: \"x\"\ncommand \"y\"\n", "a.adapter:2:9: "},
        Bad{"UnknownField", "name: \"x\"\n  comand: \"y\"\n",
            "a.adapter:2:9: Message type "},
        Bad{"WrongType", "steps: \"many\"\n", "a.adapter:1:8: "},
        Bad{"RegexThatRe2Refuses",
            absl::StrCat(kGood, "lines {\n  kind: STEP\n  regex: \"(a\"\n}\n"),
            "a.adapter:8:3: the regex is refused: missing )"},
        Bad{"GroupThatTheKindDoesNotHave",
            absl::StrCat(kGood,
                         "lines {\n  kind: EVALUATION\n"
                         "  regex: \"(?P<lr>x)\"\n}\n"),
            "a.adapter:8:3: a line of kind EVALUATION has no group \"lr\""},
        Bad{"LineWithoutKind", absl::StrCat(kGood, "lines { regex: \"x\" }\n"),
            "a.adapter:6:1: the line has no kind"},
        Bad{"StepWithoutStep",
            absl::StrCat(kGood,
                         "lines { kind: STEP regex: \"(?P<loss>x)\" }\n"),
            "a.adapter:6:20: the group \"step\" is missing"},
        Bad{"CarriedWithoutCarry",
            absl::StrCat(kGood,
                         "lines { kind: STEP regex: \"x\"\n"
                         "  step_from: NEXT_CARRY }\n"),
            "a.adapter:7:3: there is no line of kind CARRY"},
        Bad{"UnknownPlaceholder",
            absl::StrCat(kGood, "command: \"--lr={lr}\"\n"),
            "a.adapter:6:1: nothing defines the placeholder {lr}"},
        Bad{"CheckpointWithoutResume",
            absl::StrCat(kGood, "fresh_arguments: \"{checkpoint}\"\n"),
            "a.adapter:6:1: {checkpoint} is known only where an attempt"},
        Bad{"ResumeArgumentsWithoutFiles",
            absl::StrCat(kGood, "resume_arguments: \"--resume\"\n"),
            "a.adapter:6:1: without checkpoints.files nothing tells"},
        Bad{"ClosedFilesWithoutAStep",
            absl::StrCat(kGood,
                         "checkpoints { files: \"a\" commit_when_closed: true "
                         "}\n"),
            "a.adapter:6:1: nothing tells which step a checkpoint belongs"},
        Bad{"ClosedFilesWithoutFiles",
            absl::StrCat(kGood, "checkpoints { commit_when_closed: true }\n"),
            "a.adapter:6:1: commit_when_closed needs the glob"},
        Bad{"StepOfAPathWithoutGroup",
            absl::StrCat(kGood, "checkpoints { files: \"a\" step: \"x\" }\n"),
            "a.adapter:6:1: the regex \"step\" has no group"},
        Bad{"NoCommand", "name: \"x\"\n", "a.adapter: the command is missing"},
        Bad{"NoStepLine", "name: \"x\"\ncommand: \"y\"\n",
            "a.adapter: no line of kind STEP"},
        Bad{"Empty", "", "a.adapter: the name is missing"}),
    [](const testing::TestParamInfo<Bad>& info) {
      return std::string(info.param.name);
    });

TEST(AdapterFile, SaysWhichFileIsMissing) {
  const absl::Status status = AdapterFile::Read("/nowhere/x.adapter").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere/x.adapter"));
}

TEST(AdapterFile, FillsPlaceholdersAndLeavesOtherBracesAlone) {
  EXPECT_EQ(FillIn("a{x}b{y}{", {{"x", "1"}}), "a1b{y}{");
  EXPECT_EQ(FillIn("\\d{2}{x}", {{"x", "1"}}), "\\d{2}1");
}

TEST(AdapterFile, TakesValuesFromTheRequestThenFromItself) {
  const auto file = AdapterFile::Parse(
      absl::StrCat(kGood,
                   "values { name: \"lr\" value: \"0.1\" }\n"
                   "values { name: \"out\" value: \"{run_folder}/o\" }"),
      "/etc/a.adapter");
  ASSERT_TRUE(file.ok()) << file.status();
  RunRequest request;
  request.set_run_folder("/run/1");
  auto values = file->PlaceholdersFor(request);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ((*values)["seed"], "1");
  EXPECT_EQ((*values)["lr"], "0.1");
  EXPECT_EQ((*values)["out"], "/run/1/o");
  EXPECT_EQ((*values)["adapter_folder"], "/etc");
  request.set_seed(7);
  v1::Setting* setting = request.add_settings();
  setting->set_name("lr");
  setting->set_value("0.5");
  values = file->PlaceholdersFor(request);
  ASSERT_TRUE(values.ok());
  EXPECT_EQ((*values)["seed"], "7");
  EXPECT_EQ((*values)["lr"], "0.5");
  setting->set_name("typo");
  EXPECT_THAT(std::string(file->PlaceholdersFor(request).status().message()),
              HasSubstr("no value \"typo\""));
}

TEST(AdapterFile, RefusesARequestThatLacksWhatTheCommandNeeds) {
  const auto file = AdapterFile::Parse(
      "name: \"x\" command: \"--n={steps}\" "
      "lines { kind: STEP regex: \"(?P<step>.)\" }",
      "a.adapter");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(
      std::string(file->PlaceholdersFor(RunRequest()).status().message()),
      HasSubstr("{steps} is used, but neither"));
}

TEST(AdapterFile, ReadsEveryShippedAdapter) {
  const std::string base = absl::StrCat(
      getenv("TEST_SRCDIR"), "/reprise/conformance/log_adapter/adapters/");
  for (const char* name : {"plain_loop", "nanogpt", "huggingface_trainer"}) {
    const auto file = AdapterFile::Read(absl::StrCat(base, name, ".adapter"));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_THAT(file->Describe().features(), Contains("moves"));
    EXPECT_THAT(file->Describe().channels(), Contains("loss"));
  }
}

}  // namespace
}  // namespace reprise::conformance
