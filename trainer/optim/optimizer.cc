#include "trainer/optim/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace reprise {
namespace {

// The moment `name` of `state` as a new tensor like `parameter`.
// Takes the moment away.
absl::StatusOr<at::Tensor> TakeMoment(ParameterState& state,
                                      const std::string& name,
                                      const at::Tensor& parameter) {
  for (Tensor& moment : state.moments) {
    if (moment.name() != name) continue;
    at::Tensor copy = at::zeros_like(parameter);
    if (absl::Status status = CopyInto(moment, copy); !status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("optim.moments of ", state.parameter,
                                       ": ", status.message()));
    }
    moment = Tensor();
    return copy;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("optim.moments of ", state.parameter, ": expected ", name,
                   ", found none; the checkpoint is not of this optimizer"));
}

bool IsHalf(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kHalf ||
         tensor.scalar_type() == at::kBFloat16;
}

at::Tensor MakeMaster(const at::Tensor& parameter) {
  return parameter.detach().to(at::kFloat, /*non_blocking=*/false,
                               /*copy=*/true);
}

std::vector<std::string> Names(const std::vector<NamedTensor>& parameters) {
  std::vector<std::string> names;
  for (const NamedTensor& p : parameters) names.push_back(p.name);
  return names;
}

// Adam and AdamW differ in where the decay goes.
class AdamFamily : public Optimizer {
 public:
  AdamFamily(const std::string& kind, std::vector<Group> groups)
      : Optimizer(kind, std::move(groups)), decoupled_(kind == "adamw") {}

 private:
  std::vector<std::string> MomentNames(const Group&) const override {
    return {"exp_avg", "exp_avg_sq"};
  }

  void Update(const Group& group, const at::Tensor& p, const at::Tensor& g,
              ParameterMoments* moments) override {
    if (moments->tensors.empty()) {
      moments->tensors = {at::zeros_like(p), at::zeros_like(p)};
    }
    at::Tensor& exp_avg = moments->tensors[0];
    at::Tensor& exp_avg_sq = moments->tensors[1];
    // The order and the very operators matter: see kTorchSingleTensorV1.
    at::Tensor grad = g;
    if (group.weight_decay != 0) {
      if (decoupled_) {
        p.mul_(1 - group.lr * group.weight_decay);
      } else {
        grad = grad.add(p, group.weight_decay);
      }
    }
    exp_avg.lerp_(grad, 1 - group.beta1);
    exp_avg_sq.mul_(group.beta2).addcmul_(grad, grad, 1 - group.beta2);
    const double t = static_cast<double>(moments->step);
    const double bias_correction1 = 1 - std::pow(group.beta1, t);
    const double bias_correction2 = 1 - std::pow(group.beta2, t);
    const double step_size = group.lr / bias_correction1;
    // A power, as in Python: std::sqrt may differ from it in the last bit.
    const at::Tensor denominator =
        exp_avg_sq.sqrt().div_(std::pow(bias_correction2, 0.5)).add_(group.eps);
    p.addcdiv_(exp_avg, denominator, -step_size);
  }

  void SetMomentum(double momentum, Group* group) const override {
    group->beta1 = momentum;
  }

  absl::Status LoadOptions(const ParameterGroup& from,
                           Group* group) const override {
    if (!from.beta1 || !from.beta2 || !from.eps) {
      return absl::InvalidArgumentError(absl::StrCat(
          "optim.groups: group ", from.name, " lacks beta1, beta2 or eps"));
    }
    group->beta1 = *from.beta1;
    group->beta2 = *from.beta2;
    group->eps = *from.eps;
    return absl::OkStatus();
  }

  void SaveOptions(const Group& group, ParameterGroup* to) const override {
    to->beta1 = group.beta1;
    to->beta2 = group.beta2;
    to->eps = group.eps;
  }

  const bool decoupled_;
};

class Sgd : public Optimizer {
 public:
  explicit Sgd(std::vector<Group> groups)
      : Optimizer("sgd", std::move(groups)) {}

 private:
  std::vector<std::string> MomentNames(const Group& group) const override {
    if (group.momentum == 0) return {};
    return {"momentum_buffer"};
  }

  void Update(const Group& group, const at::Tensor& p, const at::Tensor& g,
              ParameterMoments* moments) override {
    at::Tensor grad = g;
    if (group.weight_decay != 0) grad = grad.add(p, group.weight_decay);
    if (group.momentum != 0) {
      if (moments->tensors.empty()) {
        // The first gradient is the buffer: dampening starts with the second.
        moments->tensors = {grad.detach().clone()};
      } else {
        moments->tensors[0]
            .mul_(group.momentum)
            .add_(grad, 1 - group.dampening);
      }
      const at::Tensor& buffer = moments->tensors[0];
      grad = group.nesterov ? grad.add(buffer, group.momentum) : buffer;
    }
    p.add_(grad, -group.lr);
  }

