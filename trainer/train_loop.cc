#include "trainer/train_loop.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eq.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/amp/autocast.h"
#include "trainer/checkpoint/witness.h"
#include "trainer/data/augment.h"
#include "trainer/data/sampler.h"
#include "trainer/optim/clip.h"

namespace reprise {
namespace {

// Samples of one evaluation pass; a stop request waits for one at most.
constexpr int64_t kEvaluationBatch = 1000;

std::vector<at::Tensor> Tensors(const std::vector<NamedTensor>& named) {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& n : named) tensors.push_back(n.tensor);
  return tensors;
}

// An UNAVAILABLE error is the metrics log's: the file could not be written.
TrainOutcome Failed(const absl::Status& status) {
  using End = TrainOutcome::End;
  return {absl::IsUnavailable(status) ? End::kSaveFailed : End::kFailed, status,
          std::nullopt};
}

}  // namespace

at::ScalarType AutocastDType(const trainer::v1::PrecisionConfig& precision) {
  if (precision.mode() == "fp16") return at::kHalf;
  if (precision.mode() == "bf16") return at::kBFloat16;
  return at::kFloat;
}

TrainLoop::TrainLoop(Parts parts, TrainState* state)
    : parts_(std::move(parts)),
      autocast_dtype_(AutocastDType(parts_.config->precision())),
      state_(*state),
      saved_step_(parts_.saved_step),
      witness_(parts_.witness) {}

TrainOutcome TrainLoop::Run() {
  using End = TrainOutcome::End;
  TrainOutcome outcome;
  bool& evaluation_pending = state_.evaluation.pending;
  while (true) {
    // The boundary of step `attempted`.
    if (evaluation_pending) {
      auto accuracy = Evaluate();
      if (!accuracy.ok()) return Failed(accuracy.status());
      outcome.accuracy = *accuracy;
      evaluation_pending = !accuracy->has_value();
    }
    // An evaluation that a stop request cut short is still owed.
    const bool finished =
        !evaluation_pending && state_.attempted >= parts_.config->run().steps();
    const bool stopped = StopRequest::Requested();
    const bool due = state_.attempted > 0 &&
                     state_.attempted % parts_.config->run().save_every() == 0;
    if (due || finished || stopped) {
      if (absl::Status s = Save(); !s.ok())
        return {End::kSaveFailed, s, std::nullopt};
    }
    if (finished || stopped) {
      parts_.observer->OnEnd(state_.attempted, finished);
      outcome.end = finished ? End::kFinished : End::kStopped;
      return outcome;
    }

    if (witness_.has_value()) {
      // Before the first step of a resumed run.
      if (absl::Status s = CheckWitness(*witness_, state_); !s.ok()) {
        return {End::kRejected, s, std::nullopt};
      }
      witness_.reset();
    }
    if (absl::Status s = Step(); !s.ok()) return Failed(s);
    evaluation_pending = EvaluationDue();
  }
}

TrainLoop::Input TrainLoop::MakeInput(const Dataset& dataset,
                                      const std::vector<uint64_t>& ids,
                                      uint64_t epoch, Augment augment) {
  const int64_t n = ids.size();
  at::Tensor images = at::empty(
      {n, dataset.channels, dataset.height, dataset.width}, at::kFloat);
  at::Tensor labels = at::empty({n}, at::kLong);
  FillBatch(dataset, ids, epoch, parts_.config->run().seed(), augment,
            images.mutable_data_ptr<float>(),
            labels.mutable_data_ptr<int64_t>());
  return {images.to(parts_.device), labels.to(parts_.device)};
}

