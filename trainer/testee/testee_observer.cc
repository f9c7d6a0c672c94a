#include "trainer/testee/testee_observer.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "conformance/protocol/number.h"
#include "format/run_listing.h"
#include "format/vocabulary.h"
#include "trainer/checkpoint/torch_tensor.h"
#include "trainer/testee/item_digests.h"

namespace reprise {
namespace {

using conformance::NumberOf;
namespace v1 = conformance::v1;

v1::Point ToPoint(StepPoint point) {
  switch (point) {
    case StepPoint::kBeforeDraw:
      return v1::P0;
    case StepPoint::kAfterDraw:
      return v1::P1;
    case StepPoint::kAfterBackward:
      return v1::P2;
    case StepPoint::kAfterUpdate:
      return v1::P3;
    case StepPoint::kAfterScaler:
      return v1::P4;
    case StepPoint::kAfterSchedule:
      return v1::P5;
    case StepPoint::kBoundary:
      return v1::P6;
    case StepPoint::kInEvaluation:
      return v1::EVALUATION;
  }
  return v1::POINT_UNSPECIFIED;
}

std::string DigestGenerator(const at::Generator& generator) {
  const at::Tensor state = generator.get_state();
  return absl::StrFormat("%016x",
                         XXH3_64bits(state.const_data_ptr(), state.nbytes()));
}

}  // namespace

TesteeObserver::TesteeObserver(conformance::RunRequest request,
                               std::unique_ptr<conformance::EventWriter> events)
    : request_(std::move(request)), events_(std::move(events)) {}

void TesteeObserver::Write(const conformance::Event& event) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const absl::Status status = events_->Write(event);
  if (status.ok()) return;
  std::fprintf(stderr, "testee: %s\n", std::string(status.message()).c_str());
  _exit(ExitCode::EXIT_TRAINING_FAILED);
}

void TesteeObserver::WriteState(v1::StateEvent::Moment moment,
                                const Snapshot& state) {
  conformance::Event event;
  event.mutable_state()->set_moment(moment);
  event.mutable_state()->set_step(state.step);
  if (state.micro_step() > 0) {
    event.mutable_state()->set_micro(state.micro_step());
  }
  for (v1::ItemDigest& digest : DigestItems(state)) {
    *event.mutable_state()->add_digests() = std::move(digest);
  }
  Write(event);
}

void TesteeObserver::OnStart(const Snapshot& state,
                             const LoadedCheckpoint* from) {
  conformance::Event event;
  v1::StartEvent* start = event.mutable_start();
  start->set_run_id(state.run_id);
  start->set_attempt(state.attempt);
  start->set_resumed_step(state.step);
  if (state.micro_step() > 0) start->set_resumed_micro(state.micro_step());
  start->set_planned_steps(request_.steps());
  if (from != nullptr) {
    newest_ = absl::BytesToHexString(from->manifest_digest);
    start->set_checkpoint(newest_);
  }
  Write(event);
  if (from != nullptr) WriteState(v1::StateEvent::AFTER_LOAD, state);
}

void TesteeObserver::OnFirstForward(const Snapshot& state) {
  WriteState(v1::StateEvent::BEFORE_FORWARD, state);
}

void TesteeObserver::At(StepPoint point, uint64_t step, TrainState* state) {
  step_ = step;
  if (point == StepPoint::kBeforeDraw) {
    // Of the last micro-step, which a resumed process sees too.
    extra_.Clear();
    extra_.add_rng(absl::StrCat("cpu=", DigestGenerator(state->cpu_generator)));
    RememberParameters(*state);
  } else if (point == StepPoint::kAfterBackward) {
    InjectOverflow(state);
  } else if (point == StepPoint::kAfterUpdate) {
    MeasureUpdate(*state);
  }
  Reached(ToPoint(point), {step, state->accumulation.count});
}

void TesteeObserver::InjectOverflow(TrainState* state) const {
  const auto& steps = request_.inject_overflow();
  if (std::find(steps.begin(), steps.end(), step_) == steps.end()) return;
  // After the last backward, before unscaling.
  if (state->accumulation.count + 1 < state->accumulation.per_step) return;
  const at::NoGradGuard no_grad;
  for (const NamedTensor& p : state->model->Parameters()) {
    if (!p.tensor.grad().defined()) continue;
    p.tensor.grad().flatten()[0].fill_(std::numeric_limits<float>::infinity());
    return;
  }
}

void TesteeObserver::RememberParameters(const TrainState& state) {
  before_update_.clear();
  for (const NamedTensor& p : state.model->Parameters()) {
    before_update_.push_back(p.tensor.detach().clone());
  }
}

