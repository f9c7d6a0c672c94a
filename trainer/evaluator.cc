#include "trainer/evaluator.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "trainer/amp/autocast.h"
#include "trainer/data/host_batch.h"
#include "trainer/data/tensors.h"
#include "trainer/model/loss.h"
#include "trainer/signals/stop_request.h"

namespace reprise {
namespace {

// Samples of one pass through the model; a stop request waits for one at most.
constexpr int64_t kEvaluationBatch = 1000;
constexpr int64_t kTextEvaluationBatch = 64;

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
  const int64_t batch_size =
      test_->is_text() ? kTextEvaluationBatch : kEvaluationBatch;
  double loss_sum = 0;
  int64_t right = 0, predictions = 0;
  for (int64_t begin = 0; begin < test_->size; begin += batch_size) {
    Batch order;
    order.sample_ids.resize(std::min(batch_size, test_->size - begin));
    order.in_epoch = order.sample_ids.size();
    std::iota(order.sample_ids.begin(), order.sample_ids.end(), begin);
    HostBatch batch;
    FillHostBatch(*test_, std::move(order), /*seed=*/0, Augment::kNone, &batch);
    const BatchTensors tensors = ToTensors(batch, *test_, device_);
    const amp::Autocast autocast(device_.type(), autocast_);
    const at::Tensor logits = state->model->Forward(tensors.input);
    loss_sum += MeanLoss(logits, tensors.labels).item<float>() *
                static_cast<double>(tensors.labels.numel());
    right += CountRight(logits, tensors.labels);
    predictions += tensors.labels.numel();
    observer_->At(StepPoint::kInEvaluation, state->attempted, state);
    if (StopRequest::Requested()) return std::nullopt;
  }
  return Result{loss_sum / predictions,
                static_cast<double>(right) / predictions};
}

}  // namespace reprise
