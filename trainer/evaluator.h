// Evaluates the weights, and their average where one is kept, on the test set.
#ifndef REPRISE_TRAINER_EVALUATOR_H_
#define REPRISE_TRAINER_EVALUATOR_H_

#include <ATen/core/Tensor.h>

#include <optional>

#include "absl/status/statusor.h"
#include "trainer/data/dataset.h"
#include "trainer/metrics/event.h"
#include "trainer/train_observer.h"
#include "trainer/train_state.h"

namespace reprise {

// Pointers outlive it. Not thread-safe.
class Evaluator {
 public:
  Evaluator(const Dataset* test, at::Device device, at::ScalarType autocast,
            TrainObserver* observer)
      : test_(test),
        device_(device),
        autocast_(autocast),
        observer_(observer) {}

  // The result at the state's boundary; nullopt when a stop request came in
  // between. In either case the model holds its own weights again, to the bit,
  // and is in training mode; nothing is drawn from a generator.
  absl::StatusOr<std::optional<EvaluationEvent>> Evaluate(TrainState* state);

 private:
  struct Result {
    double loss = 0;      // mean over the samples
    double accuracy = 0;  // fraction in [0, 1]
  };
  std::optional<Result> Pass(TrainState* state);

  const Dataset* const test_;
  const at::Device device_;
  const at::ScalarType autocast_;
  TrainObserver* const observer_;
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_EVALUATOR_H_