absl::Status TrainLoop::Step() {
  const trainer::v1::TrainerConfig& config = *parts_.config;
  Optimizer& optimizer = *state_.optimizer;
  const std::vector<at::Tensor> parameters =
      Tensors(state_.model->Parameters());
  StepEvent event;
  event.attempt = parts_.run.attempt;

  // Draw.
  At(StepPoint::kBeforeDraw);
  const Batch batch = state_.sampler->NextBatch();
  const Input input = MakeInput(
      *parts_.train, batch.sample_ids, batch.epoch,
      config.data().augment() ? Augment::kShift2FlipV1 : Augment::kNone);
  event.ids = SampleIdDigest(batch.sample_ids);
  event.epoch = batch.epoch;
  event.batch = batch.index;
  At(StepPoint::kAfterDraw);

  // Forward in mixed precision, backward of the scaled loss, unscale.
  optimizer.ZeroGrad();
  at::Tensor loss;
  {
    const amp::Autocast autocast(parts_.device.type(), autocast_dtype_);
    loss = at::cross_entropy_loss(state_.model->Forward(input.images),
                                  input.labels);
  }
  if (state_.scaler != nullptr) {
    event.scale = state_.scaler->scale();
    state_.scaler->Scale(loss).backward();
  } else {
    loss.backward();
  }
  At(StepPoint::kAfterBackward);
  if (state_.scaler != nullptr) {
    if (auto s = state_.scaler->Unscale(parameters); !s.ok()) return s;
    event.skipped = state_.scaler->found_inf();
  }
  event.loss = loss.item<float>();
  if (state_.scaler == nullptr && !std::isfinite(event.loss)) {
    return absl::InternalError(absl::StrCat(
        "loss of step ", state_.attempted + 1, ": expected a finite number, ",
        "found ", event.loss, "; the last checkpoint is from before it. Lower ",
        "optimizer.lr or raise the precision"));
  }

  // Gradient norm, clip, apply or skip.
  const at::Tensor norm = GradientNorm(parameters);
  event.gradient_norm = norm.item<float>();
  for (const Optimizer::Group& group : optimizer.groups()) {
    event.lr.push_back(group.lr);
  }
  if (!event.skipped) {
    if (state_.clip.has_value()) {
      ClipGradients(parameters, norm, state_.clip->limit);
    }
    optimizer.Step();
  }
  At(StepPoint::kAfterUpdate);

  // Scaler, schedule (over applied steps), counters.
  if (state_.scaler != nullptr) state_.scaler->Update();
  At(StepPoint::kAfterScaler);
  if (!event.skipped) ++state_.schedule_position;
  for (Optimizer::Group& group : optimizer.groups()) {
    group.lr =
        group.base_lr * parts_.schedule.Fraction(state_.schedule_position);
  }
  At(StepPoint::kAfterSchedule);
  ++state_.attempted;
  state_.applied += !event.skipped;
  state_.skipped += event.skipped;
  state_.sampler->Advance();

  event.step = state_.attempted;
  event.applied = state_.applied;
  event.samples = state_.sampler->cursor();
  if (auto s = parts_.metrics->Append(event); !s.ok()) return s;
  parts_.progress->Step(event);
  parts_.observer->OnStep(event);
  parts_.observer->At(StepPoint::kBoundary, state_.attempted, &state_);
  if (state_.scaler != nullptr && state_.scaler->BelowMinimum()) {
    return absl::InternalError(absl::StrCat(
        "scaler.scale fell to ", state_.scaler->scale(), " after step ",
        state_.attempted,
        ", below precision.min_scale = ", config.precision().min_scale(),
        ": every gradient overflows. Lower optimizer.lr or use bf16"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<double>> TrainLoop::Evaluate() {
  const at::NoGradGuard no_grad;
  const Dataset& test = *parts_.test;
  state_.model->SetTraining(false);
  double loss_sum = 0;
  int64_t correct = 0;
  bool stopped = false;
  for (int64_t begin = 0; begin < test.size && !stopped;
       begin += kEvaluationBatch) {
    std::vector<uint64_t> ids(std::min(kEvaluationBatch, test.size - begin));
    std::iota(ids.begin(), ids.end(), begin);
    const Input input = MakeInput(test, ids, /*epoch=*/0, Augment::kNone);
    const amp::Autocast autocast(parts_.device.type(), autocast_dtype_);
    const at::Tensor logits = state_.model->Forward(input.images);
    loss_sum += at::cross_entropy_loss(logits, input.labels).item<float>() *
                static_cast<double>(ids.size());
    correct +=
        at::eq(at::argmax(logits, 1), input.labels).sum().item<int64_t>();
    parts_.observer->At(StepPoint::kInEvaluation, state_.attempted, &state_);
    stopped = StopRequest::Requested();
  }
  state_.model->SetTraining(true);
  if (stopped) return std::nullopt;

  EvaluationEvent event;
  event.attempt = parts_.run.attempt;
  event.step = state_.attempted;
  event.samples = test.size;
  event.loss = loss_sum / test.size;
  event.accuracy = static_cast<double>(correct) / test.size;
  state_.evaluation.last = EvaluationState::Result{
      event.step, {{"accuracy", event.accuracy}, {"loss", event.loss}}};
  if (!state_.best.has_value() || event.accuracy > state_.best->value) {
    state_.best = BestState{"accuracy", /*higher_is_better=*/true,
                            event.accuracy, event.step};
  }
  // One that was repeated because a stop came after it is in the log already.
  if (parts_.metrics->last_evaluated_step() != event.step) {
    if (auto s = parts_.metrics->Append(event); !s.ok()) return s;
  }
  parts_.progress->Evaluation(event);
  parts_.observer->OnEvaluation(event);
  return event.accuracy;
}

absl::Status TrainLoop::Save() {
  // Already in the run folder: the step resumed from, or a stop request at a
  // boundary that was due anyway.
  if (saved_step_ == state_.attempted) return absl::OkStatus();
  // The log first: a committed step is in it even after a power cut.
  if (auto s = parts_.metrics->Sync(); !s.ok()) return s;
  const Snapshot snapshot = CaptureState(state_, parts_.schedule, parts_.run);
  parts_.observer->OnSaveBegin(snapshot);
  const auto digest = parts_.store->Save(snapshot);
  parts_.observer->OnSaveEnd(snapshot, digest);
  if (!digest.ok()) return digest.status();
  saved_step_ = state_.attempted;
  parts_.progress->Print(absl::StrCat("Saved step ", state_.attempted));
  auto removed = parts_.store->Prune();
  for (const std::string& notice : parts_.store->TakeNotices()) {
    parts_.progress->Print(notice);
  }
  return removed.status();
}

bool TrainLoop::EvaluationDue() const {
  return state_.attempted % parts_.config->run().eval_every() == 0 ||
         state_.attempted == parts_.config->run().steps();
}

}  // namespace reprise
