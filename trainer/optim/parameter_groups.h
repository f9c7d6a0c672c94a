// Which parameters belong to which group, by rules over their names.
//
//   reprise::Optimizer::Group options;
//   options.base_lr = options.lr = 3e-3;
//   auto rules = reprise::ParseGroupRules("head lr_scale=0.1 ^fc2\\.");
//   if (!rules.ok()) return rules.status();
//   auto groups = reprise::GroupsByRules(model->Parameters(), options, *rules);
//   if (!groups.ok()) return groups.status();
//   auto optimizer = reprise::Optimizer::Create("adamw", *groups);
#ifndef REPRISE_TRAINER_OPTIM_PARAMETER_GROUPS_H_
#define REPRISE_TRAINER_OPTIM_PARAMETER_GROUPS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "trainer/optim/group_rules.h"
#include "trainer/optim/optimizer.h"

namespace reprise {

// A group for each rule, in their order, then "rest" of the parameters that no
// rule took, unless there are none; each has `options` with what its rule says
// instead. Every parameter is in exactly one group, in the given order. Errors:
// InvalidArgument naming the rule that takes no parameter, or whose pattern
// RE2 refuses.
absl::StatusOr<std::vector<Optimizer::Group>> GroupsByRules(
    const std::vector<NamedTensor>& parameters, const Optimizer::Group& options,
    const std::vector<GroupRule>& rules);

}  // namespace reprise

#endif  // REPRISE_TRAINER_OPTIM_PARAMETER_GROUPS_H_
