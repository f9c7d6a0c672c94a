// Mutants of data order, position and random generators.
#include "conformance/fake/generator.h"
#include "conformance/fake/mutants/faulty_parts.h"
#include "conformance/fake/mutants/tables.h"
#include "conformance/fake/mutants/wraps.h"

namespace reprise::conformance::fake {
namespace {

// Moves the cursor by `change`, which gets the loaded state.
Customise EditCursor(std::function<int64_t(const State&)> change) {
  return EditLoaded([=](const EditContext&, State* state) {
    const int64_t cursor =
        static_cast<int64_t>(state->sampler().cursor()) + change(*state);
    state->mutable_sampler()->set_cursor(
        static_cast<uint64_t>(cursor < 0 ? 0 : cursor));
  });
}

int64_t Samples(const State& state) {
  return static_cast<int64_t>(state.data().size());
}
int64_t Batch(const State& state) {
  return static_cast<int64_t>(state.data().batch());
}
int64_t SinceEpochStart(const State& state) {
  return static_cast<int64_t>(state.sampler().cursor() % state.data().size());
}
bool AtEpochEnd(const State& state) {
  return state.sampler().cursor() > 0 && SinceEpochStart(state) == 0;
}
// Attempted steps that an epoch takes in this run so far.
int64_t EpochSteps(const State& state) {
  return static_cast<int64_t>(state.counters().step() * state.data().size() /
                              state.counters().samples());
}

void AddSamplerMutants(std::vector<Mutant>* mutants) {
  Add(mutants, "M26", "the epoch starts again, in the same order",
      "sampler.cursor:RESET", "D sampler.cursor; k+1 ID L G U P",
      EditCursor([](const State& state) { return -SinceEpochStart(state); }));
  Add(mutants, "M27", "the epoch starts again, in a new order",
      "sampler.order:REORDERED", "D sampler.cursor; k+1 ID L G U P",
      Both(EditCursor(
               [](const State& state) { return -SinceEpochStart(state); }),
           OrderBy([](uint64_t epoch, uint64_t) {
             return OrderKey{epoch + 1000, 0};
           })));
  Add(mutants, "M27.epoch0", "every later epoch has the order of the first",
      "sampler.order:RESET / sampler.order:REORDERED / sampler.order:STALE / "
      "sampler.order:LAG / sampler.order:STICKY / sampler.order:CHANGED",
      "k+1 ID L G U P", OrderBy([](uint64_t epoch, uint64_t resumed) {
        return OrderKey{epoch - resumed, 0};
      }))
      .shows = Shows::kLaterEpoch;
  Add(mutants, "M29", "the last batch is trained twice", "sampler.cursor:LAG",
      "D sampler.cursor; k+1 ID L G U P",
      EditCursor([](const State& state) { return -Batch(state); }));
  Add(mutants, "M30", "one batch is dropped", "sampler.cursor:LEAD",
      "D sampler.cursor; k+1 ID L G U P", EditCursor(Batch));
  Add(mutants, "M32", "optimizer steps are used as micro-batches",
      "sampler.cursor:UNIT", "D sampler.cursor sampler.order; k+1 ID L G U P N",
      EditCursor([](const State& state) {
        return static_cast<int64_t>(state.counters().step()) * Batch(state) -
               static_cast<int64_t>(state.sampler().cursor());
      }))
      .workload = "T1";
  auto steps = [](const State& state) {
    return AtEpochEnd(state) ? EpochSteps(state) : int64_t{0};
  };
  Add(mutants, "M34.missing",
      "the end of an epoch is taken as that of the next",
      "sampler.cursor:EPOCH_END",
      "D sampler.cursor sampler.order; k+1 ID L G U P N; early",
      Both(EndEarly(steps), EditCursor([](const State& state) {
             return AtEpochEnd(state) ? Samples(state) : 0;
           })))
      .shows = Shows::kEpochEnd;
  Add(mutants, "M34.repeated", "a finished epoch is trained again",
      "sampler.cursor:EPOCH_END",
      "D sampler.cursor sampler.order; k+1 ID L G U P N; late",
      Both(EndEarly([=](const State& state) { return -steps(state); }),
           EditCursor([](const State& state) {
             return AtEpochEnd(state) ? -Samples(state) : 0;
           })))
      .shows = Shows::kEpochEnd;
  Add(mutants, "M53.fingerprint", "ten samples were added unnoticed",
      "data.fingerprint:CHANGED", "D data.fingerprint; k+13 ID L G U P",
      EditLoaded([](const EditContext&, State* state) {
        state->mutable_data()->set_size(state->data().size() + 10);
      }));
  Add(mutants, "M53.batch", "the batch size doubled unnoticed",
      "data.batch:CHANGED", "D data.batch; k+1 ID L G U P N",
      EditLoaded([](const EditContext&, State* state) {
        state->mutable_data()->set_batch(state->data().batch() * 2);
      }));
  Add(mutants, "X12", "the sampler is one epoch behind",
      "sampler.cursor:LAG / sampler.cursor:EPOCH_END / sampler.order:LAG / "
      "sampler.order:STALE",
      "D sampler.cursor sampler.order; k+1 ID L G U P N",
      EditCursor([](const State& state) {
        return state.sampler().cursor() >= state.data().size() ? -Samples(state)
                                                               : 0;
      }))
      .shows = Shows::kLaterEpoch;
  auto frozen = std::make_shared<uint64_t>(0);
  Add(mutants, "X17", "after a resume saves repeat the cursor that was loaded",
      "sampler.cursor:STICKY / sampler.cursor:STALE / sampler.cursor:LAG",
      "D sampler.cursor; k+1 ID L G K U P N",
      Both(EditLoaded([=](const EditContext&, State* state) {
             *frozen = state->sampler().cursor();
           }),
           EditSaved([=](const EditContext&, State* state) {
             if (*frozen > 0) state->mutable_sampler()->set_cursor(*frozen);
           })))
      .shows = Shows::kSecondResume;
  Add(mutants, "X19", "the seed of the order changed",
      "sampler.seed:CHANGED / sampler.seed:RESEEDED / sampler.order:REORDERED /"
      " sampler.order:CHANGED",
      "D sampler.seed sampler.order; k+1 ID L G U P",
      EditLoaded([](const EditContext&, State* state) {
        state->mutable_sampler()->set_seed(state->sampler().seed() + 1);
      }));
  Add(mutants, "X25", "two batches that were read ahead are dropped",
      "sampler.cursor:LEAD / loader.inflight:MISSING / loader.inflight:RESET",
      "D sampler.cursor; k+1 ID L G U P",
      EditCursor([](const State& state) { return 2 * Batch(state); }));
  Add(mutants, "X37", "the epochs after the resumed one are reordered",
      "sampler.order:REORDERED / sampler.order:CHANGED / sampler.order:RESET",
      "k+41 ID L G U P", OrderBy([](uint64_t epoch, uint64_t resumed) {
        return OrderKey{epoch, epoch > resumed ? uint64_t{7} : 0};
      }));
}

void AddGeneratorMutants(std::vector<Mutant>* mutants) {
  Add(mutants, "M36.cpu", "set-up code draws from the host's generator",
      "rng.cpu:CONSUMED", "F rng.cpu; k+1 R L G U P",
      EditAtFirst(v1::P0, [](const EditContext&, State* state) {
        Draw(state->mutable_cpu());
      }));
  Add(mutants, "M36.cuda", "set-up code draws from the device's generator",
      "rng.cuda:CONSUMED", "F rng.cuda; k+1 R L G U P",
      EditAtFirst(v1::P0, [](const EditContext&, State* state) {
        Draw(state->mutable_cuda());
      }));
  Add(mutants, "M36.reseed", "set-up code seeds all generators",
      "rng.cpu:RESEEDED + rng.cuda:RESEEDED",
      "F rng.cpu rng.cuda; k+1 R L G U P",
      EditAtFirst(v1::P0, [](const EditContext& context, State* state) {
        *state->mutable_cpu() = context.fresh.cpu();
        *state->mutable_cuda() = context.fresh.cuda();
      }));
  Add(mutants, "M37", "the host's generator is not restored", "rng.cpu:RESET",
      "D rng.cpu; k+1 R L G U P",
      EditLoaded([](const EditContext& context, State* state) {
        *state->mutable_cpu() = context.fresh.cpu();
      }));
  Add(mutants, "M38", "the device's generator is not restored",
      "rng.cuda:RESET", "D rng.cuda; k+1 R L G U P",
      EditLoaded([](const EditContext& context, State* state) {
        *state->mutable_cuda() = context.fresh.cuda();
      }));
  Add(mutants, "X05", "the augmentation's seed is drawn anew",
      "rng.data:RESEEDED / rng.data:CHANGED / rng.data:RESET",
      "D rng.data; k+1 L G U P",
      EditLoaded([](const EditContext&, State* state) {
        state->set_augmentation_seed(state->augmentation_seed() + 7);
      }));
  Add(mutants, "X34", "the device's generator is the previous checkpoint's",
      "rng.cuda:STALE / rng.cuda:LAG / rng.cuda:CHANGED",
      "D rng.cuda; k+1 R L G U P",
      EditLoaded([](const EditContext& context, State* state) {
        auto names = context.files->List();
        if (!names.ok() || names->size() < 2) return;
        auto older = context.files->LoadNamed((*names)[names->size() - 2]);
        if (older.ok()) *state->mutable_cuda() = older->state.cuda();
      }));
}

}  // namespace

void AddDataMutants(std::vector<Mutant>* mutants) {
  AddSamplerMutants(mutants);
  AddGeneratorMutants(mutants);
}

}  // namespace reprise::conformance::fake