  void SetMomentum(double momentum, Group* group) const override {
    group->momentum = momentum;
  }

  absl::Status LoadOptions(const ParameterGroup& from,
                           Group* group) const override {
    if (!from.momentum || !from.dampening || !from.nesterov) {
      return absl::InvalidArgumentError(
          absl::StrCat("optim.groups: group ", from.name,
                       " lacks momentum, dampening or nesterov"));
    }
    group->momentum = *from.momentum;
    group->dampening = *from.dampening;
    group->nesterov = *from.nesterov;
    return absl::OkStatus();
  }

  void SaveOptions(const Group& group, ParameterGroup* to) const override {
    to->momentum = group.momentum;
    to->dampening = group.dampening;
    to->nesterov = group.nesterov;
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> Optimizer::Create(
    const std::string& kind, std::vector<Group> groups) {
  if (kind == "adamw" || kind == "adam") {
    return std::make_unique<AdamFamily>(kind, std::move(groups));
  }
  if (kind == "sgd") return std::make_unique<Sgd>(std::move(groups));
  return absl::InvalidArgumentError(absl::StrCat(
      "optimizer.kind: expected adamw, adam or sgd, found \"", kind, "\""));
}

Optimizer::Optimizer(std::string kind, std::vector<Group> groups)
    : kind_(std::move(kind)), groups_(std::move(groups)) {
  for (const Group& group : groups_) {
    for (const NamedTensor& p : group.parameters) {
      ParameterMoments& m = moments_.emplace_back();
      if (IsHalf(p.tensor)) m.master = MakeMaster(p.tensor);
    }
  }
}

void Optimizer::Step() {
  const at::NoGradGuard no_grad;
  auto moments = moments_.begin();
  for (const Group& group : groups_) {
    for (const NamedTensor& parameter : group.parameters) {
      ParameterMoments& m = *moments++;
      const bool has_master = m.master.defined();
      const at::Tensor& stepped = has_master ? m.master : parameter.tensor;
      const at::Tensor& grad = stepped.grad();
      if (!grad.defined()) continue;
      ++m.step;
      Update(group, stepped, grad, &m);
      if (has_master) parameter.tensor.copy_(m.master);
    }
  }
}

void Optimizer::ZeroGrad() {
  auto moments = moments_.begin();
  for (Group& group : groups_) {
    for (NamedTensor& p : group.parameters) {
      ParameterMoments& m = *moments++;
      p.tensor.mutable_grad().reset();
      if (m.master.defined()) m.master.mutable_grad().reset();
    }
  }
}

void Optimizer::ApplySchedule(double fraction, std::optional<double> momentum) {
  for (Group& group : groups_) {
    group.lr = group.base_lr * fraction;
    if (momentum.has_value()) SetMomentum(*momentum, &group);
  }
}

std::vector<at::Tensor> Optimizer::StepTensors(
    const std::vector<NamedTensor>& parameters) const {
  absl::flat_hash_map<absl::string_view, at::Tensor> masters;
  auto moments = moments_.begin();
  for (const Group& group : groups_) {
    for (const NamedTensor& p : group.parameters) {
      const ParameterMoments& m = *moments++;
      if (m.master.defined()) masters[p.name] = m.master;
    }
  }
  std::vector<at::Tensor> stepped;
  for (const NamedTensor& p : parameters) {
    const auto master = masters.find(p.name);
    stepped.push_back(master != masters.end() ? master->second : p.tensor);
  }
  return stepped;
}

void Optimizer::GatherGradients() {
  const at::NoGradGuard no_grad;
  auto moments = moments_.begin();
  for (const Group& group : groups_) {
    for (const NamedTensor& p : group.parameters) {
      ParameterMoments& m = *moments++;
      if (!m.master.defined()) continue;
      const at::Tensor& grad = p.tensor.grad();
      m.master.mutable_grad() =
          grad.defined() ? grad.to(at::kFloat) : at::Tensor();
    }
  }
}

OptimizerState Optimizer::state(const ViewFunction& view) const {
  OptimizerState state;
  state.kind = kind_;
  state.arithmetic = kTorchSingleTensorV1;
  auto moments = moments_.begin();
  for (const Group& group : groups_) {
    ParameterGroup out;
    out.name = group.name;
    out.pattern = group.pattern;
    out.parameters = Names(group.parameters);
    out.lr = group.lr;
    out.base_lr = group.base_lr;
    out.weight_decay = group.weight_decay;
    SaveOptions(group, &out);
    state.groups.push_back(std::move(out));
    const std::vector<std::string> names = MomentNames(group);
    for (const NamedTensor& p : group.parameters) {
      const ParameterMoments& m = *moments++;
      if (m.step == 0) continue;
      ParameterState parameter{p.name, m.step, {}};
      for (size_t i = 0; i < names.size(); ++i) {
        parameter.moments.push_back(view(names[i], m.tensors[i]));
      }
      state.states.push_back(std::move(parameter));
    }
  }
  return state;
}

std::vector<Tensor> Optimizer::masters(const ViewFunction& view) const {
  std::vector<Tensor> masters;
  auto moments = moments_.begin();
  for (const Group& group : groups_) {
    for (const NamedTensor& p : group.parameters) {
      const ParameterMoments& m = *moments++;
      if (m.master.defined()) masters.push_back(view(p.name, m.master));
    }
  }
  return masters;
}

absl::Status Optimizer::Load(OptimizerState state,
                             std::vector<Tensor> masters) {
  if (state.kind != kind_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "optim.kind: expected ", kind_, ", found \"", state.kind, "\""));
  }
  if (state.arithmetic != kTorchSingleTensorV1) {
    return absl::InvalidArgumentError(
        absl::StrCat("optim.kind: expected arithmetic ", kTorchSingleTensorV1,
                     ", found \"", state.arithmetic, "\""));
  }
  if (state.groups.size() != groups_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("optim.groups: expected ", groups_.size(),
                     " groups, found ", state.groups.size()));
  }
  absl::flat_hash_map<std::string, ParameterState*> by_name;
  for (ParameterState& s : state.states) by_name[s.parameter] = &s;
  absl::flat_hash_map<std::string, Tensor*> masters_by_name;
  for (Tensor& master : masters) masters_by_name[master.name()] = &master;

  std::vector<Group> groups = groups_;
  std::vector<ParameterMoments> loaded;
  for (size_t g = 0; g < groups.size(); ++g) {
    const ParameterGroup& in = state.groups[g];
    Group& group = groups[g];
    if (in.name != group.name || in.parameters != Names(group.parameters)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "optim.groups: expected group ", group.name, " of ",
          absl::StrJoin(Names(group.parameters), ", "), "; found group ",
          in.name, " of ", absl::StrJoin(in.parameters, ", ")));
    }
    group.lr = in.lr;
    group.base_lr = in.base_lr;
    group.weight_decay = in.weight_decay;
    if (auto s = LoadOptions(in, &group); !s.ok()) return s;
    const std::vector<std::string> names = MomentNames(group);
    for (const NamedTensor& p : group.parameters) {
      ParameterMoments m;
      if (IsHalf(p.tensor)) {
        auto found = masters_by_name.find(p.name);
        if (found == masters_by_name.end()) {
          return absl::InvalidArgumentError(absl::StrCat(
              "master: expected that of ", p.name, ", found none; the rounded ",
              "parameter cannot stand for it"));
        }
        m.master = MakeMaster(p.tensor);
        if (auto s = CopyInto(*found->second, m.master); !s.ok()) {
          return absl::Status(s.code(), absl::StrCat("master: ", s.message()));
        }
        *found->second = Tensor();
        masters_by_name.erase(found);
      }
      const at::Tensor& stepped = m.master.defined() ? m.master : p.tensor;
      if (auto found = by_name.find(p.name); found != by_name.end()) {
        m.step = found->second->step;
        for (const std::string& name : names) {
          auto moment = TakeMoment(*found->second, name, stepped);
          if (!moment.ok()) return moment.status();
          m.tensors.push_back(*std::move(moment));
        }
        by_name.erase(found);
      }
      loaded.push_back(std::move(m));
    }
  }
  if (!by_name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("optim.moments: found state of ", by_name.begin()->first,
                     ", which is no parameter of this optimizer"));
  }
  if (!masters_by_name.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "master: found that of ", masters_by_name.begin()->first,
        ", which is no half-precision parameter of this optimizer"));
  }
  groups_ = std::move(groups);
  moments_ = std::move(loaded);
  return absl::OkStatus();
}

std::vector<Optimizer::Group> GroupsByRank(
    const std::vector<NamedTensor>& parameters,
    const Optimizer::Group& options) {
  Optimizer::Group decay = options;
  decay.name = "decay";
  Optimizer::Group no_decay = options;
  no_decay.name = "no_decay";
  no_decay.weight_decay = 0;
  no_decay.own_weight_decay = true;
  for (const NamedTensor& p : parameters) {
    (p.tensor.dim() >= 2 ? decay : no_decay).parameters.push_back(p);
  }
  return {std::move(decay), std::move(no_decay)};
}

}  // namespace reprise
