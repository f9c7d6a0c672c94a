// Mutants of counters, accumulation, best value, choice of checkpoint and the
// end of the run.
#include "conformance/fake/mutants/faulty_parts.h"
#include "conformance/fake/mutants/faulty_stores.h"
#include "conformance/fake/mutants/tables.h"
#include "conformance/fake/mutants/wraps.h"

namespace reprise::conformance::fake {
namespace {

void Stamped(const char* item, uint64_t step, State* state) {
  Stamp* stamp = state->add_stamps();
  stamp->set_item(item);
  stamp->set_as_of_step(step);
}

// Weights of the newest checkpoint, optimizer of the one before, data position
// of a later one.
void MixGenerations(const EditContext& context, State* state) {
  auto names = context.files->List();
  if (names.ok() && names->size() >= 2) {
    auto older = context.files->LoadNamed((*names)[names->size() - 2]);
    if (older.ok()) {
      *state->mutable_optimizer() = older->state.optimizer();
      for (const char* item :
           {"optim.moments", "optim.step", "optim.groups", "optim.kind"}) {
        Stamped(item, older->state.counters().step(), state);
      }
    }
  }
  constexpr uint64_t kAhead = 10;
  state->mutable_sampler()->set_cursor(state->sampler().cursor() +
                                       kAhead * context.bed.accumulation *
                                           state->data().batch());
  Stamped("sampler.cursor", state->counters().step() + kAhead, state);
}

void AddCounterMutants(std::vector<Mutant>* mutants) {
  Add(mutants, "M39.lag", "the step label is one behind", "counters.step:LAG",
      "label; D counters.step; k+1 ID LR R L G U P N",
      EditLoaded([](const EditContext&, State* state) {
        CounterState* counters = state->mutable_counters();
        if (counters->step() > 0) counters->set_step(counters->step() - 1);
      }));
  Add(mutants, "M39.lead", "the step label is one ahead", "counters.step:LEAD",
      "label; D counters.step; k+1 ID LR S R L G K U N",
      EditLoaded([](const EditContext&, State* state) {
        CounterState* counters = state->mutable_counters();
        counters->set_step(counters->step() + 1);
      }));
  Add(mutants, "X23", "the count of samples is lost", "counters.samples:RESET",
      "D counters.samples; k+1 N",
      EditLoaded([](const EditContext&, State* state) {
        state->mutable_counters()->set_samples(0);
      }));
  Add(mutants, "X24", "skipped steps are counted as applied",
      "counters.applied:LEAD / counters.applied:UNIT / "
      "counters.applied:CHANGED",
      "D counters.applied; k+1 N",
      EditLoaded([](const EditContext&, State* state) {
        state->mutable_counters()->set_applied(state->counters().step());
      }));
  Mutant& gradients =
      Add(mutants, "M41.grads", "the group's gradients are lost",
          "accum.grads:RESET", "D accum.grads; k+1 G U P",
          EditLoaded([](const EditContext&, State* state) {
            *state->mutable_accumulation()->mutable_gradients() =
                ZerosLike(state->parameters());
          }));
  gradients.workload = "T1";
  gradients.settings = {"save_at_micro=2"};
  gradients.shows = Shows::kMidAccumulation;
  Mutant& count =
      Add(mutants, "M41.count", "the count is lost while the gradients stay",
          "accum.count:RESET", "D accum.count; k+1 ID R L G U P N",
          EditLoaded([](const EditContext&, State* state) {
            state->mutable_accumulation()->set_count(0);
          }));
  count.workload = "T1";
  count.settings = {"save_at_micro=2"};
  count.shows = Shows::kMidAccumulation;
  Add(mutants, "M42.best", "the best value is forgotten", "best:RESET",
      "D best; E; late",
      EditLoaded([](const EditContext&, State* state) { state->clear_best(); }))
      .workload = "T0.plateau";
  Mutant& mark =
      Add(mutants, "M42.mark", "the newest checkpoint is marked as the best",
          "best:CHANGED", "mark", MarkNewestAsBest());
  mark.workload = "T0.plateau";
  mark.shows = Shows::kRunEnd;
  Add(mutants, "M42.early", "the patience is forgotten", "early_stop:RESET",
      "D early_stop; E; late", EditLoaded([](const EditContext&, State* state) {
        state->mutable_early_stop()->set_bad_count(0);
      }))
      .workload = "T0.plateau";
  Add(mutants, "X06", "the patience counter is one behind",
      "early_stop:LAG / early_stop:CHANGED", "D early_stop; E; late",
      EditLoaded([](const EditContext&, State* state) {
        EarlyStopState* early = state->mutable_early_stop();
        if (early->bad_count() > 0)
          early->set_bad_count(early->bad_count() - 1);
      }))
      .workload = "T0.plateau";
}

}  // namespace

void AddRunMutants(std::vector<Mutant>* mutants) {
  AddCounterMutants(mutants);
  Add(mutants, "M43", "parts of different steps are loaded together",
      "generation:MIXED",
      "D optim.moments optim.step sampler.cursor; k+1 ID L G U P",
      EditLoaded(MixGenerations));
  Add(mutants, "M51", "the newest checkpoint but one is chosen", "source:STALE",
      "older", ChooseSecondNewest());
  Add(mutants, "M52", "starts from scratch without a word", "source:NONE",
      "scratch", StartFromScratch());
  Add(mutants, "M56.short", "ends before the plan with status 0", "run:SHORT",
      "early", EndEarly([](const State&) { return 7; }))
      .shows = Shows::kRunEnd;
  Add(mutants, "M56.save", "errors of saves are swallowed", "save:FAILED",
      "files", SwallowSaves())
      .shows = Shows::kRunEnd;
  Mutant& control = Add(mutants, "M60", "nothing: only its arithmetic is noisy",
                        "", "k+1 L G U P", [](const Assembly&) {});
  control.noisy = true;
  // Step 90 sorts after 100, 110, ...
  Mutant& by_name =
      Add(mutants, "X07", "chosen by name order of numbers without zeros",
          "source:STALE", "older", ChooseByName());
  by_name.settings = {"keep_last=100"};
  by_name.shows = Shows::kLaterEpoch;
}

}  // namespace reprise::conformance::fake
