#include "trainer/train_run.h"

#include <optional>
#include <string>

#include "format/run_layout.h"
#include "trainer/checkpoint/next_loss.h"
#include "trainer/cuda/pinned_copier.h"
#include "trainer/data/augment.h"
#include "trainer/data/loader.h"
#include "trainer/evaluator.h"
#include "trainer/saver.h"
#include "trainer/selection.h"

namespace reprise {
namespace {

DataLoader::Options Ahead(const TrainerConfig& config) {
  DataLoader::Options ahead;
  ahead.workers = config.data().workers();
  ahead.prefetch = config.data().prefetch();
  ahead.seed = config.run().seed();
  if (config.data().augment()) ahead.augment = Augment::kShift2FlipV1;
  return ahead;
}

Saver::Parts SavingParts(const TrainRunParts& parts, const BuiltRun& run) {
  Saver::Parts saving{&parts.config->save(),
                      &run.schedule,
                      run.info,
                      parts.store,
                      parts.metrics,
                      parts.progress,
                      parts.observer,
                      parts.budget,
                      std::nullopt,
                      ""};
  saving.copier = cuda::PinnedCopierFor(
      run.device,
      [&parts](absl::string_view why) { parts.progress->Print(why); });
  const ResumeChoice& choice = *parts.choice;
  if (choice.from.has_value() && choice.in_run_folder) {
    const Snapshot& snapshot = choice.from->snapshot;
    saving.resumed_from = PositionOf(snapshot.step, snapshot.micro_step());
    saving.resumed_digest = choice.from->manifest_digest;
  }
  return saving;
}

// What the checkpoint announces of the first step that this process trains.
std::optional<WitnessState> Announced(const TrainRunParts& parts,
                                      const TrainState& state) {
  if (!parts.choice->from.has_value()) return std::nullopt;
  std::optional<WitnessState> witness = parts.choice->from->snapshot.witness;
  // A rate that the person changed, or that the evaluation which comes first
  // may change, is another than announced.
  if (witness.has_value() &&
      (!parts.changes->empty() ||
       (state.evaluation.pending && state.schedule_state.has_value()))) {
    witness->next_lr.clear();
  }
  return witness;
}

// The loss that the first step had when it was trained before, where it must be
// the same to the bit.
std::optional<float> LossBefore(const TrainRunParts& parts,
                                const BuiltRun& run) {
  const ResumeChoice& choice = *parts.choice;
  if (!choice.from.has_value() || !choice.in_run_folder ||
      run.info.environment.level != ResumeLevel::BITWISE ||
      !parts.changes->empty()) {
    return std::nullopt;
  }
  const Snapshot& snapshot = choice.from->snapshot;
  return ReadNextLoss(parts.store->run_folder(),
                      CheckpointName(snapshot.step, snapshot.micro_step()),
                      choice.from->manifest_digest);
}

}  // namespace

void MarkOwedEvaluation(const TrainerConfig& config, const ResumeChoice& choice,
                        const MetricsLog& metrics, TrainState* state) {
  if (!choice.from.has_value() ||
      choice.from->snapshot.evaluation.has_value()) {
    return;
  }
  const uint64_t step = state->attempted;
  const bool due = step > 0 && (step % config.run().eval_every() == 0 ||
                                step == config.run().steps());
  state->evaluation.pending = due && metrics.last_evaluated_step() != step;
}

bool NothingToDo(const TrainerConfig& config, const TrainState& state) {
  return !state.evaluation.pending && state.accumulation.count == 0 &&
         (state.attempted >= config.run().steps() || StopsEarly(state));
}

TrainOutcome TrainRun(const TrainRunParts& parts, BuiltRun* run) {
  const TrainerConfig& config = *parts.config;
  Evaluator evaluator(&run->test, run->device,
                      AutocastDType(config.precision()), parts.observer);
  DataLoader loader(&run->train, *run->state.sampler, Ahead(config));
  Saver saver(SavingParts(parts, *run));
  const TrainLoop::Parts loop{parts.config,
                              &run->train,
                              run->device,
                              &loader,
                              &run->schedule,
                              run->info.attempt,
                              &evaluator,
                              &saver,
                              parts.metrics,
                              parts.progress,
                              parts.observer,
                              parts.budget,
                              Announced(parts, run->state),
                              LossBefore(parts, *run)};
  return TrainLoop(loop, &run->state).Run();
}

}  // namespace reprise
