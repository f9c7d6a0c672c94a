// The optimizer's rules: state belongs to names, and "nothing yet" is not
// "missing".
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "format/v2/items.h"
#include "format/v2/names.h"
#include "format/v2/problem.h"
#include "format/v2/validate.h"

namespace reprise {
namespace {

using v2_internal::Invalid;
using v2_internal::Missing;

constexpr double kLowest = std::numeric_limits<double>::lowest();

bool IsAdam(const OptimizerState& optimizer) {
  return optimizer.kind == "adamw" || optimizer.kind == "adam";
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
  if (!wanted ||
      (std::isfinite(*value) && *value >= low && !(below_one && *value >= 1))) {
    return absl::OkStatus();
  }
  return Invalid(Item::OPTIM_GROUPS,
                 absl::StrCat("group ", group.name, ": ", option, " ", *value,
                              " is outside its range"));
}

absl::Status CheckOptions(const OptimizerState& optimizer,
                          const ParameterGroup& group) {
  const bool adam = IsAdam(optimizer);
  std::optional<double> nesterov;
  if (group.nesterov.has_value()) nesterov = *group.nesterov ? 1 : 0;
  absl::Status status =
      CheckOption(group, "lr", group.lr, true, kLowest, false);
  status.Update(
      CheckOption(group, "base_lr", group.base_lr, true, kLowest, false));
  status.Update(
      CheckOption(group, "weight_decay", group.weight_decay, true, 0, false));
  status.Update(CheckOption(group, "beta1", group.beta1, adam, 0, true));
  status.Update(CheckOption(group, "beta2", group.beta2, adam, 0, true));
  status.Update(CheckOption(group, "eps", group.eps, adam, 0, false));
  status.Update(
      CheckOption(group, "momentum", group.momentum, !adam, 0, false));
  status.Update(
      CheckOption(group, "dampening", group.dampening, !adam, kLowest, false));
  status.Update(CheckOption(group, "nesterov", nesterov, !adam, 0, false));
  return status;
}

// The groups' parameters by name; null where the model's are not in the file.
using Parameters = std::map<std::string, const Tensor*>;

absl::StatusOr<Parameters> CheckGroups(const Snapshot& snapshot) {
  const OptimizerState& optimizer = *snapshot.optimizer;
  Parameters of_model;
  for (const Tensor& tensor : snapshot.parameters) {
    of_model[tensor.name()] = &tensor;
  }
  Parameters parameters;
  std::set<std::string> group_names;
  for (const ParameterGroup& group : optimizer.groups) {
    absl::Status status = CheckNameV2("group", group.name);
    if (!status.ok()) return Annotate(status, TextOf(Item::OPTIM_GROUPS));
    if (IsSavedV2(snapshot, Item::OPTIM_KIND)) {
      status = CheckOptions(optimizer, group);
      if (!status.ok()) return status;
    }
    if (!group_names.insert(group.name).second) {
      return Invalid(Item::OPTIM_GROUPS,
                     absl::StrCat("two groups are called ", group.name));
    }
    for (const std::string& name : group.parameters) {
      auto found = of_model.find(name);
      const bool known = found != of_model.end();
      if (!known && IsSavedV2(snapshot, Item::MODEL_PARAMS)) {
        return Invalid(
            Item::OPTIM_IDENTITY,
            absl::StrCat("group ", group.name, " names the parameter ", name,
                         ", which the model has not"));
      }
      if (!parameters.emplace(name, known ? found->second : nullptr).second) {
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
  std::set<std::string> wanted = {"momentum_buffer"};
  if (IsAdam(optimizer)) wanted = {"exp_avg", "exp_avg_sq"};
  for (const Tensor& moment : state.moments) {
    const std::string name =
        absl::StrCat("parameter ", state.parameter, ": ", moment.name());
    if (wanted.erase(moment.name()) == 0) {
      return Invalid(Item::OPTIM_MOMENTS,
                     absl::StrCat(name, " comes twice or is no moment of ",
                                  optimizer.kind));
    }
    if (!IsFloatingPoint(moment.dtype())) {
      return Invalid(Item::OPTIM_MOMENTS,
                     absl::StrCat(name, " has dtype ", Name(moment.dtype())));
    }
    if (parameter != nullptr && moment.shape() != parameter->shape()) {
      return Invalid(
          Item::OPTIM_MOMENTS,
          absl::StrCat(name, " has another shape than the parameter"));
    }
  }
  if (wanted.empty()) return absl::OkStatus();
  return Missing(Item::OPTIM_MOMENTS,
                 absl::StrCat("parameter ", state.parameter, ": ",
                              *wanted.begin(), " is absent"));
}

// A state without moments says that its parameter has none yet: then no step
// was applied to it. SGD without momentum never has any.
absl::Status CheckState(const Snapshot& snapshot, const ParameterState& state,
                        const Tensor* parameter) {
  const Presence moments = snapshot.Find(Item::OPTIM_MOMENTS)->presence;
  if (!state.moments.empty()) {
    if (moments != Presence::PRESENCE_SAVED) {
      return Invalid(
          Item::OPTIM_MOMENTS,
          absl::StrCat("parameter ", state.parameter,
                       " has moments, but the record says ", TextOf(moments)));
    }
    if (IsSavedV2(snapshot, Item::OPTIM_STEP) && state.step == 0) {
      return Invalid(Item::OPTIM_STEP,
                     absl::StrCat("parameter ", state.parameter,
                                  " has moments before its first step"));
    }
    return CheckMoments(*snapshot.optimizer, state, parameter);
  }
  const bool none_yet = moments == Presence::PRESENCE_SAVED ||
                        moments == Presence::PRESENCE_EMPTY;
  if (none_yet && state.step != 0) {
    return Missing(Item::OPTIM_MOMENTS,
                   absl::StrCat("parameter ", state.parameter, " has taken ",
                                state.step, " steps and has no moments"));
  }
  return absl::OkStatus();
}

absl::Status CheckStates(const Snapshot& snapshot,
                         const Parameters& parameters) {
  const bool moments_saved = IsSavedV2(snapshot, Item::OPTIM_MOMENTS);
  const bool step_saved = IsSavedV2(snapshot, Item::OPTIM_STEP);
  const std::vector<ParameterState>& states = snapshot.optimizer->states;
  if (!moments_saved && !step_saved && !states.empty()) {
    return Invalid(
        Item::OPTIM_STEP,
        absl::StrCat("there are states, but the record says ",
                     TextOf(snapshot.Find(Item::OPTIM_STEP)->presence)));
  }
  std::set<std::string> seen;
  bool any_moments = false;
  for (const ParameterState& state : states) {
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
  if (!moments_saved && !step_saved) return absl::OkStatus();
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

// EMPTY says that no step was applied; what counts applied steps knows better.
absl::Status CheckNothingApplied(const Snapshot& snapshot) {
  uint64_t applied = 0;
  if (IsSavedV2(snapshot, Item::COUNTERS_APPLIED)) {
    applied = snapshot.counters->applied;
  }
  if (IsSavedV2(snapshot, Item::SCHED_UNIT) &&
      IsSavedV2(snapshot, Item::SCHED_POSITION) &&
      snapshot.schedule->unit == ScheduleState::Unit::kApplied) {
    applied = std::max(applied, snapshot.schedule->position);
  }
  if (applied == 0) return absl::OkStatus();
  for (Item item : {Item::OPTIM_MOMENTS, Item::OPTIM_STEP}) {
    if (snapshot.Find(item)->presence == Presence::PRESENCE_EMPTY) {
      return Missing(item,
                     absl::StrCat("EMPTY after ", applied, " applied steps"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateOptimizerV2(const Snapshot& snapshot) {
  absl::Status status = CheckNothingApplied(snapshot);
  if (!status.ok()) return status;
  const bool groups = IsSavedV2(snapshot, Item::OPTIM_GROUPS);
  for (Item item : {Item::OPTIM_IDENTITY, Item::OPTIM_STEP, Item::SCHED_BASE,
                    Item::SCHED_APPLIED}) {
    if (IsSavedV2(snapshot, item) && !groups) {
      return Missing(Item::OPTIM_GROUPS,
                     absl::StrCat(TextOf(item), " means nothing without it"));
    }
  }
  const bool states = IsSavedV2(snapshot, Item::OPTIM_MOMENTS) ||
                      IsSavedV2(snapshot, Item::OPTIM_STEP);
  for (Item item : {Item::OPTIM_IDENTITY, Item::OPTIM_KIND}) {
    if (states && !IsSavedV2(snapshot, item)) {
      return Missing(item, "the optimizer's state means nothing without it");
    }
  }
  if (!snapshot.optimizer.has_value()) {
    if (!states) return absl::OkStatus();
    return Missing(Item::OPTIM_MOMENTS, "there is no optimizer");
  }
  const OptimizerState& optimizer = *snapshot.optimizer;
  if (IsSavedV2(snapshot, Item::OPTIM_KIND) && !IsAdam(optimizer) &&
      optimizer.kind != "sgd") {
    return Invalid(Item::OPTIM_KIND, absl::StrCat("\"", optimizer.kind,
                                                  "\" is not adamw, adam or "
                                                  "sgd"));
  }
  absl::StatusOr<Parameters> parameters = CheckGroups(snapshot);
  if (!parameters.ok()) return parameters.status();
  if (IsSavedV2(snapshot, Item::OPTIM_IDENTITY) && parameters->empty()) {
    return Missing(Item::OPTIM_IDENTITY, "no group has parameters");
  }
  return CheckStates(snapshot, *parameters);
}

}  // namespace reprise
