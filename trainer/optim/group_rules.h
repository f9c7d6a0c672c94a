// Rules that sort parameters into groups by their names, as text.
//
//   auto rules = reprise::ParseGroupRules(
//       "no_decay weight_decay=0 (bias|norm); head lr_scale=0.1 ^fc2\\.");
//   if (!rules.ok()) return rules.status();
//   (*rules)[1].pattern;  // "^fc2\\."
//
// No LibTorch in it; GroupsByRules (parameter_groups.h) applies them.
#ifndef REPRISE_TRAINER_OPTIM_GROUP_RULES_H_
#define REPRISE_TRAINER_OPTIM_GROUP_RULES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

struct GroupRule {
  std::string name;
  // RE2; a parameter belongs to the first rule whose pattern is found anywhere
  // in its name. Without blanks and ";".
  std::string pattern;
  // Instead of the optimizer's own, >= 0.
  std::optional<double> weight_decay;
  // Times the optimizer's learning rate, > 0.
  double lr_scale = 1;
};

// Rules of the form "NAME [weight_decay=X] [lr_scale=X] PATTERN", apart by ";";
// blanks around them do not count, and text of nothing but blanks has none.
// INVALID_ARGUMENT whose message says what was expected, for another form, a
// number out of range, a pattern that RE2 refuses, a name that comes twice or
// is "rest", which is that of the group of all others.
absl::StatusOr<std::vector<GroupRule>> ParseGroupRules(absl::string_view text);

}  // namespace reprise

#endif  // REPRISE_TRAINER_OPTIM_GROUP_RULES_H_
