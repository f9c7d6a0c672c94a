// AdamW and SGD with momentum, one ParameterState for each parameter that has
// had an applied step.
#include "conformance/fake/optimizer.h"

#include <cmath>

namespace reprise::conformance::fake {
namespace {

ParameterState* StateOf(const Array& parameter, bool second,
                        OptimizerState* optimizer, bool* fresh) {
  for (ParameterState& state : *optimizer->mutable_states()) {
    if (state.parameter() == parameter.name()) {
      *fresh = false;
      return &state;
    }
  }
  ParameterState* state = optimizer->add_states();
  state->set_parameter(parameter.name());
  state->mutable_first()->Resize(parameter.values_size(), 0.0f);
  if (second) state->mutable_second()->Resize(parameter.values_size(), 0.0f);
  *fresh = true;
  return state;
}

void AdamW(const Group& group, double lr, const Array& gradient,
           ParameterState* state, Array* parameter) {
  state->set_step(state->step() + 1);
  const double t = static_cast<double>(state->step());
  const float decay = static_cast<float>(1 - lr * group.weight_decay());
  const float beta1 = static_cast<float>(group.beta1());
  const float beta2 = static_cast<float>(group.beta2());
  const float step_size =
      static_cast<float>(lr / (1 - std::pow(group.beta1(), t)));
  const float correction =
      static_cast<float>(std::sqrt(1 - std::pow(group.beta2(), t)));
  const float eps = static_cast<float>(group.eps());
  for (int i = 0; i < parameter->values_size(); ++i) {
    const float g = gradient.values(i);
    const float m = state->first(i) + (g - state->first(i)) * (1 - beta1);
    const float v = state->second(i) * beta2 + g * g * (1 - beta2);
    state->set_first(i, m);
    state->set_second(i, v);
    parameter->set_values(
        i, parameter->values(i) * decay -
               step_size * m / (std::sqrt(v) / correction + eps));
  }
}

void Sgd(const Group& group, double lr, bool fresh, const Array& gradient,
         ParameterState* state, Array* parameter) {
  state->set_step(state->step() + 1);
  const float mu = static_cast<float>(group.momentum());
  const float decay = static_cast<float>(group.weight_decay());
  for (int i = 0; i < parameter->values_size(); ++i) {
    const float g = gradient.values(i) + decay * parameter->values(i);
    const float buffer = fresh ? g : mu * state->first(i) + g;
    state->set_first(i, buffer);
    parameter->set_values(
        i, parameter->values(i) - static_cast<float>(lr) * buffer);
  }
}

class ByName : public Optimizer {
 public:
  void Apply(const Arrays& gradients, const std::vector<double>& lr,
             State* state) override {
    OptimizerState* optimizer = state->mutable_optimizer();
    const bool adamw = optimizer->kind() == "adamw";
    Arrays* trained = Trained(state);
    for (int g = 0; g < optimizer->groups_size(); ++g) {
      const Group& group = optimizer->groups(g);
      for (const std::string& name : group.parameters()) {
        if (IsFrozen(*state, name)) continue;
        Array* parameter = Find(name, trained);
        const Array& gradient = *Find(name, gradients);
        bool fresh;
        ParameterState* own = StateOf(*parameter, adamw, optimizer, &fresh);
        if (adamw) {
          AdamW(group, lr[g], gradient, own, parameter);
        } else {
          Sgd(group, lr[g], fresh, gradient, own, parameter);
        }
      }
    }
    // The working copy of half parameters follows its masters.
    for (const Array& master : state->masters()) {
      Array* parameter = Find(master.name(), state->mutable_parameters());
      *parameter = master;
      RoundTo("fp16", parameter);
    }
  }
};

}  // namespace

std::unique_ptr<Optimizer> MakeOptimizer() {
  return std::make_unique<ByName>();
}

}  // namespace reprise::conformance::fake
