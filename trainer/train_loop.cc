#include "trainer/train_loop.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/amp/autocast.h"
#include "trainer/checkpoint/witness.h"
#include "trainer/data/augment.h"
#include "trainer/data/host_batch.h"
#include "trainer/data/sampler.h"
#include "trainer/data/tensors.h"
#include "trainer/model/loss.h"
#include "trainer/optim/clip.h"

namespace reprise {
namespace {

// Samples of one evaluation pass; a stop request waits for one at most.
constexpr int64_t kEvaluationBatch = 1000;
constexpr int64_t kTextEvaluationBatch = 64;

DataLoader::Options LoaderOptions(const trainer::v1::TrainerConfig& config) {
  DataLoader::Options options;
  options.workers = config.data().workers();
  options.prefetch = config.data().prefetch();
  options.seed = config.run().seed();
  if (config.data().augment()) options.augment = Augment::kShift2FlipV1;
  return options;
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
      loader_(parts_.train, *state->sampler, LoaderOptions(*parts_.config)),
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

absl::Status TrainLoop::Step() {
  const trainer::v1::TrainerConfig& config = *parts_.config;
  Optimizer& optimizer = *state_.optimizer;
  // The parameters, or the masters of those that are kept in half precision.
  const std::vector<at::Tensor> parameters =
      optimizer.StepTensors(state_.model->Parameters());
  StepEvent event;
  event.attempt = parts_.run.attempt;

  // Draw.
  At(StepPoint::kBeforeDraw);
  const auto batch = loader_.Get(*state_.sampler);
  const BatchTensors tensors = ToTensors(*batch, *parts_.train, parts_.device);
  event.ids = SampleIdDigest(batch->order.sample_ids);
  event.epoch = batch->order.epoch;
  event.batch = batch->order.index;
  At(StepPoint::kAfterDraw);

  // Forward in mixed precision, backward of the scaled loss, unscale.
  optimizer.ZeroGrad();
  at::Tensor loss;
  {
    const amp::Autocast autocast(parts_.device.type(), autocast_dtype_);
    loss = MeanLoss(state_.model->Forward(tensors.input), tensors.labels);
  }
  if (state_.scaler != nullptr) {
    event.scale = state_.scaler->scale();
    state_.scaler->Scale(loss).backward();
  } else {
    loss.backward();
  }
  optimizer.GatherGradients();
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
      if (state_.clip->kind == ClipState::Kind::kNorm) {
        ClipGradients(parameters, norm, state_.clip->limit);
      } else {
        ClipGradientsByValue(parameters, state_.clip->limit);
      }
    }
    optimizer.Step();
  }
  At(StepPoint::kAfterUpdate);

  // Scaler, schedule, counters.
  if (state_.scaler != nullptr) state_.scaler->Update();
  At(StepPoint::kAfterScaler);
  Sampler after = *state_.sampler;
  after.Advance();
  state_.schedule_position = parts_.schedule.PositionOf(
      {state_.applied + !event.skipped, state_.attempted + 1, after.cursor(),
       after.epoch()});
  ApplySchedule();
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
  const int64_t batch_size =
      test.is_text() ? kTextEvaluationBatch : kEvaluationBatch;
  double loss_sum = 0;
  int64_t right = 0, predictions = 0;
  bool stopped = false;
  for (int64_t begin = 0; begin < test.size && !stopped; begin += batch_size) {
    Batch order;
    order.sample_ids.resize(std::min(batch_size, test.size - begin));
    order.in_epoch = order.sample_ids.size();
    std::iota(order.sample_ids.begin(), order.sample_ids.end(), begin);
    HostBatch batch;
    FillHostBatch(test, std::move(order), /*seed=*/0, Augment::kNone, &batch);
    const BatchTensors tensors = ToTensors(batch, test, parts_.device);
    const amp::Autocast autocast(parts_.device.type(), autocast_dtype_);
    const at::Tensor logits = state_.model->Forward(tensors.input);
    loss_sum += MeanLoss(logits, tensors.labels).item<float>() *
                static_cast<double>(tensors.labels.numel());
    right += CountRight(logits, tensors.labels);
    predictions += tensors.labels.numel();
    parts_.observer->At(StepPoint::kInEvaluation, state_.attempted, &state_);
    stopped = StopRequest::Requested();
  }
  state_.model->SetTraining(true);
  if (stopped) return std::nullopt;

  EvaluationEvent event;
  event.attempt = parts_.run.attempt;
  event.step = state_.attempted;
  event.samples = test.size;
  event.loss = loss_sum / predictions;
  event.accuracy = static_cast<double>(right) / predictions;
  state_.evaluation.last = EvaluationState::Result{
      event.step, {{"accuracy", event.accuracy}, {"loss", event.loss}}};
  if (!state_.best.has_value() || event.accuracy > state_.best->value) {
    state_.best = BestState{"accuracy", /*higher_is_better=*/true,
                            event.accuracy, event.step};
  }
  if (state_.schedule_state.has_value()) {
    state_.schedule_state = parts_.schedule.AfterEvaluation(
        *state_.schedule_state, parts_.config->schedule().metric() == "loss"
                                    ? event.loss
                                    : event.accuracy);
    ApplySchedule();
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

void TrainLoop::ApplySchedule() {
  const uint64_t position = state_.schedule_position;
  state_.optimizer->ApplySchedule(
      parts_.schedule.Fraction(position, state_.schedule_state),
      parts_.schedule.Momentum(position));
}

bool TrainLoop::EvaluationDue() const {
  return state_.attempted % parts_.config->run().eval_every() == 0 ||
         state_.attempted == parts_.config->run().steps();
}

}  // namespace reprise
