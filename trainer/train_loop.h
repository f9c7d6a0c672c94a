// The training loop, in the step order that the specification fixes:
//
//   A x (draw, forward, backward of the scaled loss) -> unscale -> gradient
//   norm -> clip -> apply or skip -> EMA -> scaler update -> schedule ->
//   counters -> BOUNDARY OF STEP n -> evaluate if due -> best, early stop,
//   plateau -> save if due -> signals
//
// Checkpoints are made at boundaries, and between micro-steps, and nowhere
// else.
#ifndef REPRISE_TRAINER_TRAIN_LOOP_H_
#define REPRISE_TRAINER_TRAIN_LOOP_H_

#include <ATen/core/Tensor.h>

#include <optional>

#include "absl/status/status.h"
#include "format/snapshot.h"
#include "reprise/trainer/config/v1/trainer_config.pb.h"
#include "trainer/data/dataset.h"
#include "trainer/data/loader.h"
#include "trainer/evaluator.h"
#include "trainer/metrics/metrics_log.h"
#include "trainer/metrics/progress.h"
#include "trainer/saver.h"
#include "trainer/schedule/schedule.h"
#include "trainer/time_budget.h"
#include "trainer/train_observer.h"
#include "trainer/train_state.h"

namespace reprise {

// How a run of the loop ended.
struct TrainOutcome {
  enum class End {
    kFinished,    // all steps done or stopped early; last checkpoint committed
    kStopped,     // a signal or the time budget asked; the state is committed
    kSaveFailed,  // a checkpoint could not be committed; earlier ones stand
    kFailed,      // training cannot go on (not finite, scale too small)
    kRejected,    // the restored state is not what its checkpoint announces
  };
  End end = End::kFinished;
  absl::Status error;  // for the last three
};

// All pointers outlive the loop. Not thread-safe.
class TrainLoop {
 public:
  struct Parts {
    const trainer::v1::TrainerConfig* config;
    const Dataset* train;
    at::Device device = at::kCPU;
    DataLoader* loader;
    const Schedule* schedule;
    uint64_t attempt = 1;
    Evaluator* evaluator;
    Saver* saver;
    MetricsLog* metrics;
    Progress* progress;
    TrainObserver* observer;
    TimeBudget* budget;
    // What the checkpoint resumed from announces of the first step, and the
    // loss that its step had when it was trained before.
    std::optional<WitnessState> witness;
    std::optional<float> next_loss;
  };

  TrainLoop(Parts parts, TrainState* state);

  // Trains until the run is over, a stop request, or an error.
  TrainOutcome Run();

 private:
  // The run is over: nothing is left to train or to evaluate.
  bool Finished() const;
  bool SaveDue() const;
  bool AtBoundary() const { return state_.accumulation.count == 0; }

  // Draws one batch and adds its gradients, still scaled, to those there are.
  absl::Status MicroStep();
  // Makes a step of the gradients: from unscaling to the counters.
  absl::Status FinishStep();
  absl::Status Evaluate();
  absl::Status CheckRestored(float loss);
  void ApplySchedule();
  void At(StepPoint point) {
    parts_.observer->At(point, state_.attempted + 1, &state_);
  }

  Parts parts_;
  const at::ScalarType autocast_dtype_;
  TrainState& state_;
  bool first_ = true;  // nothing was trained in this process yet
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_TRAIN_LOOP_H_
