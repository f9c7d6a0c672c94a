#include "trainer/train_loop.h"

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "trainer/amp/autocast.h"
#include "trainer/checkpoint/witness.h"
#include "trainer/data/tensors.h"
#include "trainer/model/loss.h"
#include "trainer/optim/clip.h"
#include "trainer/selection.h"
#include "trainer/signals/stop_request.h"
#include "trainer/step_so_far.h"

namespace reprise {
namespace {

using End = TrainOutcome::End;

// An UNAVAILABLE error is the metrics log's: the file could not be written.
TrainOutcome Failed(const absl::Status& status) {
  if (RefusalOf(status) == Refusal::MISMATCH) return {End::kRejected, status};
  return {absl::IsUnavailable(status) ? End::kSaveFailed : End::kFailed,
          status};
}

void Clip(const std::vector<at::Tensor>& parameters, const at::Tensor& norm,
          const ClipState& clip) {
  if (clip.kind == ClipState::Kind::kNorm) {
    ClipGradients(parameters, norm, clip.limit);
  } else {
    ClipGradientsByValue(parameters, clip.limit);
  }
}

}  // namespace

TrainLoop::TrainLoop(Parts parts, TrainState* state)
    : parts_(std::move(parts)),
      autocast_dtype_(AutocastDType(parts_.config->precision())),
      state_(*state) {}

TrainOutcome TrainLoop::Run() {
  while (true) {
    // Between two micro-steps; where no micro-step is done, the boundary of
    // step `attempted`.
    if (state_.evaluation.pending) {
      if (auto s = Evaluate(); !s.ok()) return Failed(s);
    }
    const bool finished = Finished();
    const bool stopped = StopRequest::Requested() || parts_.budget->Spent();
    if (finished || stopped || SaveDue()) {
      // The last one is on the disk before the process ends.
      const bool wait = finished || stopped;
      if (auto s = parts_.saver->Save(state_, wait); !s.ok()) {
        return {End::kSaveFailed, s};
      }
      if (auto s = parts_.saver->CheckFinite(); !s.ok()) return Failed(s);
    }
    if (finished || stopped) {
      parts_.observer->OnEnd(state_.attempted, finished);
      return {finished ? End::kFinished : End::kStopped, absl::OkStatus()};
    }
    if (auto s = parts_.saver->Poll(); !s.ok()) return {End::kSaveFailed, s};

    if (auto s = MicroStep(); !s.ok()) return Failed(s);
    if (state_.accumulation.count == state_.accumulation.per_step) {
      if (auto s = FinishStep(); !s.ok()) return Failed(s);
    }
    parts_.budget->Lap();
  }
}

bool TrainLoop::Finished() const {
  // An evaluation that a stop request cut short is still owed.
  return AtBoundary() && !state_.evaluation.pending &&
         (state_.attempted >= parts_.config->run().steps() ||
          StopsEarly(state_));
}

bool TrainLoop::SaveDue() const {
  const auto& config = *parts_.config;
  const uint64_t step = state_.attempted + (AtBoundary() ? 0 : 1);
  const uint32_t at = AtBoundary() ? 0 : config.save().at_micro();
  return step > 0 && step % config.run().save_every() == 0 &&
         state_.accumulation.count == at;
}

absl::Status TrainLoop::MicroStep() {
  At(StepPoint::kBeforeDraw);
  const auto batch = parts_.loader->Get(*state_.sampler);
  const BatchTensors tensors = ToTensors(*batch, *parts_.train, parts_.device);
  At(StepPoint::kAfterDraw);
  if (parts_.witness.has_value()) {
    // Before the first forward of a resumed run.
    if (auto s = CheckWitness(*parts_.witness, state_); !s.ok()) return s;
    parts_.witness.reset();
  }

  if (first_) parts_.observer->OnFirstForward(parts_.saver->Capture(state_));
  first_ = false;

  // Forward in mixed precision, backward of the scaled loss.
  if (AtBoundary()) BeginStep(&state_);
  const double share = ShareOfStep(state_, batch->order);
  at::Tensor loss;
  {
    const amp::Autocast autocast(parts_.device.type(), autocast_dtype_);
    loss = MeanLoss(state_.model->Forward(tensors.input), tensors.labels);
  }
  at::Tensor part = share == 1 ? loss : loss.mul(share);
  if (state_.scaler != nullptr) part = state_.scaler->Scale(part);
  part.backward();
  state_.so_far.loss += share * loss.item<float>();
  state_.so_far.samples += batch->order.sample_ids.size();
  At(StepPoint::kAfterBackward);
  state_.sampler->Advance();
  ++state_.accumulation.count;
  return absl::OkStatus();
}

absl::Status TrainLoop::FinishStep() {
  Optimizer& optimizer = *state_.optimizer;
  // The parameters, or the masters of those that are kept in half precision.
  optimizer.GatherGradients();
  const std::vector<at::Tensor> parameters =
      optimizer.StepTensors(state_.model->Parameters());
  StepEvent event = EventOf(state_);
  event.attempt = parts_.attempt;
  if (auto s = CheckRestored(event.loss); !s.ok()) return s;

  // Unscale, gradient norm, clip, apply or skip.
  if (state_.scaler != nullptr) {
    event.scale = state_.scaler->scale();
    if (auto s = state_.scaler->Unscale(parameters); !s.ok()) return s;
    event.skipped = state_.scaler->found_inf();
  } else if (!std::isfinite(event.loss)) {
    return absl::InternalError(absl::StrCat(
        "loss of step ", event.step, ": expected a finite number, found ",
        event.loss, "; the last checkpoint is from before it. Lower ",
        "optimizer.lr or raise the precision"));
  }
  const at::Tensor norm = GradientNorm(parameters);
  event.gradient_norm = norm.item<float>();
  if (!event.skipped) {
    if (state_.clip.has_value()) Clip(parameters, norm, *state_.clip);
    optimizer.Step();
  }
  At(StepPoint::kAfterUpdate);

  // EMA (of applied steps), scaler, schedule, counters.
  if (state_.ema != nullptr && !event.skipped) state_.ema->Update();
  if (state_.scaler != nullptr) state_.scaler->Update();
  At(StepPoint::kAfterScaler);
  state_.schedule_position = parts_.schedule->PositionOf(
      {state_.applied + !event.skipped, state_.attempted + 1,
       state_.sampler->cursor(), state_.sampler->epoch()});
  ApplySchedule();
  At(StepPoint::kAfterSchedule);
  ++state_.attempted;
  state_.applied += !event.skipped;
  state_.skipped += event.skipped;
  state_.accumulation.count = 0;
  state_.evaluation.pending =
      state_.attempted % parts_.config->run().eval_every() == 0 ||
      state_.attempted == parts_.config->run().steps();

  // The boundary of this step.
  event.applied = state_.applied;
  if (auto s = parts_.metrics->Append(event); !s.ok()) return s;
  parts_.progress->Step(event);
  parts_.saver->StepDone(event);
  parts_.observer->OnStep(event);
  parts_.observer->At(StepPoint::kBoundary, state_.attempted, &state_);
  if (state_.scaler != nullptr && state_.scaler->BelowMinimum()) {
    return absl::InternalError(absl::StrCat(
        "scaler.scale fell to ", state_.scaler->scale(), " after step ",
        state_.attempted, ", below precision.min_scale = ",
        parts_.config->precision().min_scale(),
        ": every gradient overflows. Lower optimizer.lr or use bf16"));
  }
  return absl::OkStatus();
}

void TrainLoop::ApplySchedule() {
  state_.optimizer->ApplySchedule(
      parts_.schedule->Fraction(state_.schedule_position,
                                state_.schedule_state),
      parts_.schedule->Momentum(state_.schedule_position));
}

absl::Status TrainLoop::Evaluate() {
  auto done = parts_.evaluator->Evaluate(&state_);
  if (!done.ok()) return done.status();
  if (!done->has_value()) return absl::OkStatus();  // a stop request came
  EvaluationEvent& event = **done;
  event.attempt = parts_.attempt;
  Select(*parts_.config, *parts_.schedule, &event, &state_);
  if (state_.schedule_state.has_value()) ApplySchedule();
  state_.evaluation.pending = false;
  // One that was repeated because a stop came after it is in the log already.
  if (parts_.metrics->last_evaluated_step() != event.step) {
    if (auto s = parts_.metrics->Append(event); !s.ok()) return s;
  }
  parts_.progress->Evaluation(event);
  parts_.observer->OnEvaluation(event);
  return absl::OkStatus();
}

absl::Status TrainLoop::CheckRestored(float loss) {
  if (!parts_.next_loss.has_value()) return absl::OkStatus();
  const float expected = *parts_.next_loss;
  parts_.next_loss.reset();
  if (std::memcmp(&expected, &loss, sizeof(loss)) == 0) return absl::OkStatus();
  return MakeRefusal(
      Refusal::MISMATCH,
      absl::StrCat("witness: step ", state_.attempted + 1, " had loss ",
                   expected, " when it was trained before and has ", loss,
                   " now, at resume level BITWISE; some state was not "
                   "restored"));
}

}  // namespace reprise
