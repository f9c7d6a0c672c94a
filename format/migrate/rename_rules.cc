#include "format/migrate/rename_rules.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "format/v2/names.h"

namespace reprise {
namespace {

constexpr char kArrow[] = "->";
// Of one pattern's program; RE2 refuses larger ones.
constexpr int64_t kPatternMemory = 1 << 20;

absl::Status Bad(int line, absl::string_view text, absl::string_view problem) {
  return absl::InvalidArgumentError(
      absl::StrCat("rename rules, line ", line, " (", text, "): ", problem));
}

}  // namespace

absl::StatusOr<RenameRules> RenameRules::Parse(absl::string_view text) {
  RenameRules rules;
  int number = 0;
  for (absl::string_view whole : absl::StrSplit(text, '\n')) {
    ++number;
    const std::string line(absl::StripAsciiWhitespace(whole));
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> sides = absl::StrSplit(line, kArrow);
    if (sides.size() != 2) {
      return Bad(
          number, line,
          absl::StrCat("expected one ->, found ", sides.size() - 1,
                       "; a rule is PATTERN -> REPLACEMENT (in a pattern "
                       "write \\x2d for a - before >)"));
    }
    const std::string pattern(absl::StripAsciiWhitespace(sides[0]));
    const std::string replacement(absl::StripAsciiWhitespace(sides[1]));
    if (pattern.empty()) return Bad(number, line, "the pattern is empty");
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kPatternMemory);
    auto compiled = std::make_shared<const re2::RE2>(pattern, options);
    if (!compiled->ok()) {
      return Bad(number, line,
                 absl::StrCat("no RE2 pattern: ", compiled->error()));
    }
    std::string problem;
    if (!compiled->CheckRewriteString(replacement, &problem)) {
      return Bad(number, line, problem);
    }
    rules.rules_.push_back({number, absl::StrCat(pattern, " -> ", replacement),
                            std::move(compiled), replacement});
  }
  if (rules.rules_.empty()) {
    return absl::InvalidArgumentError(
        "rename rules: there is none; a rule is PATTERN -> REPLACEMENT, one a "
        "line");
  }
  return rules;
}

int RenameRules::Find(const std::string& name, std::string* renamed) const {
  for (size_t i = 0; i < rules_.size(); ++i) {
    *renamed = name;
    if (re2::RE2::Replace(renamed, *rules_[i].pattern, rules_[i].replacement)) {
      return static_cast<int>(i);
    }
  }
  *renamed = name;
  return -1;
}

std::string RenameRules::Renamed(const std::string& name) const {
  std::string renamed;
  Find(name, &renamed);
  return renamed;
}

absl::StatusOr<std::map<std::string, std::string>> RenameRules::Apply(
    const std::vector<std::string>& names) const {
  std::map<std::string, std::string> renamed;
  std::map<std::string, std::string> taken;  // new name to old
  std::vector<bool> used(rules_.size());
  for (const std::string& name : names) {
    std::string to;
    const int rule = Find(name, &to);
    if (rule >= 0) {
      if (to != name) used[rule] = true;
      absl::Status status = CheckNameV2("parameter", to);
      if (!status.ok()) {
        return Bad(rules_[rule].line, rules_[rule].text,
                   absl::StrCat(name, ": ", status.message()));
      }
    }
    auto [other, is_new] = taken.emplace(to, name);
    if (!is_new) {
      return absl::InvalidArgumentError(
          absl::StrCat("rename rules: ", other->second, " and ", name,
                       " would both be called ", to));
    }
    renamed[name] = std::move(to);
  }
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (used[i]) continue;
    return Bad(rules_[i].line, rules_[i].text,
               absl::StrCat("renames nothing: none of the ", names.size(),
                            " names (", names.empty() ? "" : names.front(),
                            ", ...) has it, or earlier rules take them all"));
  }
  return renamed;
}

std::vector<std::string> RenameRules::Texts() const {
  std::vector<std::string> texts;
  for (const Rule& rule : rules_) texts.push_back(rule.text);
  return texts;
}

}  // namespace reprise
