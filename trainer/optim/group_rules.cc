#include "trainer/optim/group_rules.h"

#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "re2/re2.h"

namespace reprise {
namespace {

// `message` goes on after "expected".
absl::Status Expected(absl::string_view message) {
  return absl::InvalidArgumentError(message);
}

absl::Status ParseOption(absl::string_view word, GroupRule* rule) {
  double value = 0;
  absl::string_view number = word;
  if (absl::ConsumePrefix(&number, "weight_decay=")) {
    if (!absl::SimpleAtod(number, &value) || !std::isfinite(value) ||
        value < 0) {
      return Expected(
          absl::StrCat("a weight_decay >= 0 of group ", rule->name));
    }
    rule->weight_decay = value;
    return absl::OkStatus();
  }
  if (absl::ConsumePrefix(&number, "lr_scale=")) {
    if (!absl::SimpleAtod(number, &value) || !std::isfinite(value) ||
        value <= 0) {
      return Expected(absl::StrCat("an lr_scale > 0 of group ", rule->name));
    }
    rule->lr_scale = value;
    return absl::OkStatus();
  }
  return Expected(
      absl::StrCat("weight_decay=X or lr_scale=X between name and "
                   "pattern of group ",
                   rule->name, " and not ", word));
}

}  // namespace

absl::StatusOr<std::vector<GroupRule>> ParseGroupRules(absl::string_view text) {
  std::vector<GroupRule> rules;
  if (absl::StripAsciiWhitespace(text).empty()) return rules;
  std::set<std::string> names = {"rest"};
  for (absl::string_view part : absl::StrSplit(text, ';')) {
    const std::vector<std::string> words =
        absl::StrSplit(part, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
    if (words.size() < 2) {
      return Expected(
          "groups NAME [weight_decay=X] [lr_scale=X] PATTERN apart by \";\"");
    }
    GroupRule rule;
    rule.name = words.front();
    rule.pattern = words.back();
    if (!names.insert(rule.name).second) {
      return Expected(absl::StrCat(
          "names that come once, none \"rest\", instead of ", rule.name));
    }
    for (size_t i = 1; i + 1 < words.size(); ++i) {
      if (auto s = ParseOption(words[i], &rule); !s.ok()) return s;
    }
    const re2::RE2 re(rule.pattern, re2::RE2::Quiet);
    if (!re.ok()) {
      return Expected(absl::StrCat("an RE2 pattern for group ", rule.name, " (",
                                   re.error(), ")"));
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace reprise
