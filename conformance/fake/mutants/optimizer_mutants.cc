// Mutants of the optimizer's state and options.
#include "conformance/fake/mutants/faulty_parts.h"
#include "conformance/fake/mutants/tables.h"
#include "conformance/fake/mutants/wraps.h"

namespace reprise::conformance::fake {
namespace {

void Zero(google::protobuf::RepeatedField<float>* values) {
  for (float& value : *values) value = 0;
}

void ZeroMoments(State* state) {
  for (ParameterState& own : *state->mutable_optimizer()->mutable_states()) {
    Zero(own.mutable_first());
    Zero(own.mutable_second());
  }
}

ParameterState* StateOf(const char* parameter, State* state) {
  for (ParameterState& own : *state->mutable_optimizer()->mutable_states()) {
    if (own.parameter() == parameter) return &own;
  }
  return nullptr;
}

Customise EditGroups(void (*edit)(Group*)) {
  return EditLoaded([=](const EditContext&, State* state) {
    for (Group& group : *state->mutable_optimizer()->mutable_groups()) {
      edit(&group);
    }
  });
}

constexpr char kGroups[] = "optim.groups:RESET / optim.groups:CHANGED";

}  // namespace

void AddOptimizerMutants(std::vector<Mutant>* mutants) {
  Add(mutants, "M03", "AdamW starts cold",
      "optim.moments:RESET + optim.step:RESET",
      "D optim.moments optim.step; k+1 U P",
      EditLoaded([](const EditContext&, State* state) {
        state->mutable_optimizer()->clear_states();
      }));
  Add(mutants, "M04", "moments are zero, the step count is kept",
      "optim.moments:RESET", "D optim.moments; k+1 U P",
      EditLoaded([](const EditContext&, State* state) { ZeroMoments(state); }));
  Add(mutants, "M06", "the momentum buffer is zero", "optim.moments:RESET",
      "D optim.moments; k+1 U P",
      EditLoaded([](const EditContext&, State* state) { ZeroMoments(state); }))
      .workload = "T0.sgd";
  Add(mutants, "M07", "moments go to the wrong parameter of the same shape",
      "optim.identity:SWAPPED", "D optim.moments; k+1 U P",
      EditLoaded([](const EditContext&, State* state) {
        ParameterState* one = StateOf("hidden1.weight", state);
        ParameterState* other = StateOf("hidden2.weight", state);
        if (one == nullptr || other == nullptr) return;
        one->mutable_first()->Swap(other->mutable_first());
        one->mutable_second()->Swap(other->mutable_second());
      }));
  Add(mutants, "M08.lr", "a group's rate factor is the default", kGroups,
      "D optim.groups; k+1 LR U P",
      EditGroups([](Group* group) { group->set_lr_scale(1); }));
  Add(mutants, "M08.wd", "weight decay is the default", kGroups,
      "D optim.groups; k+1 U P",
      EditGroups([](Group* group) { group->set_weight_decay(0.01); }));
  Add(mutants, "M08.betas", "betas are another configuration's", kGroups,
      "D optim.groups; k+1 U P",
      EditGroups([](Group* group) { group->set_beta1(0.8); }));
  Add(mutants, "M08.eps", "eps is another configuration's", kGroups,
      "D optim.groups; k+1 U P",
      EditGroups([](Group* group) { group->set_eps(1e-4); }));
  Add(mutants, "X01", "moments of one parameter are lost",
      "optim.moments:PARTIAL / optim.moments:RESET", "D optim.moments; k+1 U P",
      EditLoaded([](const EditContext&, State* state) {
        ParameterState* own = StateOf("hidden2.weight", state);
        if (own == nullptr) return;
        Zero(own->mutable_first());
        Zero(own->mutable_second());
      }));
  Add(mutants, "X02", "beta2 changed", kGroups, "D optim.groups; k+1 U P",
      EditGroups([](Group* group) { group->set_beta2(0.99); }));
  Add(mutants, "X11", "every parameter's step count is one behind",
      "optim.step:LAG", "D optim.step; k+1 U P",
      EditLoaded([](const EditContext&, State* state) {
        for (ParameterState& own :
             *state->mutable_optimizer()->mutable_states()) {
          if (own.step() > 1) own.set_step(own.step() - 1);
        }
      }));
  Add(mutants, "X20", "first moments are zero, second ones are kept",
      "optim.moments:PARTIAL / optim.moments:RESET", "D optim.moments; k+1 U P",
      EditLoaded([](const EditContext&, State* state) {
        for (ParameterState& own :
             *state->mutable_optimizer()->mutable_states()) {
          Zero(own.mutable_first());
        }
      }));
  Add(mutants, "X21", "moments pass through bf16",
      "optim.dtype:CHANGED / optim.moments:REBUILT / optim.moments:CHANGED",
      "D optim.moments optim.dtype; k+1 U P",
      EditLoaded([](const EditContext&, State* state) {
        state->mutable_optimizer()->set_dtype("bf16");
        for (ParameterState& own :
             *state->mutable_optimizer()->mutable_states()) {
          for (float& value : *own.mutable_first()) {
            value = RoundTo("bf16", value);
          }
          for (float& value : *own.mutable_second()) {
            value = RoundTo("bf16", value);
          }
        }
      }));
  Add(mutants, "X30", "the optimizer updates parameters that nobody uses",
      "model.params:STICKY", "k+1 U P", StaleOptimizer());
}

}  // namespace reprise::conformance::fake
