// Watches a run from outside the loop: what a conformance adapter, a profiler
// or a test hangs itself into. Training never depends on an observer.
#ifndef REPRISE_TRAINER_TRAIN_OBSERVER_H_
#define REPRISE_TRAINER_TRAIN_OBSERVER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "format/checkpoint_store.h"
#include "format/snapshot.h"
#include "trainer/metrics/event.h"
#include "trainer/train_state.h"

namespace reprise {

// Places in the order of a step (p0 to p6 of the conformance protocol), and
// inside an evaluation.
enum class StepPoint {
  kBeforeDraw,
  kAfterDraw,
  kAfterBackward,
  kAfterUpdate,
  kAfterScaler,
  kAfterSchedule,
  kBoundary,
  kInEvaluation,
};

// Every function does nothing unless overridden. Called on the training thread;
// a save that is written behind may have the store's thread at work meanwhile.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;

  // The state is built and, where `from` is given, restored from it; attempt
  // and run id are those of `run`.
  virtual void OnStart(const Snapshot& state, const LoadedCheckpoint* from) {}
  // A resumed or fresh process is about to do its first forward pass; the batch
  // is drawn and nothing is left to restore.
  virtual void OnFirstForward(const Snapshot& state) {}
  // The run stands at `point` of attempted step `step` (from 1; in an
  // evaluation: the step it belongs to). The first three points come in every
  // micro-step; state->accumulation.count says in which.
  virtual void At(StepPoint point, uint64_t step, TrainState* state) {}
  virtual void OnStep(const StepEvent& event) {}
  virtual void OnEvaluation(const EvaluationEvent& event) {}
  // A checkpoint of `state` is about to be written.
  virtual void OnSaveBegin(const Snapshot& state) {}
  // The one of `step` and `micro` is durable, under this manifest digest, or it
  // failed. Of a save that is written behind, some turns of the loop later.
  virtual void OnSaveEnd(uint64_t step, uint32_t micro,
                         const absl::StatusOr<std::string>& digest) {}
  // The loop has ended by itself after `attempted` steps.
  virtual void OnEnd(uint64_t attempted, bool finished) {}
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_TRAIN_OBSERVER_H_
