// The optimizer's rules: state belongs to names, and "nothing yet" is not
// "missing".
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "format/v1/validate.h"
#include "format/v1/validate_internal.h"

namespace reprise {
namespace v1_internal {
namespace {

bool IsAdam(const OptimizerState& optimizer) {
  return optimizer.kind == "adamw" || optimizer.kind == "adam";
}

// Names of the moments that an optimizer of this kind makes.
std::set<std::string> MomentNames(const OptimizerState& optimizer) {
  if (IsAdam(optimizer)) return {"exp_avg", "exp_avg_sq"};
  return {"momentum_buffer"};
}

absl::Status CheckNumber(const ParameterGroup& group, absl::string_view option,
                         double value, double low, bool below_one) {
  if (std::isfinite(value) && value >= low && !(below_one && value >= 1)) {
    return absl::OkStatus();
  }
  return Invalid(Item::OPTIM_GROUPS,
                 absl::StrCat("group ", group.name, ": ", option, " ", value,
                              " is outside its range"));
}

// An option that the optimizer's kind has, or has not.
absl::Status CheckOption(const ParameterGroup& group, absl::string_view option,
                         const std::optional<double>& value, bool wanted,
                         double low, bool below_one) {
  if (wanted && !value.has_value()) {
    return Missing(
        Item::OPTIM_GROUPS,
        absl::StrCat("group ", group.name, ": field ", option, " is absent"));
  }
  if (!wanted && value.has_value()) {
    return Invalid(Item::OPTIM_GROUPS,
                   absl::StrCat("group ", group.name, ": ", option,
                                " is no option of this optimizer"));
  }
  return wanted ? CheckNumber(group, option, *value, low, below_one)
                : absl::OkStatus();
}

absl::Status CheckOptions(const OptimizerState& optimizer,
                          const ParameterGroup& group) {
  const bool adam = IsAdam(optimizer);
  const double any = -std::numeric_limits<double>::max();
  absl::Status status = CheckNumber(group, "lr", group.lr, any, false);
  status.Update(CheckNumber(group, "base_lr", group.base_lr, any, false));
  status.Update(
      CheckNumber(group, "weight_decay", group.weight_decay, 0, false));
  status.Update(CheckOption(group, "beta1", group.beta1, adam, 0, true));
  status.Update(CheckOption(group, "beta2", group.beta2, adam, 0, true));
  status.Update(CheckOption(group, "eps", group.eps, adam, 0, false));
  status.Update(
      CheckOption(group, "momentum", group.momentum, !adam, 0, false));
  status.Update(
      CheckOption(group, "dampening", group.dampening, !adam, any, false));
  std::optional<double> nesterov;
  if (group.nesterov.has_value()) nesterov = *group.nesterov ? 1 : 0;
  status.Update(CheckOption(group, "nesterov", nesterov, !adam, 0, false));
  return status;
}

// The groups' parameters by name; null where the model's are not in the file.
using Parameters = std::map<std::string, const Tensor*>;

absl::StatusOr<Parameters> CheckGroups(const Snapshot& snapshot) {
  const OptimizerState& optimizer = *snapshot.optimizer;
  std::map<std::string, const Tensor*> of_model;
  for (const Tensor& tensor : snapshot.parameters) {
    of_model[tensor.name()] = &tensor;
  }
  Parameters parameters;
  std::set<std::string> group_names;
  for (const ParameterGroup& group : optimizer.groups) {
    absl::Status status = CheckName(Item::OPTIM_GROUPS, "group", group.name);
    if (status.ok() && IsSaved(snapshot, Item::OPTIM_GROUPS) &&
        IsSaved(snapshot, Item::OPTIM_KIND)) {
      status = CheckOptions(optimizer, group);
    }
    if (!status.ok()) return status;
    if (!group_names.insert(group.name).second) {
      return Invalid(Item::OPTIM_GROUPS,
                     absl::StrCat("two groups are called ", group.name));
    }
    for (const std::string& name : group.parameters) {
      auto found = of_model.find(name);
      if (IsSaved(snapshot, Item::MODEL_PARAMS) && found == of_model.end()) {
        return Invalid(
            Item::OPTIM_IDENTITY,
            absl::StrCat("group ", group.name, " names the parameter ", name,
                         ", which the model has not"));
      }
      if (!parameters
               .emplace(name, found == of_model.end() ? nullptr : found->second)
               .second) {
        return Invalid(
            Item::OPTIM_IDENTITY,
            absl::StrCat("parameter ", name, " is in the groups twice"));
      }
    }
  }
  return parameters;
}

absl::Status CheckMoments(const OptimizerState& optimizer,
                          const ParameterState& state,
                          const Tensor* parameter) {
  std::set<std::string> wanted = MomentNames(optimizer);
  for (const Tensor& moment : state.moments) {
    absl::Status status = CheckTensor(Item::OPTIM_MOMENTS, moment);
    if (!status.ok()) {
      return Annotate(status, absl::StrCat("parameter ", state.parameter));
    }
    if (wanted.erase(moment.name()) == 0) {
      return Invalid(
          Item::OPTIM_MOMENTS,
          absl::StrCat("parameter ", state.parameter, ": ", moment.name(),
                       " comes twice or is no "
                       "moment of ",
                       optimizer.kind));
    }
    if (!IsFloatingPoint(moment.dtype())) {
      return Invalid(
          Item::OPTIM_MOMENTS,
          absl::StrCat("parameter ", state.parameter, ": ", moment.name(),
                       " has dtype ", Name(moment.dtype())));
    }
    if (parameter != nullptr && moment.shape() != parameter->shape()) {
      return Invalid(
          Item::OPTIM_MOMENTS,
          absl::StrCat("parameter ", state.parameter, ": ", moment.name(),
                       " has another shape than the parameter"));
    }
  }
  if (!wanted.empty()) {
    return Missing(Item::OPTIM_MOMENTS,
                   absl::StrCat("parameter ", state.parameter, ": ",
                                *wanted.begin(), " is absent"));
  }
  return absl::OkStatus();
}

// A state without moments says that its parameter has none yet: then no step
// was applied to it. SGD without momentum never has any.
absl::Status CheckState(const Snapshot& snapshot, const ParameterState& state,
                        const Tensor* parameter) {
  const bool moments_saved = IsSaved(snapshot, Item::OPTIM_MOMENTS);
  if (!state.moments.empty()) {
    if (!moments_saved) {
      return Invalid(
          Item::OPTIM_MOMENTS,
          absl::StrCat("parameter ", state.parameter,
                       " has moments, but the record says ",
                       TextOf(snapshot.Find(Item::OPTIM_MOMENTS)->presence)));
    }
    if (IsSaved(snapshot, Item::OPTIM_STEP) && state.step == 0) {
      return Invalid(Item::OPTIM_STEP,
                     absl::StrCat("parameter ", state.parameter,
                                  " has moments before its first step"));
    }
    return CheckMoments(*snapshot.optimizer, state, parameter);
  }
  const Presence presence = snapshot.Find(Item::OPTIM_MOMENTS)->presence;
  const bool none_yet = moments_saved || presence == Presence::PRESENCE_EMPTY;
  if (none_yet && state.step != 0) {
    return Missing(Item::OPTIM_MOMENTS,
                   absl::StrCat("parameter ", state.parameter, " has taken ",
                                state.step, " steps and has no moments"));
  }
  return absl::OkStatus();
}

absl::Status CheckStates(const Snapshot& snapshot,
                         const Parameters& parameters) {
  const OptimizerState& optimizer = *snapshot.optimizer;
  const bool moments_saved = IsSaved(snapshot, Item::OPTIM_MOMENTS);
  const bool step_saved = IsSaved(snapshot, Item::OPTIM_STEP);
  if ((moments_saved || step_saved) &&
      (!IsSaved(snapshot, Item::OPTIM_IDENTITY) ||
       !IsSaved(snapshot, Item::OPTIM_KIND))) {
    return Missing(IsSaved(snapshot, Item::OPTIM_KIND) ? Item::OPTIM_IDENTITY
                                                       : Item::OPTIM_KIND,
                   "the optimizer's state means nothing without it");
  }
  std::set<std::string> seen;
  bool any_moments = false;
  for (const ParameterState& state : optimizer.states) {
    auto found = parameters.find(state.parameter);
    if (found == parameters.end()) {
      return Invalid(Item::OPTIM_IDENTITY,
                     absl::StrCat("state of the parameter ", state.parameter,
                                  ", which is in no group"));
    }
    if (!seen.insert(state.parameter).second) {
      return Invalid(
          Item::OPTIM_IDENTITY,
          absl::StrCat("two states of the parameter ", state.parameter));
    }
    absl::Status status = CheckState(snapshot, state, found->second);
    if (!status.ok()) return status;
    any_moments |= !state.moments.empty();
  }
  if (moments_saved && !any_moments) {
    return Missing(Item::OPTIM_MOMENTS,
                   "recorded as SAVED, but no parameter has any (before the "
                   "first applied step the record is EMPTY)");
  }
  if (!step_saved && !moments_saved) {
    if (optimizer.states.empty()) return absl::OkStatus();
    return Invalid(
        Item::OPTIM_STEP,
        absl::StrCat("there are states, but the record says ",
                     TextOf(snapshot.Find(Item::OPTIM_STEP)->presence)));
  }
  for (const auto& [name, unused] : parameters) {
    if (seen.count(name) == 0) {
      return Missing(step_saved ? Item::OPTIM_STEP : Item::OPTIM_MOMENTS,
                     absl::StrCat("parameter ", name,
                                  " has no state (one without moments and at "
                                  "step 0 says \"nothing yet\")"));
    }
  }
  return absl::OkStatus();
}

// EMPTY says that no step was applied, and a schedule that counts applied steps
// knows better.
absl::Status CheckNothingApplied(const Snapshot& snapshot) {
  if (!snapshot.schedule.has_value() ||
      !IsSaved(snapshot, Item::SCHED_POSITION) ||
      !IsSaved(snapshot, Item::SCHED_UNIT) ||
      snapshot.schedule->unit != ScheduleState::Unit::kApplied ||
      snapshot.schedule->position == 0) {
    return absl::OkStatus();
  }
  for (Item item : {Item::OPTIM_MOMENTS, Item::OPTIM_STEP}) {
    if (snapshot.Find(item)->presence == Presence::PRESENCE_EMPTY) {
      return Missing(item,
                     absl::StrCat("EMPTY after ", snapshot.schedule->position,
                                  " applied steps (sched.position)"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateOptimizer(const Snapshot& snapshot) {
  absl::Status status = CheckGroupPresence(
      snapshot,
      {Item::OPTIM_KIND, Item::OPTIM_GROUPS, Item::OPTIM_MOMENTS,
       Item::OPTIM_STEP, Item::OPTIM_IDENTITY, Item::SCHED_BASE,
       Item::SCHED_APPLIED},
      snapshot.optimizer.has_value(), "the optimizer");
  if (!status.ok() || !snapshot.optimizer.has_value()) return status;
  const OptimizerState& optimizer = *snapshot.optimizer;
  if (IsSaved(snapshot, Item::OPTIM_KIND)) {
    if (optimizer.kind.empty()) {
      return Missing(Item::OPTIM_KIND, "field optimizer.kind is absent");
    }
    if (optimizer.arithmetic.empty()) {
      return Missing(Item::OPTIM_KIND, "field optimizer.arithmetic is absent");
    }
    if (!IsAdam(optimizer) && optimizer.kind != "sgd") {
      return Invalid(
          Item::OPTIM_KIND,
          absl::StrCat("\"", optimizer.kind, "\" is not adamw, adam or sgd"));
    }
  }
  for (Item item :
       {Item::OPTIM_GROUPS, Item::SCHED_BASE, Item::SCHED_APPLIED}) {
    if (IsSaved(snapshot, item) && optimizer.groups.empty()) {
      return Missing(item, "recorded as SAVED, but there are no groups");
    }
  }
  absl::StatusOr<Parameters> parameters = CheckGroups(snapshot);
  if (!parameters.ok()) return parameters.status();
  status = CheckGroupPresence(snapshot, {Item::OPTIM_IDENTITY},
                              !parameters->empty(), "a parameter's name");
  if (!status.ok()) return status;
  status = CheckStates(snapshot, *parameters);
  return status.ok() ? CheckNothingApplied(snapshot) : status;
}

}  // namespace v1_internal
}  // namespace reprise
