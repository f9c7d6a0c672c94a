#include "trainer/optim/adamw.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/checkpoint/torch_tensor.h"

namespace reprise {
namespace {

constexpr char kExpAvg[] = "exp_avg";
constexpr char kExpAvgSq[] = "exp_avg_sq";

// The moment `name` of `state` as a new tensor like `parameter`.
absl::StatusOr<at::Tensor> FindMoment(const ParameterState& state,
                                      const char* name,
                                      const at::Tensor& parameter) {
  for (const Tensor& moment : state.moments) {
    if (moment.name() != name) continue;
    at::Tensor copy = at::zeros_like(parameter);
    if (absl::Status status = CopyInto(moment, copy); !status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("optim.moments of ", state.parameter,
                                       ": ", status.message()));
    }
    return copy;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "optim.moments of ", state.parameter, ": expected ", name,
      ", found none; the checkpoint is not of this optimizer"));
}

std::vector<std::string> Names(const std::vector<NamedTensor>& parameters) {
  std::vector<std::string> names;
  for (const NamedTensor& p : parameters) names.push_back(p.name);
  return names;
}

}  // namespace

AdamW::AdamW(std::vector<Group> groups) : groups_(std::move(groups)) {
  size_t count = 0;
  for (const Group& group : groups_) count += group.parameters.size();
  moments_.resize(count);
}

void AdamW::Step() {
  const at::NoGradGuard no_grad;
  auto moments = moments_.begin();
  for (Group& group : groups_) {
    for (NamedTensor& parameter : group.parameters) {
      Moments& m = *moments++;
      const at::Tensor& grad = parameter.tensor.grad();
      if (!grad.defined()) continue;
      at::Tensor& p = parameter.tensor;
      if (!m.exp_avg.defined()) {
        m.exp_avg = at::zeros_like(p);
        m.exp_avg_sq = at::zeros_like(p);
      }
      ++m.step;
      // The order and the very operators matter: see kTorchSingleTensorV1.
      if (group.weight_decay != 0) p.mul_(1 - group.lr * group.weight_decay);
      m.exp_avg.lerp_(grad, 1 - group.beta1);
      m.exp_avg_sq.mul_(group.beta2).addcmul_(grad, grad, 1 - group.beta2);
      const double t = static_cast<double>(m.step);
      const double bias_correction1 = 1 - std::pow(group.beta1, t);
      const double bias_correction2 = 1 - std::pow(group.beta2, t);
      const double step_size = group.lr / bias_correction1;
      const at::Tensor denominator = m.exp_avg_sq.sqrt()
                                         .div_(std::sqrt(bias_correction2))
                                         .add_(group.eps);
      p.addcdiv_(m.exp_avg, denominator, -step_size);
    }
  }
}

void AdamW::ZeroGrad() {
  for (Group& group : groups_) {
    for (NamedTensor& p : group.parameters) p.tensor.mutable_grad().reset();
  }
}

OptimizerState AdamW::state() const {
  OptimizerState state;
  state.kind = "adamw";
  state.arithmetic = kTorchSingleTensorV1;
  auto moments = moments_.begin();
  for (const Group& group : groups_) {
    ParameterGroup out;
    out.name = group.name;
    out.parameters = Names(group.parameters);
    out.lr = group.lr;
    out.base_lr = group.base_lr;
    out.weight_decay = group.weight_decay;
    out.beta1 = group.beta1;
    out.beta2 = group.beta2;
    out.eps = group.eps;
    state.groups.push_back(std::move(out));
    for (const NamedTensor& p : group.parameters) {
      const Moments& m = *moments++;
      if (!m.exp_avg.defined()) continue;
      state.states.push_back({p.name,
                              m.step,
                              {ViewOf(kExpAvg, m.exp_avg),
                               ViewOf(kExpAvgSq, m.exp_avg_sq)}});
    }
  }
  return state;
}

absl::Status AdamW::Load(const OptimizerState& state) {
  if (state.kind != "adamw") {
    return absl::InvalidArgumentError(absl::StrCat(
        "optim.kind: expected adamw, found \"", state.kind, "\""));
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
  absl::flat_hash_map<std::string, const ParameterState*> by_name;
  for (const ParameterState& s : state.states) by_name[s.parameter] = &s;

  std::vector<Group> groups = groups_;
  std::vector<Moments> loaded;
  for (size_t g = 0; g < groups.size(); ++g) {
    const ParameterGroup& in = state.groups[g];
    Group& group = groups[g];
    if (in.name != group.name || in.parameters != Names(group.parameters)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "optim.groups: expected group ", group.name, " of ",
          absl::StrJoin(Names(group.parameters), ", "), "; found group ",
          in.name, " of ", absl::StrJoin(in.parameters, ", ")));
    }
    if (!in.beta1 || !in.beta2 || !in.eps) {
      return absl::InvalidArgumentError(absl::StrCat(
          "optim.groups: group ", in.name, " lacks beta1, beta2 or eps"));
    }
    group.lr = in.lr;
    group.base_lr = in.base_lr;
    group.weight_decay = in.weight_decay;
    group.beta1 = *in.beta1;
    group.beta2 = *in.beta2;
    group.eps = *in.eps;
    for (const NamedTensor& p : group.parameters) {
      Moments m;
      if (auto found = by_name.find(p.name); found != by_name.end()) {
        m.step = found->second->step;
        auto exp_avg = FindMoment(*found->second, kExpAvg, p.tensor);
        if (!exp_avg.ok()) return exp_avg.status();
        auto exp_avg_sq = FindMoment(*found->second, kExpAvgSq, p.tensor);
        if (!exp_avg_sq.ok()) return exp_avg_sq.status();
        m.exp_avg = *std::move(exp_avg);
        m.exp_avg_sq = *std::move(exp_avg_sq);
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
  groups_ = std::move(groups);
  moments_ = std::move(loaded);
  return absl::OkStatus();
}

std::vector<AdamW::Group> GroupsByRank(
    const std::vector<NamedTensor>& parameters, const AdamW::Group& options) {
  AdamW::Group decay = options;
  decay.name = "decay";
  AdamW::Group no_decay = options;
  no_decay.name = "no_decay";
  no_decay.weight_decay = 0;
  for (const NamedTensor& p : parameters) {
    (p.tensor.dim() >= 2 ? decay : no_decay).parameters.push_back(p);
  }
  return {std::move(decay), std::move(no_decay)};
}

}  // namespace reprise
