#include "format/migrate/rename_rules.h"

#include <string>
#include <utility>

#include "format/refusal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

RenameRules Rules(const std::string& text) {
  auto rules = RenameRules::Parse(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return *std::move(rules);
}

TEST(RenameRules, FirstRuleThatAppliesRenamesAndNoOther) {
  const RenameRules rules = Rules(
      "# the head first\n\n"
      "^backbone\\.fc(\\d+)\\.  -> head.\\1.\n"
      "  ^backbone\\. -> encoder.  \n"
      "^module\\. ->\n");
  EXPECT_THAT(rules.Texts(),
              ElementsAre("^backbone\\.fc(\\d+)\\. -> head.\\1.",
                          "^backbone\\. -> encoder.", "^module\\. -> "));
  auto names = rules.Apply(
      {"backbone.fc2.weight", "backbone.conv.weight", "module.bias", "other"});
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(*names, UnorderedElementsAre(
                          Pair("backbone.fc2.weight", "head.2.weight"),
                          Pair("backbone.conv.weight", "encoder.conv.weight"),
                          Pair("module.bias", "bias"), Pair("other", "other")));
}

TEST(RenameRules, OnlyTheFirstPlaceIsReplaced) {
  auto names = Rules("a -> b").Apply({"a.a"});
  ASSERT_TRUE(names.ok());
  EXPECT_EQ((*names)["a.a"], "b.a");
}

TEST(RenameRules, NamesCanBeExchanged) {
  auto names = Rules("^a$ -> b\n^b$ -> a").Apply({"a", "b"});
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(*names, UnorderedElementsAre(Pair("a", "b"), Pair("b", "a")));
}

void ExpectBad(const absl::Status& status, const std::string& text) {
  EXPECT_EQ(ExitCodeFor(status), ExitCode::EXIT_BAD_REQUEST) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(text));
}

TEST(RenameRules, MalformedRulesAreRefusedByLine) {
  ExpectBad(RenameRules::Parse("").status(), "there is none");
  ExpectBad(RenameRules::Parse("# nothing\n").status(), "there is none");
  ExpectBad(RenameRules::Parse("a -> b\nfc").status(),
            "line 2 (fc): expected one ->, found 0");
  ExpectBad(RenameRules::Parse("a -> b -> c").status(), "found 2");
  ExpectBad(RenameRules::Parse(" -> b").status(), "the pattern is empty");
  ExpectBad(RenameRules::Parse("a( -> b").status(), "no RE2 pattern");
  ExpectBad(RenameRules::Parse("a -> \\1").status(), "\\1");
  ExpectBad(RenameRules::Parse("((a{1000}){1000}) -> b").status(),
            "no RE2 pattern");
}

TEST(RenameRules, RuleThatRenamesNothingIsRefused) {
  ExpectBad(Rules("^fc\\. -> head.\n^gone\\. -> x.").Apply({"fc.w"}).status(),
            "line 2 (^gone\\. -> x.): renames nothing");
  // Taken by an earlier rule, or to the same name.
  ExpectBad(Rules("fc -> x\n^fc -> y").Apply({"fc.w"}).status(), "line 2");
  ExpectBad(Rules("fc -> fc").Apply({"fc.w"}).status(), "renames nothing");
}

TEST(RenameRules, CollisionsAreRefusedNamingBoth) {
  ExpectBad(Rules("^a$ -> c\n^b$ -> c").Apply({"a", "b"}).status(),
            "a and b would both be called c");
  ExpectBad(Rules("^a$ -> b").Apply({"a", "b"}).status(),
            "a and b would both be called b");
}

TEST(RenameRules, NamesThatNoTensorCanHaveAreRefused) {
  ExpectBad(Rules("^a$ -> ").Apply({"a"}).status(), "a: ");
  ExpectBad(Rules("^a$ -> " + std::string(1025, 'x')).Apply({"a"}).status(),
            "1025");
}

}  // namespace
}  // namespace reprise
