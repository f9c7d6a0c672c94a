// Rules that rename parameters: an RE2 pattern and what to put in its place.
//
//   # names of the first layers
//   ^backbone\.      -> encoder.
//   ^fc(\d+)\.       -> head.\1.
//   ^module\.        ->
//
// One rule a line; blank lines and lines that begin with # say nothing. A rule
// applies to a name when its pattern is found in it: the first place that
// matches is replaced, \0 to \9 stand for what matched and its groups. Of the
// rules, the first that applies to a name renames it, and no other.
//
// Example (a test as well):
//
//   auto rules = reprise::RenameRules::Parse("^fc\\. -> head.");
//   if (!rules.ok()) return rules.status();
//   auto names = rules->Apply({"fc.weight", "conv.weight"});
//   (*names)["fc.weight"];  // "head.weight"
//
// Thread-safe.
#ifndef REPRISE_FORMAT_MIGRATE_RENAME_RULES_H_
#define REPRISE_FORMAT_MIGRATE_RENAME_RULES_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "re2/re2.h"

namespace reprise {

class RenameRules {
 public:
  // Errors, all INVALID_ARGUMENT without a refusal (a bad request) and naming
  // the line: no "->" or several; a pattern that RE2 does not take or that
  // matches nothing but emptiness; a replacement that names a group which the
  // pattern has not; no rule at all.
  static absl::StatusOr<RenameRules> Parse(absl::string_view text);

  // New name of every one of `names`, which are unique; most stay as they are.
  // Errors, INVALID_ARGUMENT: a rule that renames nothing; two names that would
  // become one; a new name that is empty, longer than 1,024 bytes, no UTF-8 or
  // has NUL.
  absl::StatusOr<std::map<std::string, std::string>> Apply(
      const std::vector<std::string>& names) const;

  // One name by the first rule that applies to it, nothing checked.
  std::string Renamed(const std::string& name) const;

  // "^fc\. -> head." of each rule, in order.
  std::vector<std::string> Texts() const;

 private:
  struct Rule {
    int line = 0;
    std::string text;
    std::shared_ptr<const re2::RE2> pattern;
    std::string replacement;
  };
  // The rule that applies; -1: none. `renamed` gets the new name.
  int Find(const std::string& name, std::string* renamed) const;

  std::vector<Rule> rules_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_MIGRATE_RENAME_RULES_H_
