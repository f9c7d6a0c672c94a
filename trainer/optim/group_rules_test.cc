#include "trainer/optim/group_rules.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

TEST(ParseGroupRules, ReadsNamesOptionsAndPatternsInOrder) {
  auto rules = ParseGroupRules(
      " no_decay weight_decay=0 (bias|norm)$ ;head lr_scale=0.1 "
      "weight_decay=1e-3 ^fc2\\.; all .");
  ASSERT_TRUE(rules.ok()) << rules.status();
  ASSERT_EQ(rules->size(), 3u);
  EXPECT_EQ((*rules)[0].name, "no_decay");
  EXPECT_EQ((*rules)[0].pattern, "(bias|norm)$");
  EXPECT_EQ((*rules)[0].weight_decay, 0);
  EXPECT_EQ((*rules)[0].lr_scale, 1);
  EXPECT_EQ((*rules)[1].pattern, "^fc2\\.");
  EXPECT_EQ((*rules)[1].weight_decay, 1e-3);
  EXPECT_EQ((*rules)[1].lr_scale, 0.1);
  EXPECT_FALSE((*rules)[2].weight_decay.has_value());
}

TEST(ParseGroupRules, NothingIsNoRule) {
  EXPECT_TRUE(ParseGroupRules("").value().empty());
  EXPECT_TRUE(ParseGroupRules(" \n").value().empty());
}

TEST(ParseGroupRules, SaysWhatItExpected) {
  const std::pair<const char*, const char*> cases[] = {
      {"a", "NAME [weight_decay=X] [lr_scale=X] PATTERN"},
      {"a .;", "NAME [weight_decay=X]"},
      {"a decay=0 .", "not decay=0"},
      {"a weight_decay=-1 .", "weight_decay >= 0 of group a"},
      {"a weight_decay=nan .", "weight_decay >= 0 of group a"},
      {"a lr_scale=0 .", "lr_scale > 0 of group a"},
      {"a lr_scale=x .", "lr_scale > 0 of group a"},
      {"a (", "an RE2 pattern for group a"},
      {"a .; a x", "names that come once"},
      {"rest .", "names that come once"},
  };
  for (const auto& [text, message] : cases) {
    const absl::Status status = ParseGroupRules(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message)) << text;
  }
}

}  // namespace
}  // namespace reprise
