// TesteeObserver: tells a conformance harness what the trainer does, and holds
// it where the request says.
#ifndef REPRISE_TRAINER_TESTEE_TESTEE_OBSERVER_H_
#define REPRISE_TRAINER_TESTEE_TESTEE_OBSERVER_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "conformance/protocol/event_log.h"
#include "reprise/conformance/proto/v1/protocol.pb.h"
#include "trainer/train_observer.h"

namespace reprise {

// Events are written in the order in which things happen. Ends the process with
// exit code 12 when the events file cannot be written: a testee that is not
// heard is none.
class TesteeObserver : public TrainObserver {
 public:
  TesteeObserver(conformance::RunRequest request,
                 std::unique_ptr<conformance::EventWriter> events);

  void OnStart(const Snapshot& state, const LoadedCheckpoint* from) override;
  void OnFirstForward(const Snapshot& state) override;
  void At(StepPoint point, uint64_t step, TrainState* state) override;
  void OnStep(const StepEvent& event) override;
  void OnEvaluation(const EvaluationEvent& event) override;
  void OnSaveBegin(const Snapshot& state) override;
  void OnSaveEnd(uint64_t step, uint32_t micro,
                 const absl::StatusOr<std::string>& digest) override;
  void OnEnd(uint64_t attempted, bool finished) override;

  // Blocks for ever when the request holds `point` of the save or load that is
  // going on. From any thread; all others then block at their next event.
  void ReachedInStore(conformance::v1::Point point);

 private:
  // Where a run or a save stands.
  struct Place {
    uint64_t step = 0;
    uint32_t micro = 0;
  };
  void Reached(conformance::v1::Point point, const Place& place);
  void Write(const conformance::Event& event);
  void WriteState(conformance::v1::StateEvent::Moment moment,
                  const Snapshot& state);
  // Digest of the manifest, in hex; "" when none is marked.
  std::string BestInRunFolder() const;
  void InjectOverflow(TrainState* state) const;
  void RememberParameters(const TrainState& state);
  void MeasureUpdate(const TrainState& state);

  const conformance::RunRequest request_;
  std::recursive_mutex mutex_;  // of the events file
  const std::unique_ptr<conformance::EventWriter> events_;
  // Attempted step in progress, from 1.
  uint64_t step_ = 0;
  // The save in progress; changed only while none is.
  Place saving_;
  std::string newest_;
  // Of the step in progress.
  conformance::v1::StepEvent extra_;
  std::vector<at::Tensor> before_update_;
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_TESTEE_TESTEE_OBSERVER_H_
