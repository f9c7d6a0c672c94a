#include "trainer/optim/parameter_groups.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "re2/re2.h"

namespace reprise {

absl::StatusOr<std::vector<Optimizer::Group>> GroupsByRules(
    const std::vector<NamedTensor>& parameters, const Optimizer::Group& options,
    const std::vector<GroupRule>& rules) {
  std::vector<Optimizer::Group> groups;
  std::vector<std::unique_ptr<re2::RE2>> patterns;
  for (const GroupRule& rule : rules) {
    patterns.push_back(
        std::make_unique<re2::RE2>(rule.pattern, re2::RE2::Quiet));
    if (!patterns.back()->ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "parameter group ", rule.name, ": expected an RE2 pattern, found ",
          rule.pattern, " (", patterns.back()->error(), ")"));
    }
    Optimizer::Group& group = groups.emplace_back(options);
    group.name = rule.name;
    group.pattern = rule.pattern;
    group.weight_decay = rule.weight_decay.value_or(options.weight_decay);
    group.own_weight_decay = rule.weight_decay.has_value();
    group.lr_scale = options.lr_scale * rule.lr_scale;
    group.base_lr = options.base_lr * rule.lr_scale;
    group.lr = options.lr * rule.lr_scale;
  }
  Optimizer::Group rest = options;
  rest.name = "rest";
  for (const NamedTensor& p : parameters) {
    Optimizer::Group* taker = &rest;
    for (size_t i = 0; i < rules.size() && taker == &rest; ++i) {
      if (re2::RE2::PartialMatch(p.name, *patterns[i])) taker = &groups[i];
    }
    taker->parameters.push_back(p);
  }
  for (const Optimizer::Group& group : groups) {
    if (group.parameters.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "parameter group ", group.name, ": expected a parameter in whose ",
          "name ", group.pattern,
          " is found and that no earlier group has, found none"));
    }
  }
  if (!rest.parameters.empty()) groups.push_back(std::move(rest));
  return groups;
}

}  // namespace reprise
