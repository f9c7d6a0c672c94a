// The training loop, in the step order that the specification fixes:
//
//   draw, forward, backward of the scaled loss -> unscale -> gradient norm ->
//   clip -> apply or skip -> scaler update -> schedule -> counters ->
//   BOUNDARY OF STEP n -> evaluate if due -> save if due -> signals
//
// Checkpoints are made at boundaries and nowhere else.
#ifndef REPRISE_TRAINER_TRAIN_LOOP_H_
#define REPRISE_TRAINER_TRAIN_LOOP_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/checkpoint_store.h"
#include "reprise/trainer/config/v1/trainer_config.pb.h"
#include "trainer/checkpoint/train_state_codec.h"
#include "trainer/data/dataset.h"
#include "trainer/data/loader.h"
#include "trainer/metrics/metrics_log.h"
#include "trainer/metrics/progress.h"
#include "trainer/schedule/schedule.h"
#include "trainer/signals/stop_request.h"
#include "trainer/train_observer.h"
#include "trainer/train_state.h"

namespace reprise {

// What autocast computes in; kFloat: no autocast.
at::ScalarType AutocastDType(const trainer::v1::PrecisionConfig& precision);

// How a run of the loop ended.
struct TrainOutcome {
  enum class End {
    kFinished,    // all steps done, last checkpoint committed
    kStopped,     // a signal asked; the state is committed
    kSaveFailed,  // a checkpoint could not be committed; earlier ones stand
    kFailed,      // training cannot go on (non-finite loss, scale too small)
    kRejected,    // the restored state is not what its checkpoint announces
  };
  End end = End::kFinished;
  absl::Status error;  // for the last three
  // Of the last complete evaluation, if there was one: fraction in [0, 1].
  std::optional<double> accuracy;
};

// All pointers outlive the loop. Not thread-safe.
class TrainLoop {
 public:
  struct Parts {
    const trainer::v1::TrainerConfig* config;
    const Dataset* train;
    const Dataset* test;
    at::Device device = at::kCPU;
    Schedule schedule;
    RunInfo run;
    CheckpointStore* store;
    MetricsLog* metrics;
    Progress* progress;
    TrainObserver* observer;
    // What the checkpoint resumed from announces of the first step.
    std::optional<WitnessState> witness = std::nullopt;
    // The step that the run folder's checkpoint already holds, after a resume.
    std::optional<uint64_t> saved_step = std::nullopt;
  };

  TrainLoop(Parts parts, TrainState* state);

  // Trains until the configured number of attempted steps, a stop request or
  // an error.
  TrainOutcome Run();

 private:
  // One attempted step, from drawing the batch to the counters.
  absl::Status Step();
  // Evaluates on the test set and logs it; nullopt when a stop request came.
  absl::StatusOr<std::optional<double>> Evaluate();
  absl::Status Save();
  // Puts the rate and the momentum of the schedule's position in force.
  void ApplySchedule();
  bool EvaluationDue() const;
  // Tells the observer that the step in progress stands at `point`.
  void At(StepPoint point) {
    parts_.observer->At(point, state_.attempted + 1, &state_);
  }

  const Parts parts_;
  const at::ScalarType autocast_dtype_;
  TrainState& state_;
  DataLoader loader_;
  std::optional<uint64_t> saved_step_;
  std::optional<WitnessState> witness_;
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_TRAIN_LOOP_H_
