// TrainRun: puts the parts of the loop together for a run that is built,
// restored and has entered its folder, and trains it.
//
//   evaluator, loader ahead of training, saver, what the checkpoint announces
//   of the first step  ->  TrainLoop (trainer/train_loop.h)
#ifndef REPRISE_TRAINER_TRAIN_RUN_H_
#define REPRISE_TRAINER_TRAIN_RUN_H_

#include <vector>

#include "format/checkpoint_store.h"
#include "trainer/built_run.h"
#include "trainer/config/config.h"
#include "trainer/metrics/metrics_log.h"
#include "trainer/metrics/progress.h"
#include "trainer/resume_choice.h"
#include "trainer/time_budget.h"
#include "trainer/train_loop.h"
#include "trainer/train_observer.h"

namespace reprise {

// Pointers outlive the call.
struct TrainRunParts {
  const TrainerConfig* config;
  const std::vector<ConfigChange>* changes;
  const ResumeChoice* choice;
  CheckpointStore* store;
  MetricsLog* metrics;
  Progress* progress;
  TrainObserver* observer;
  TimeBudget* budget;  // begun
};

// Marks the evaluation that the run's step owes, where the checkpoint (of
// version 1) does not say itself whether it was done: it is not in the log.
void MarkOwedEvaluation(const TrainerConfig& config, const ResumeChoice& choice,
                        const MetricsLog& metrics, TrainState* state);

// Whether nothing is left to train or to evaluate.
bool NothingToDo(const TrainerConfig& config, const TrainState& state);

// Trains until the run is over, a stop request, or an error.
TrainOutcome TrainRun(const TrainRunParts& parts, BuiltRun* run);

}  // namespace reprise

#endif  // REPRISE_TRAINER_TRAIN_RUN_H_
