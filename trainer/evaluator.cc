#include "trainer/evaluator.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/eq.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "trainer/amp/autocast.h"
#include "trainer/batch_input.h"
#include "trainer/signals/stop_request.h"

namespace reprise {
namespace {

// Samples of one pass through the model; a stop request waits for one at most.
constexpr int64_t kEvaluationBatch = 1000;

// Puts the averages in the place of the weights for the scope. The weights are
// set aside and copied back, so that they are the same bits afterwards.
class AverageInPlace {
 public:
  explicit AverageInPlace(TrainState* state) : state_(state) {
    const at::NoGradGuard no_grad;
    const std::vector<NamedTensor> weights = state_->model->Parameters();
    const std::vector<NamedTensor>& averages = state_->ema->averages();
    for (size_t i = 0; i < weights.size(); ++i) {
      aside_.push_back(weights[i].tensor.detach().clone());
      weights[i].tensor.detach().copy_(averages[i].tensor);
    }
  }
  ~AverageInPlace() {
    const at::NoGradGuard no_grad;
    const std::vector<NamedTensor> weights = state_->model->Parameters();
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i].tensor.detach().copy_(aside_[i]);
    }
  }
  AverageInPlace(const AverageInPlace&) = delete;
  AverageInPlace& operator=(const AverageInPlace&) = delete;

 private:
  TrainState* const state_;
  std::vector<at::Tensor> aside_;
};

}  // namespace

absl::StatusOr<std::optional<EvaluationEvent>> Evaluator::Evaluate(
    TrainState* state) {
  const at::NoGradGuard no_grad;
  state->model->SetTraining(false);
  const std::optional<Result> raw = Pass(state);
  std::optional<Result> average;
  if (raw.has_value() && state->ema != nullptr) {
    const AverageInPlace in_place(state);
    average = Pass(state);
  }
  state->model->SetTraining(true);
  if (!raw.has_value() || (state->ema != nullptr && !average.has_value())) {
    return std::nullopt;
  }
  EvaluationEvent event;
  event.step = state->attempted;
  event.samples = test_->size;
  event.loss = raw->loss;
  event.accuracy = raw->accuracy;
  if (average.has_value()) {
    event.ema_loss = average->loss;
    event.ema_accuracy = average->accuracy;
  }
  return event;
}

std::optional<Evaluator::Result> Evaluator::Pass(TrainState* state) {
  double loss_sum = 0;
  int64_t correct = 0;
  for (int64_t begin = 0; begin < test_->size; begin += kEvaluationBatch) {
    std::vector<uint64_t> ids(std::min(kEvaluationBatch, test_->size - begin));
    std::iota(ids.begin(), ids.end(), begin);
    const Input input =
        MakeInput(*test_, ids, /*epoch=*/0, /*seed=*/0, Augment::kNone, device_);
    const amp::Autocast autocast(device_.type(), autocast_);
    const at::Tensor logits = state->model->Forward(input.images);
    loss_sum += at::cross_entropy_loss(logits, input.labels).item<float>() *
                static_cast<double>(ids.size());
    correct +=
        at::eq(at::argmax(logits, 1), input.labels).sum().item<int64_t>();
    observer_->At(StepPoint::kInEvaluation, state->attempted, state);
    if (StopRequest::Requested()) return std::nullopt;
  }
  return Result{loss_sum / test_->size,
                static_cast<double>(correct) / test_->size};
}

}  // namespace reprise