void TesteeObserver::MeasureUpdate(const TrainState& state) {
  const at::NoGradGuard no_grad;
  const std::vector<NamedTensor> now = state.model->Parameters();
  std::vector<Tensor> views;
  double squares = 0;
  for (size_t i = 0; i < now.size(); ++i) {
    const float norm =
        at::linalg_vector_norm(now[i].tensor - before_update_[i]).item<float>();
    *extra_.add_update_norms() = NumberOf(norm);
    squares += double{norm} * norm;
    views.push_back(ViewOf(now[i].name, now[i].tensor));
  }
  *extra_.mutable_update_norm() = NumberOf(std::sqrt(squares));
  extra_.set_parameters(DigestOf(views));
}

void TesteeObserver::OnStep(const StepEvent& e) {
  conformance::Event event;
  v1::StepEvent* step = event.mutable_step();
  *step = extra_;
  step->set_step(e.step);
  step->set_ids(absl::StrFormat("%016x", e.ids));
  for (double lr : e.lr) *step->add_lr() = NumberOf(lr);
  *step->mutable_loss() = NumberOf(e.loss);
  if (e.scale.has_value()) *step->mutable_scale() = NumberOf(*e.scale);
  step->set_skipped(e.skipped);
  *step->mutable_grad_norm() = NumberOf(e.gradient_norm);
  step->set_applied(e.applied);
  step->set_samples(e.samples);
  step->set_epoch(e.epoch);
  Write(event);
}

void TesteeObserver::OnEvaluation(const EvaluationEvent& e) {
  conformance::Event event;
  v1::EvaluationEvent* evaluation = event.mutable_evaluation();
  evaluation->set_step(e.step);
  *evaluation->mutable_loss() = NumberOf(e.loss);
  *evaluation->mutable_metric() = NumberOf(e.accuracy);
  if (e.ema_loss.has_value()) {
    *evaluation->mutable_ema_loss() = NumberOf(*e.ema_loss);
  }
  if (e.best.has_value()) *evaluation->mutable_best() = NumberOf(*e.best);
  if (e.bad_count.has_value()) evaluation->set_bad_count(*e.bad_count);
  Write(event);
}

void TesteeObserver::OnSaveBegin(const Snapshot& state) {
  saving_ = {state.step, state.micro_step()};
  WriteState(v1::StateEvent::AT_SAVE, state);
  conformance::Event event;
  event.mutable_save()->set_phase(v1::SaveEvent::BEGUN);
  event.mutable_save()->set_step(state.step);
  if (saving_.micro > 0) event.mutable_save()->set_micro(saving_.micro);
  Write(event);
}

void TesteeObserver::OnSaveEnd(uint64_t step, uint32_t micro,
                               const absl::StatusOr<std::string>& digest) {
  conformance::Event event;
  v1::SaveEvent* save = event.mutable_save();
  save->set_step(step);
  if (micro > 0) save->set_micro(micro);
  if (digest.ok()) {
    newest_ = absl::BytesToHexString(*digest);
    save->set_phase(v1::SaveEvent::COMMITTED);
    save->set_checkpoint(newest_);
  } else {
    save->set_phase(v1::SaveEvent::FAILED);
    save->set_error(std::string(digest.status().message()));
  }
  Write(event);
}

// What a person will find there, not what the process remembers.
std::string TesteeObserver::BestInRunFolder() const {
  const absl::StatusOr<RunListing> listing = ListRun(request_.run_folder());
  if (!listing.ok()) return "";
  for (const ListedCheckpoint& checkpoint : listing->checkpoints) {
    if (checkpoint.is_best && checkpoint.branch.empty()) {
      return absl::BytesToHexString(checkpoint.manifest_digest);
    }
  }
  return "";
}

void TesteeObserver::OnEnd(uint64_t attempted, bool finished) {
  conformance::Event event;
  event.mutable_end()->set_step(attempted);
  event.mutable_end()->set_finished(finished);
  event.mutable_end()->set_newest(newest_);
  event.mutable_end()->set_best(BestInRunFolder());
  Write(event);
}

void TesteeObserver::ReachedInStore(v1::Point point) {
  Reached(point, saving_);
}

void TesteeObserver::Reached(v1::Point point, const Place& place) {
  for (const v1::HoldAt& hold : request_.hold_at()) {
    if (hold.point() != point) continue;
    const bool anywhere = point == v1::LOAD;
    if (hold.has_step() && hold.step() != place.step && !anywhere) continue;
    if (hold.has_micro() && hold.micro() != place.micro && !anywhere) continue;
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    conformance::Event event;
    event.mutable_held()->set_step(place.step);
    if (hold.has_micro()) event.mutable_held()->set_micro(place.micro);
    event.mutable_held()->set_point(point);
    Write(event);
    // A held process waits to be killed; a signal does not wake it.
    while (true) pause();
  }
}

}  // namespace reprise
