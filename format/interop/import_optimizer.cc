#include "format/interop/import_optimizer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/refusal.h"
#include "re2/re2.h"

namespace reprise {
namespace {

using Kind = PyValue::Kind;

// Python's update as it runs on the CPU by default, one tensor after another
// (spec/ALGORITHMS.md).
constexpr char kSingleTensor[] = "torch-single-tensor-v1";

absl::Status Invalid(absl::string_view message) {
  return MakeRefusal(Refusal::INVALID_VALUE, message);
}

absl::StatusOr<double> Number(const PyValue& group, absl::string_view key) {
  const PyValue* value = group.Get(key);
  if (value == nullptr) {
    return MakeRefusal(Refusal::MISSING_ITEM,
                       absl::StrCat("a parameter group has no ", key));
  }
  absl::StatusOr<double> number = NumberOf(*value);
  if (!number.ok()) return Annotate(number.status(), key);
  return number;
}

bool IsTrue(const PyValue& group, absl::string_view key) {
  const PyValue* value = group.Get(key);
  return value != nullptr && value->kind == Kind::kBool && value->boolean;
}

// Options that change the arithmetic into one that no item here records.
absl::Status RefuseUnknownArithmetic(const PyValue& group) {
  for (absl::string_view key : {"amsgrad", "maximize"}) {
    if (IsTrue(group, key)) {
      return absl::UnimplementedError(
          absl::StrCat("the optimizer was made with ", key,
                       "=True, which checkpoints here do not record"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> KindOf(const PyValue& group,
                                   const ImportOptions& options,
                                   std::vector<std::string>* notes) {
  if (group.Get("momentum") != nullptr && group.Get("dampening") != nullptr) {
    return std::string("sgd");
  }
  if (group.Get("betas") == nullptr || group.Get("eps") == nullptr) {
    return absl::UnimplementedError(
        "the optimizer is neither Adam nor AdamW nor SGD; its parameter groups "
        "have other options");
  }
  const PyValue* decoupled = group.Get("decoupled_weight_decay");
  if (decoupled != nullptr && decoupled->kind == Kind::kBool) {
    return std::string(decoupled->boolean ? "adamw" : "adam");
  }
  if (!options.optimizer.empty()) {
    notes->push_back(absl::StrCat(
        "optim.kind: ", options.optimizer,
        ", as asked for (before torch 2.7 the file does not say)"));
    return options.optimizer;
  }
  return absl::InvalidArgumentError(
      "the file does not say whether its optimizer is Adam or AdamW (torch "
      "before 2.7 does not record it); say which with the option optimizer");
}

absl::StatusOr<ParameterGroup> ImportGroup(const PyValue& value,
                                           const std::string& kind,
                                           std::string name) {
  ParameterGroup group;
  group.name = std::move(name);
  absl::StatusOr<double> lr = Number(value, "lr");
  absl::StatusOr<double> decay = Number(value, "weight_decay");
  for (const auto* number : {&lr, &decay}) {
    if (!number->ok()) return number->status();
  }
  group.lr = *lr;
  group.weight_decay = *decay;
  if (value.Get("initial_lr") != nullptr) {
    absl::StatusOr<double> base = Number(value, "initial_lr");
    if (!base.ok()) return base.status();
    group.base_lr = *base;
  }
  if (kind == "sgd") {
    absl::StatusOr<double> momentum = Number(value, "momentum");
    absl::StatusOr<double> dampening = Number(value, "dampening");
    for (const auto* number : {&momentum, &dampening}) {
      if (!number->ok()) return number->status();
    }
    group.momentum = *momentum;
    group.dampening = *dampening;
    group.nesterov = IsTrue(value, "nesterov");
    return group;
  }
  const PyValue* betas = value.Get("betas");
  if (betas == nullptr || betas->items.size() != 2) {
    return Invalid("expected two betas in a parameter group");
  }
  absl::StatusOr<double> beta1 = NumberOf(*betas->items[0]);
  absl::StatusOr<double> beta2 = NumberOf(*betas->items[1]);
  absl::StatusOr<double> eps = Number(value, "eps");
  for (const auto* number : {&beta1, &beta2, &eps}) {
    if (!number->ok()) return number->status();
  }
  group.beta1 = *beta1;
  group.beta2 = *beta2;
  group.eps = *eps;
  return group;
}

// Positions of a group: the integers under "params".
absl::StatusOr<std::vector<uint64_t>> Positions(const PyValue& group) {
  const PyValue* params = group.Get("params");
  if (params == nullptr ||
      (params->kind != Kind::kList && params->kind != Kind::kTuple)) {
    return MakeRefusal(Refusal::MISSING_ITEM,
                       "a parameter group has no list of params");
  }
  std::vector<uint64_t> positions;
  for (const PyValue* item : params->items) {
    uint64_t position = 0;
    if (!item->AsCount(&position)) {
      return Invalid(
          absl::StrCat("params: expected positions, found ", Describe(*item)));
    }
    positions.push_back(position);
  }
  return positions;
}

// One way to read the positions: names of each group's parameters, in order.
struct Reading {
  std::string how;
  std::vector<std::vector<const Tensor*>> groups;
};

// Cuts `order` into pieces of the groups' sizes; no groups when it is shorter
// or longer.
Reading Cut(std::string how, const std::vector<const Tensor*>& order,
            const std::vector<std::vector<uint64_t>>& positions) {
  Reading reading{std::move(how), {}};
  size_t total = 0;
  for (const auto& group : positions) total += group.size();
  if (total != order.size()) return reading;
  auto next = order.begin();
  for (const auto& group : positions) {
    reading.groups.emplace_back(next, next + group.size());
    next += group.size();
  }
  return reading;
}

using States = std::map<uint64_t, const PyValue*>;

// Whether every moment has the shape of the parameter that it would belong to.
bool Fits(const Reading& reading,
          const std::vector<std::vector<uint64_t>>& positions,
          const States& states) {
  if (reading.groups.empty()) return false;
  for (size_t g = 0; g < positions.size(); ++g) {
    for (size_t i = 0; i < positions[g].size(); ++i) {
      auto state = states.find(positions[g][i]);
      if (state == states.end()) continue;
      for (const auto& [key, value] : state->second->entries) {
        const Tensor* moment = TensorOf(*value);
        if (moment == nullptr || key->text == "step") continue;
        if (moment->shape() != reading.groups[g][i]->shape()) return false;
      }
    }
  }
  return true;
}

bool SameNames(const Reading& a, const Reading& b) {
  return a.groups == b.groups;
}

// Parameters by name, from the groups' own param_names (torch 2.6 and later,
// when the optimizer was given named_parameters()).
absl::StatusOr<Reading> FromParamNames(
    const std::vector<const PyValue*>& groups,
    const std::map<std::string, const Tensor*>& by_name) {
  Reading reading{"the file names them", {}};
  for (const PyValue* group : groups) {
    const PyValue* names = group->Get("param_names");
    reading.groups.emplace_back();
    for (const PyValue* name : names->items) {
      auto found = by_name.find(name->text);
      if (found == by_name.end()) {
        return MakeRefusal(
            Refusal::MISMATCH,
            absl::StrCat("optim.identity: the optimizer names a parameter \"",
                         name->text, "\", which the model does not have"));
      }
      reading.groups.back().push_back(found->second);
    }
  }
  return reading;
}

absl::StatusOr<Reading> FromPatterns(const std::vector<std::string>& patterns,
                                     const std::vector<Tensor>& parameters,
                                     size_t groups) {
  if (patterns.size() != groups) {
    return absl::InvalidArgumentError(
        absl::StrCat("the optimizer has ", groups, " groups, but ",
                     patterns.size(), " patterns of groups were given"));
  }
  Reading reading{"the given patterns of groups say it", {}};
  reading.groups.resize(groups);
  std::vector<std::unique_ptr<RE2>> compiled;
  for (const std::string& pattern : patterns) {
    compiled.push_back(std::make_unique<RE2>(pattern, RE2::Quiet));
    if (!compiled.back()->ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "pattern \"", pattern, "\": ", compiled.back()->error()));
    }
  }
  for (const Tensor& parameter : parameters) {
    for (size_t g = 0; g < groups; ++g) {
      if (!RE2::FullMatch(parameter.name(), *compiled[g])) continue;
      reading.groups[g].push_back(&parameter);
      break;
    }
  }
  return reading;
}

absl::StatusOr<Reading> Conclude(
    const std::vector<const PyValue*>& groups,
    const std::vector<std::vector<uint64_t>>& positions, const States& states,
    const std::vector<Tensor>& parameters, const ImportOptions& options) {
  std::map<std::string, const Tensor*> by_name;
  std::vector<const Tensor*> order, matrices, rest;
  for (const Tensor& parameter : parameters) {
    by_name[parameter.name()] = &parameter;
    order.push_back(&parameter);
    (parameter.shape().size() >= 2 ? matrices : rest).push_back(&parameter);
  }
  const bool named =
      std::all_of(groups.begin(), groups.end(), [](const PyValue* group) {
        const PyValue* names = group->Get("param_names");
        return names != nullptr && names->kind == Kind::kList;
      });
  std::vector<Reading> readings;
  if (!options.groups.empty()) {
    absl::StatusOr<Reading> reading =
        FromPatterns(options.groups, parameters, groups.size());
    if (!reading.ok()) return reading.status();
    readings.push_back(*std::move(reading));
  } else if (named) {
    absl::StatusOr<Reading> reading = FromParamNames(groups, by_name);
    if (!reading.ok()) return reading.status();
    readings.push_back(*std::move(reading));
  } else {
    readings.push_back(
        Cut("the optimizer was given the parameters in the model's order",
            order, positions));
    if (groups.size() == 2) {
      std::vector<const Tensor*> split = matrices;
      split.insert(split.end(), rest.begin(), rest.end());
      Reading reading =
          Cut("the first group holds the parameters of two and more "
              "dimensions, the second the others",
              split, positions);
      if (positions[0].size() == matrices.size()) {
        readings.push_back(std::move(reading));
      }
    }
  }

  std::vector<Reading> fitting;
  for (Reading& reading : readings) {
    for (size_t g = 0; g < reading.groups.size(); ++g) {
      if (reading.groups[g].size() != positions[g].size()) {
        return MakeRefusal(
            Refusal::MISMATCH,
            absl::StrCat("optim.identity: group ", g, " has ",
                         positions[g].size(), " parameters, but ",
                         reading.groups[g].size(), " names"));
      }
    }
    if (!Fits(reading, positions, states)) continue;
    if (!fitting.empty() && SameNames(fitting.back(), reading)) continue;
    fitting.push_back(std::move(reading));
  }
  if (fitting.size() == 1) return fitting[0];
  std::vector<size_t> sizes;
  for (const auto& group : positions) sizes.push_back(group.size());
  return MakeRefusal(
      Refusal::MISMATCH,
      absl::StrCat(
          "optim.identity: the optimizer numbers its parameters in groups of ",
          absl::StrJoin(sizes, " and "), ", the model has ", parameters.size(),
          ", and ",
          fitting.empty() ? "no order that is tried fits the shapes"
                          : "more than one order fits the shapes",
          "; say with the option groups, one pattern a group, which names "
          "each group holds"));
}

absl::Status ImportStates(const std::vector<std::vector<uint64_t>>& positions,
                          const Reading& reading, const States& states,
                          OptimizerState* optimizer, bool* any_moments) {
  const bool sgd = optimizer->kind == "sgd";
  for (size_t g = 0; g < positions.size(); ++g) {
    for (size_t i = 0; i < positions[g].size(); ++i) {
      ParameterState state;
      state.parameter = reading.groups[g][i]->name();
      auto found = states.find(positions[g][i]);
      if (found == states.end()) {
        optimizer->states.push_back(std::move(state));
        continue;
      }
      const PyValue& value = *found->second;
      const std::vector<absl::string_view> wanted =
          sgd ? std::vector<absl::string_view>{"momentum_buffer"}
              : std::vector<absl::string_view>{"exp_avg", "exp_avg_sq"};
      for (absl::string_view name : wanted) {
        const PyValue* moment = value.Get(name);
        if (moment == nullptr || moment->kind == Kind::kNone) continue;
        const Tensor* tensor = TensorOf(*moment);
        if (tensor == nullptr) {
          return Invalid(absl::StrCat("optim.moments: ", state.parameter, ", ",
                                      name, ": expected a tensor, found ",
                                      Describe(*moment)));
        }
        state.moments.push_back(Renamed(*tensor, std::string(name)));
        *any_moments = true;
      }
      if (const PyValue* step = value.Get("step"); step != nullptr) {
        absl::StatusOr<double> number = NumberOf(*step);
        if (!number.ok()) return Annotate(number.status(), "optim.step");
        if (!(*number >= 0 && *number < 0x1p53) ||
            *number != static_cast<double>(static_cast<uint64_t>(*number))) {
          return Invalid(absl::StrCat("optim.step: ", state.parameter,
                                      ": expected a count, found ", *number));
        }
        state.step = static_cast<uint64_t>(*number);
      }
      optimizer->states.push_back(std::move(state));
    }
  }
  return absl::OkStatus();
}

bool AnyStep(const OptimizerState& optimizer) {
  return std::any_of(optimizer.states.begin(), optimizer.states.end(),
                     [](const ParameterState& s) { return s.step > 0; });
}

}  // namespace

absl::StatusOr<double> NumberOf(const PyValue& value) {
  double number = 0;
  if (value.AsReal(&number)) return number;
  const Tensor* tensor = TensorOf(value);
  if (tensor == nullptr || tensor->num_elements() != 1) {
    return Invalid(absl::StrCat("expected a number, found ", Describe(value)));
  }
  switch (tensor->dtype()) {
    case DType::kF32: {
      float single = 0;
      std::memcpy(&single, tensor->data(), sizeof(single));
      return single;
    }
    case DType::kF64:
      std::memcpy(&number, tensor->data(), sizeof(number));
      return number;
    case DType::kI64: {
      int64_t integer = 0;
      std::memcpy(&integer, tensor->data(), sizeof(integer));
      return static_cast<double>(integer);
    }
    case DType::kI32: {
      int32_t integer = 0;
      std::memcpy(&integer, tensor->data(), sizeof(integer));
      return integer;
    }
    default:
      return Invalid(absl::StrCat("expected a number, found a tensor of ",
                                  Name(tensor->dtype())));
  }
}

Tensor Renamed(const Tensor& tensor, std::string name) {
  auto owner = std::make_shared<const Tensor>(tensor);
  Tensor renamed =
      Tensor::Strided(std::move(name), tensor.dtype(), tensor.shape(),
                      tensor.strides(), owner, tensor.data());
  if (tensor.storage().has_value()) {
    renamed.SetStorage(tensor.storage()->id, tensor.storage()->offset);
  }
  return renamed;
}

absl::Status ImportOptimizer(const PyValue& state_dict,
                             const std::vector<Tensor>& parameters,
                             const ImportOptions& options,
                             ImportedSnapshot* imported) {
  const PyValue* list = state_dict.Get("param_groups");
  const PyValue* state = state_dict.Get("state");
  if (list == nullptr || list->kind != Kind::kList || list->items.empty() ||
      state == nullptr || state->kind != Kind::kDict) {
    return MakeRefusal(
        Refusal::MISSING_ITEM,
        "optimizer: expected a state dict of torch.optim with state and "
        "param_groups, found something else");
  }
  const std::vector<const PyValue*>& groups = list->items;
  OptimizerState optimizer;
  optimizer.arithmetic = kSingleTensor;
  absl::StatusOr<std::string> kind =
      KindOf(*groups[0], options, &imported->notes);
  if (!kind.ok()) return kind.status();
  optimizer.kind = *kind;

  if (!options.group_names.empty() &&
      options.group_names.size() != groups.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the optimizer has ", groups.size(), " groups, but ",
                     options.group_names.size(), " names were given"));
  }
  std::vector<std::vector<uint64_t>> positions;
  bool has_base = true;
  for (size_t g = 0; g < groups.size(); ++g) {
    const std::string where = absl::StrCat("optim.groups: group ", g);
    absl::Status status = RefuseUnknownArithmetic(*groups[g]);
    if (!status.ok()) return Annotate(status, where);
    for (const char* variant : {"foreach", "fused"}) {
      if (IsTrue(*groups[g], variant)) {
        optimizer.arithmetic = absl::StrCat("torch-", variant);
      }
    }
    absl::StatusOr<ParameterGroup> group =
        ImportGroup(*groups[g], *kind,
                    options.group_names.empty() ? absl::StrCat("group", g)
                                                : options.group_names[g]);
    if (!group.ok()) return Annotate(group.status(), where);
    absl::StatusOr<std::vector<uint64_t>> found = Positions(*groups[g]);
    if (!found.ok()) return Annotate(found.status(), where);
    has_base &= groups[g]->Get("initial_lr") != nullptr;
    positions.push_back(*std::move(found));
    optimizer.groups.push_back(*std::move(group));
  }
  States states;
  std::set<uint64_t> known;
  for (const auto& group : positions) known.insert(group.begin(), group.end());
  for (const auto& [key, value] : state->entries) {
    uint64_t position = 0;
    if (!key->AsCount(&position) || known.count(position) == 0) {
      return Invalid(
          "optim.identity: there is state of a parameter that is in no group");
    }
    states[position] = value;
  }
  absl::StatusOr<Reading> reading =
      Conclude(groups, positions, states, parameters, options);
  if (!reading.ok()) return reading.status();
  imported->notes.push_back(absl::StrCat(
      "optim.identity: ", parameters.size(), " parameters by position; ",
      reading->how,
      states.empty() ? "" : ", and every moment has its parameter's shape"));
  for (size_t g = 0; g < positions.size(); ++g) {
    for (const Tensor* parameter : reading->groups[g]) {
      optimizer.groups[g].parameters.push_back(parameter->name());
    }
  }
  bool any_moments = false;
  absl::Status status =
      ImportStates(positions, *reading, states, &optimizer, &any_moments);
  if (!status.ok()) return status;

  Snapshot& snapshot = imported->snapshot;
  const bool sgd = optimizer.kind == "sgd";
  const bool any_step = AnyStep(optimizer);
  for (Item item : {Item::OPTIM_KIND, Item::OPTIM_GROUPS, Item::OPTIM_IDENTITY,
                    Item::SCHED_APPLIED}) {
    snapshot.MarkSaved(item);
  }
  if (has_base) {
    snapshot.MarkSaved(Item::SCHED_BASE);
  } else {
    snapshot.MarkOmitted(Item::SCHED_BASE,
                         "the parameter groups have no initial_lr");
  }
  if (any_moments) {
    snapshot.MarkSaved(Item::OPTIM_MOMENTS);
    for (const ParameterState& state : optimizer.states) {
      if (state.moments.empty()) continue;
      optimizer.state_dtype = state.moments[0].dtype();
      snapshot.MarkSaved(Item::OPTIM_DTYPE);
      break;
    }
  } else if (sgd && optimizer.groups[0].momentum == 0.0) {
    snapshot.MarkNotApplicable(Item::OPTIM_MOMENTS,
                               "sgd without momentum keeps none");
  } else {
    snapshot.MarkEmpty(Item::OPTIM_MOMENTS);
  }
  if (sgd && !any_step) {
    // torch's SGD does not count its steps.
    snapshot.MarkOmitted(Item::OPTIM_STEP, "torch's SGD keeps no step count");
  } else if (any_step) {
    snapshot.MarkSaved(Item::OPTIM_STEP);
  } else {
    snapshot.MarkEmpty(Item::OPTIM_STEP);
  }
  if (snapshot.Find(Item::OPTIM_STEP)->presence != Presence::PRESENCE_SAVED &&
      !any_moments) {
    optimizer.states.clear();
  }
  snapshot.optimizer = std::move(optimizer);
  return absl::OkStatus();
}

}  // namespace reprise
