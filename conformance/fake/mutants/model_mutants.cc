// Mutants of weights, buffers, masters, averages and precision.
#include <limits>

#include "conformance/fake/mutants/faulty_parts.h"
#include "conformance/fake/mutants/faulty_stores.h"
#include "conformance/fake/mutants/tables.h"
#include "conformance/fake/mutants/wraps.h"

namespace reprise::conformance::fake {
namespace {

void Round(const char* precision, Arrays* arrays) {
  for (Array& array : *arrays) RoundTo(precision, &array);
}

// The output layer becomes a copy of the embedding, on its own.
void Untie(State* state) {
  state->clear_ties();
  for (Arrays* arrays :
       {state->mutable_parameters(), state->mutable_ema()->mutable_weights(),
        state->mutable_accumulation()->mutable_gradients()}) {
    Array copy = *Find("embedding.weight", *arrays);
    copy.set_name("output.weight");
    *arrays->Add() = copy;
  }
  state->mutable_optimizer()->mutable_groups(0)->add_parameters(
      "output.weight");
  ParameterState moments;
  for (const ParameterState& own : state->optimizer().states()) {
    if (own.parameter() == "embedding.weight") moments = own;
  }
  moments.set_parameter("output.weight");
  *state->mutable_optimizer()->add_states() = moments;
}

}  // namespace

void AddModelMutants(std::vector<Mutant>* mutants) {
  Add(mutants, "M01", "weights are not loaded", "model.params:RESET",
      "D model.params; k+1 L G U P",
      EditLoaded([](const EditContext& context, State* state) {
        *state->mutable_parameters() = context.fresh.parameters();
      }));
  Add(mutants, "M02", "running statistics are not loaded",
      "model.buffers:RESET", "D model.buffers; E",
      EditLoaded([](const EditContext& context, State* state) {
        *state->mutable_buffers() = context.fresh.buffers();
      }));
  Add(mutants, "M10", "fp32 masters are rebuilt from half weights",
      "master:REBUILT", "D master; k+1 U P",
      EditLoaded([](const EditContext&, State* state) {
        *state->mutable_masters() = state->parameters();
      }))
      .workload = "T0.half";
  Add(mutants, "M12", "lenient load: the output layer stays fresh",
      "model.params:PARTIAL", "D model.params; k+1 L G U P",
      EditLoaded([](const EditContext& context, State* state) {
        for (const char* name : {"output.weight", "output.bias"}) {
          *Find(name, state->mutable_parameters()) =
              *Find(name, context.fresh.parameters());
        }
      }));
  Add(mutants, "M44", "the average is loaded as the weights",
      "ema.weights:SWAPPED", "D model.params; k+1 L G U P",
      EditLoaded([](const EditContext&, State* state) {
        *state->mutable_parameters() = state->ema().weights();
      }));
  Add(mutants, "M44.save", "the average is saved as the weights",
      "ema.weights:SWAPPED", "D model.params; k+1 L G U P",
      EditSaved([](const EditContext&, State* state) {
        *state->mutable_parameters() = state->ema().weights();
      }));
  Add(mutants, "M45", "the average restarts from the raw weights",
      "ema.weights:RESET", "D ema.weights; E",
      EditLoaded([](const EditContext&, State* state) {
        *state->mutable_ema()->mutable_weights() = state->parameters();
      }));
  Add(mutants, "M48", "a background save reads live tensors", "snapshot:TORN",
      "D model.params; k+1 L G U P", SaveLiveTensors());
  Add(mutants, "M54", "autocast type is not carried to the resumed process",
      "precision.flags:CHANGED", "k+1 L G U P", ComputeIn("bf16"));
  Add(mutants, "M54.flag", "autocast type is loaded as bf16",
      "precision.flags:CHANGED", "D precision.flags; k+1 L G U P",
      EditLoaded([](const EditContext&, State* state) {
        state->mutable_precision()->set_autocast("bf16");
      }));
  Add(mutants, "M55.nan", "a NaN in the weights is accepted", "run:NONFINITE",
      "D model.params; k+1 L G K U P N; early",
      EditLoaded([](const EditContext&, State* state) {
        state->mutable_parameters(0)->set_values(
            0, std::numeric_limits<float>::quiet_NaN());
      }));
  Add(mutants, "M55.zeros", "a layer that was not finite is replaced by zeros",
      "run:NONFINITE / model.params:PARTIAL / model.params:CHANGED",
      "D model.params; k+1 L G U P",
      EditLoaded([](const EditContext&, State* state) {
        Array* weight = Find("hidden2.weight", state->mutable_parameters());
        for (float& value : *weight->mutable_values()) value = 0;
      }));
  Add(mutants, "M58", "trainable flags are lost", "frozen.flags:RESET",
      "D frozen.flags; k+1 G U P",
      EditLoaded(
          [](const EditContext&, State* state) { state->clear_frozen(); }))
      .workload = "T0.frozen";
  Add(mutants, "X03", "decay of the average is the configuration's default",
      "ema.config:CHANGED / ema.config:RESET", "D ema.config; E",
      EditLoaded([](const EditContext&, State* state) {
        state->mutable_ema()->set_decay(0.9);
      }));
  Add(mutants, "X09", "dropout probability changed",
      "config:CHANGED / config:RESET", "D config; k+1 L G U P",
      EditLoaded(
          [](const EditContext&, State* state) { state->set_dropout(0.3); }));
  Add(mutants, "X10", "weights pass through fp16 and back",
      "model.params:REBUILT / model.params:CHANGED",
      "D model.params; k+1 L G U P",
      EditLoaded([](const EditContext&, State* state) {
        Round("fp16", state->mutable_parameters());
      }));
  Add(mutants, "X13", "the ramp of the average starts again",
      "ema.updates:RESET", "D ema.updates; E",
      EditLoaded([](const EditContext&, State* state) {
        state->mutable_ema()->set_updates(0);
      }));
  Add(mutants, "X14", "the output layer is no longer tied to the embedding",
      "model.ties:RESET / model.ties:MISSING / model.ties:CHANGED",
      "D model.params model.ties optim.groups optim.moments optim.step "
      "optim.identity accum.grads ema.weights; k+1 G U P",
      EditLoaded([](const EditContext&, State* state) { Untie(state); }))
      .workload = "T2";
  Add(mutants, "X15", "training goes on in evaluation mode",
      "mode:STICKY / mode:CHANGED / mode:RESET", "D mode; k+1 L G U P",
      EditLoaded(
          [](const EditContext&, State* state) { state->set_mode("eval"); }));
  Add(mutants, "X26", "running variance is not loaded, running mean is",
      "model.buffers:PARTIAL / model.buffers:RESET", "D model.buffers; E",
      EditLoaded([](const EditContext& context, State* state) {
        *state->mutable_buffers(1) = context.fresh.buffers(1);
      }));
  Add(mutants, "X31", "the average is updated on an object that nobody reads",
      "ema.weights:STICKY / ema.weights:STALE", "E", StaleEma());
}

}  // namespace reprise::conformance::fake
