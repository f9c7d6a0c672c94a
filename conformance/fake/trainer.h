// FakeTrainer: a training run without a framework, in milliseconds, in the step
// order that every trainer here keeps.
//
//   FakeTrainer trainer(bed, MakeParts(bed), store.get(), &sink);
//   ExitCode code = trainer.Run(request.resume());
//
// The loop knows nothing of faults: it calls its Parts and its Store, and tells
// its Observers where it is. Not thread-safe, but RequestStop may be called
// from a signal handler.
#ifndef REPRISE_CONFORMANCE_FAKE_TRAINER_H_
#define REPRISE_CONFORMANCE_FAKE_TRAINER_H_

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "conformance/fake/bed.h"
#include "conformance/fake/parts.h"
#include "conformance/fake/store.h"
#include "conformance/protocol/messages.h"
#include "format/vocabulary.h"

namespace reprise::conformance::fake {

// Where events go.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void Write(const Event& event) = 0;
};

// Features, channels and digests of the fake trainer.
Description DescribeFake();

class FakeTrainer : private SaveWatch {
 public:
  // `store` and `sink` must outlive the trainer.
  FakeTrainer(const Bed& bed, Parts parts, Store* store, EventSink* sink);

  // The whole attempt, from loading to the EndEvent. The message of a failure
  // is in error().
  ExitCode Run(RunRequest::Resume resume);
  const std::string& error() const { return error_; }

  // Save at the next boundary (or between micro-steps) and end with
  // EXIT_STOPPED_ON_REQUEST. Async-signal-safe.
  static void RequestStop();

 private:
  absl::Status Begin(RunRequest::Resume resume);
  absl::Status CheckConfig() const;
  // One attempted step from where accumulation stands. False: stopped between
  // two micro-steps.
  absl::StatusOr<bool> Step();
  void MicroStep(uint64_t step);
  void Update(uint64_t step);
  void UpdateEma();
  void Record(const State& before, const std::vector<double>& rates,
              double grad_norm, bool found_inf);
  // Evaluates, and ends with a pending mark when a stop request interrupts.
  void Evaluate();
  bool EvaluationDue() const;
  absl::Status Save();
  ExitCode Stop();
  void Tell(v1::Point point, uint64_t step, uint32_t micro);
  void WriteState(v1::StateEvent::Moment moment);
  void Note(const std::string& text);
  ExitCode Fail(ExitCode code, const absl::Status& status);

  // SaveWatch.
  void At(v1::Point point, const State& state) override;
  void Durable(const std::string& checkpoint, const State& state) override;

  const Bed bed_;
  Parts parts_;
  Store* const store_;
  EventSink* const sink_;
  State state_;
  bool forward_seen_ = false;
  // Step and micro-step of the newest save, so that a stop does not repeat it.
  std::string saved_;
  std::string error_;
};

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_TRAINER_H_
