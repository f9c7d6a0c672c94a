#include "conformance/fake/trainer.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "conformance/fake/item_digests.h"
#include "conformance/protocol/number.h"
#include "conformance/protocol/sample_ids.h"
#include "format/refusal.h"
#include "format/run_id.h"

namespace reprise::conformance::fake {
namespace {

// Below it training is lost: every step overflows.
constexpr float kMinScale = 0x1p-24f;

std::atomic<bool> stop_requested{false};

bool Contains(const std::vector<uint64_t>& list, uint64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

void FakeTrainer::RequestStop() { stop_requested = true; }

FakeTrainer::FakeTrainer(const Bed& bed, Parts parts, Store* store,
                         EventSink* sink)
    : bed_(bed), parts_(std::move(parts)), store_(store), sink_(sink) {}

ExitCode FakeTrainer::Run(RunRequest::Resume resume) {
  absl::Status status = Begin(resume);
  if (!status.ok()) return Fail(ExitCodeFor(status), status);
  if (state_.evaluation().pending()) Evaluate();
  while (!parts_.stop->Done(state_)) {
    if (stop_requested) return Stop();
    absl::StatusOr<bool> whole = Step();
    if (!whole.ok()) return Fail(ExitCode::EXIT_SAVE_FAILED, whole.status());
    if (!*whole) return Stop();
    if (state_.scaler().scale() < kMinScale) {
      return Fail(ExitCode::EXIT_TRAINING_FAILED,
                  absl::InternalError(absl::StrCat("scaler.scale fell to ",
                                                   state_.scaler().scale())));
    }
    if (EvaluationDue()) Evaluate();
    if (state_.counters().step() % bed_.save_every == 0) {
      status = Save();
      if (!status.ok()) return Fail(ExitCode::EXIT_SAVE_FAILED, status);
    }
  }
  if (state_.evaluation().pending()) return Stop();
  status = Save();
  if (!status.ok()) return Fail(ExitCode::EXIT_SAVE_FAILED, status);
  Event end;
  end.mutable_end()->set_step(state_.counters().step());
  end.mutable_end()->set_finished(true);
  end.mutable_end()->set_newest(store_->Newest());
  end.mutable_end()->set_best(store_->At(state_.best().step()));
  sink_->Write(end);
  return ExitCode::EXIT_DONE;
}

absl::Status FakeTrainer::Begin(RunRequest::Resume resume) {
  absl::StatusOr<std::optional<Loaded>> loaded = store_->Load();
  if (!loaded.ok()) return loaded.status();
  if (resume == RunRequest::REQUIRED && !loaded->has_value()) {
    return MakeRefusal(
        Refusal::ABSENT,
        "resume REQUIRED, and the run folder holds no checkpoint");
  }
  if (resume == RunRequest::NEVER && loaded->has_value()) {
    return absl::InvalidArgumentError(
        "resume NEVER, and the run folder holds a run");
  }
  state_ = InitialState(bed_);
  Event start;
  if (loaded->has_value()) {
    Tell(v1::LOAD, (*loaded)->state.counters().step(),
         (*loaded)->state.accumulation().count());
    state_ = (*loaded)->state;
    absl::Status status = CheckConfig();
    if (!status.ok()) return status;
    start.mutable_start()->set_checkpoint((*loaded)->checkpoint);
    saved_ = CheckpointName(state_);
  } else {
    state_.set_run_id(DrawRunId());
  }
  state_.set_attempt(state_.attempt() + 1);
  if (loaded->has_value()) {
    absl::Status status = store_->ResumeFrom(state_);
    if (!status.ok()) return status;
  }
  start.mutable_start()->set_run_id(state_.run_id());
  start.mutable_start()->set_attempt(state_.attempt());
  start.mutable_start()->set_resumed_step(state_.counters().step());
  start.mutable_start()->set_resumed_micro(state_.accumulation().count());
  start.mutable_start()->set_planned_steps(bed_.steps);
  sink_->Write(start);
  for (const std::string& name : store_->PassedOver()) {
    Note(absl::StrCat("passed over ", name, ", which is damaged"));
  }
  if (loaded->has_value()) WriteState(v1::StateEvent::AFTER_LOAD);
  return absl::OkStatus();
}

absl::Status FakeTrainer::CheckConfig() const {
  const State wanted = InitialState(bed_);
  auto refuse = [](const std::string& name, const std::string& saved,
                   const std::string& asked) {
    return MakeRefusal(Refusal::MISMATCH,
                       absl::StrCat(name, ": the checkpoint has ", saved,
                                    ", the request asks for ", asked));
  };
  for (int i = 0; i < wanted.config_size(); ++i) {
    const ConfigField& asked = wanted.config(i);
    const ConfigField& saved = state_.config(i);
    if (saved.value() != asked.value()) {
      return refuse(asked.name(), saved.value(), asked.value());
    }
  }
  if (wanted.data().fingerprint() != state_.data().fingerprint()) {
    return refuse("data.fingerprint", state_.data().fingerprint(),
                  wanted.data().fingerprint());
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> FakeTrainer::Step() {
  const uint64_t step = state_.counters().step() + 1;
  if (bed_.step_delay_us > 0) {
    usleep(static_cast<useconds_t>(bed_.step_delay_us));
  }
  if (step == bed_.freeze_at && state_.accumulation().count() == 0) {
    state_.add_frozen("hidden1.weight");
    state_.add_frozen("hidden1.bias");
  }
  while (state_.accumulation().count() < bed_.accumulation) {
    MicroStep(step);
    const uint32_t done = state_.accumulation().count();
    if (done >= bed_.accumulation) break;
    if (done == bed_.save_at_micro && step % bed_.save_every == 0) {
      absl::Status status = Save();
      if (!status.ok()) return status;
    }
    if (stop_requested) return false;
  }
  Update(step);
  return true;
}

void FakeTrainer::MicroStep(uint64_t step) {
  AccumulationState* group = state_.mutable_accumulation();
  const uint32_t micro = group->count();
  Tell(v1::P0, step, micro);
  const Batch batch = parts_.sampler->Next(state_);
  Tell(v1::P1, step, micro);
  if (!forward_seen_) {
    WriteState(v1::StateEvent::BEFORE_FORWARD);
  }
  forward_seen_ = true;
  if (micro == 0) {
    group->add_rng(absl::StrCat("cpu=", DigestOf(state_.cpu())));
    if (state_.has_cuda()) {
      group->add_rng(absl::StrCat("cuda:0=", DigestOf(state_.cuda())));
    }
  }
  const float factor =
      state_.scaler().scale() / static_cast<float>(bed_.accumulation);
  const double loss = parts_.model->LossAndGradients(
      batch, factor, &state_, group->mutable_gradients());
  group->set_loss_sum(group->loss_sum() +
                      loss * static_cast<double>(batch.ids.size()));
  group->mutable_ids()->Add(batch.ids.begin(), batch.ids.end());
  group->set_count(micro + 1);
  state_.mutable_sampler()->set_cursor(state_.sampler().cursor() +
                                       batch.ids.size());
  Tell(v1::P2, step, micro);
}

void FakeTrainer::Update(uint64_t step) {
  const uint32_t micro = state_.accumulation().count() - 1;
  State before = state_;
  Arrays gradients = state_.accumulation().gradients();
  for (Array& array : gradients) {
    if (IsFrozen(state_, array.name())) {
      std::fill(array.mutable_values()->begin(), array.mutable_values()->end(),
                0.0f);
    }
  }
  if (Contains(bed_.inject_overflow, step) ||
      state_.scaler().scale() > bed_.overflow_above) {
    gradients.Mutable(0)->set_values(0, std::numeric_limits<float>::infinity());
  }
  const std::vector<double> rates = parts_.schedule->Rates(state_);
  const bool found_inf = parts_.scaler->Unscale(state_, &gradients);
  const double norm = Norm(gradients);
  if (!found_inf && norm > state_.clip_norm()) {
    const float factor = static_cast<float>(state_.clip_norm() / (norm + 1e-6));
    for (Array& array : gradients) {
      for (float& value : *array.mutable_values()) value *= factor;
    }
  }
  if (!found_inf) parts_.optimizer->Apply(gradients, rates, &state_);
  Tell(v1::P3, step, micro);
  if (!found_inf) UpdateEma();
  parts_.scaler->Update(found_inf, &state_);
  Tell(v1::P4, step, micro);
  const uint64_t samples = state_.accumulation().ids_size();
  parts_.schedule->Advance(!found_inf, samples, &state_);
  state_.mutable_schedule()->mutable_applied_lr()->Assign(rates.begin(),
                                                          rates.end());
  Tell(v1::P5, step, micro);
  CounterState* counters = state_.mutable_counters();
  counters->set_step(counters->step() + 1);
  counters->set_samples(counters->samples() + samples);
  if (found_inf) {
    counters->set_skipped(counters->skipped() + 1);
  } else {
    counters->set_applied(counters->applied() + 1);
  }
  AccumulationState* group = state_.mutable_accumulation();
  *group->mutable_gradients() = ZerosLike(group->gradients());
  group->set_count(0);
  group->set_loss_sum(0);
  group->clear_ids();
  group->clear_rng();
  state_.clear_stamps();
  Record(before, rates, norm, found_inf);
  Tell(v1::P6, step, micro);
}

void FakeTrainer::UpdateEma() {
  EmaState* ema = state_.mutable_ema();
  const double n = static_cast<double>(ema->updates());
  const float decay =
      static_cast<float>(std::min(ema->decay(), (1 + n) / (10 + n)));
  const Arrays& trained = Trained(state_);
  for (int a = 0; a < trained.size(); ++a) {
    Array* average = ema->mutable_weights(a);
    for (int i = 0; i < average->values_size(); ++i) {
      average->set_values(
          i, average->values(i) * decay + trained[a].values(i) * (1 - decay));
    }
  }
  ema->set_updates(ema->updates() + 1);
}

void FakeTrainer::Record(const State& before, const std::vector<double>& rates,
                         double grad_norm, bool found_inf) {
  Event event;
  v1::StepEvent* step = event.mutable_step();
  const AccumulationState& group = before.accumulation();
  step->set_step(state_.counters().step());
  step->set_ids(SampleIdsDigest({group.ids().begin(), group.ids().end()}));
  *step->mutable_id_list() = group.ids();
  for (double rate : rates) *step->add_lr() = NumberOf(rate);
  *step->mutable_loss() =
      NumberOf(group.loss_sum() / static_cast<double>(group.ids_size()));
  *step->mutable_scale() = NumberOf(before.scaler().scale());
  step->set_skipped(found_inf);
  *step->mutable_grad_norm() = NumberOf(grad_norm);
  double squares = 0;
  for (int i = 0; i < Trained(state_).size(); ++i) {
    const double norm = Distance(Trained(before)[i], Trained(state_)[i]);
    squares += norm * norm;
    *step->add_update_norms() = NumberOf(norm);
  }
  *step->mutable_update_norm() = NumberOf(std::sqrt(squares));
  step->set_applied(state_.counters().applied());
  step->set_samples(state_.counters().samples());
  step->set_epoch(state_.sampler().cursor() / state_.data().size());
  *step->mutable_rng() = group.rng();
  step->set_parameters(DigestOf(state_.parameters()));
  sink_->Write(event);
}

bool FakeTrainer::EvaluationDue() const {
  return state_.counters().step() % bed_.eval_every == 0 ||
         state_.counters().step() == bed_.steps;
}

void FakeTrainer::Evaluate() {
  const uint64_t step = state_.counters().step();
  EvaluationState* evaluation = state_.mutable_evaluation();
  double raw = 0, averaged = 0;
  for (uint64_t i = 0; i < kHeldOutSamples; ++i) {
    raw += parts_.model->HeldOutLoss(i, state_.parameters(), state_);
    averaged += parts_.model->HeldOutLoss(i, state_.ema().weights(), state_);
    if (i == kHeldOutSamples / 2) {
      if (bed_.evaluation_delay_us > 0) {
        usleep(static_cast<useconds_t>(bed_.evaluation_delay_us));
      }
      Tell(v1::EVALUATION, step, 0);
      if (stop_requested) {
        evaluation->set_pending(true);
        return;
      }
    }
  }
  raw /= kHeldOutSamples;
  averaged /= kHeldOutSamples;
  evaluation->set_pending(false);
  evaluation->set_last(raw);
  evaluation->set_last_ema(averaged);
  if (!state_.best().has_value() || averaged < state_.best().value()) {
    state_.mutable_best()->set_value(averaged);
    state_.mutable_best()->set_step(step);
    state_.mutable_early_stop()->set_bad_count(0);
  } else {
    state_.mutable_early_stop()->set_bad_count(state_.early_stop().bad_count() +
                                               1);
  }
  parts_.schedule->Evaluated(raw, &state_);
  Event event;
  event.mutable_evaluation()->set_step(step);
  *event.mutable_evaluation()->mutable_loss() = NumberOf(raw);
  *event.mutable_evaluation()->mutable_ema_loss() = NumberOf(averaged);
  *event.mutable_evaluation()->mutable_best() = NumberOf(state_.best().value());
  event.mutable_evaluation()->set_bad_count(state_.early_stop().bad_count());
  sink_->Write(event);
}

absl::Status FakeTrainer::Save() {
  if (saved_ == CheckpointName(state_)) return absl::OkStatus();
  WriteState(v1::StateEvent::AT_SAVE);
  Event event;
  v1::SaveEvent* save = event.mutable_save();
  save->set_phase(v1::SaveEvent::BEGUN);
  save->set_step(state_.counters().step());
  save->set_micro(state_.accumulation().count());
  sink_->Write(event);
  absl::Status status = store_->Commit(state_, this);
  if (status.ok()) {
    saved_ = CheckpointName(state_);
    return status;
  }
  save->set_phase(v1::SaveEvent::FAILED);
  save->set_error(std::string(status.message()));
  sink_->Write(event);
  return status;
}

ExitCode FakeTrainer::Stop() {
  absl::Status status = Save();
  if (!status.ok()) return Fail(ExitCode::EXIT_SAVE_FAILED, status);
  Event end;
  end.mutable_end()->set_step(state_.counters().step());
  end.mutable_end()->set_finished(false);
  end.mutable_end()->set_newest(store_->Newest());
  sink_->Write(end);
  return ExitCode::EXIT_STOPPED_ON_REQUEST;
}

void FakeTrainer::At(v1::Point point, const State& state) {
  Tell(point, state.counters().step(), state.accumulation().count());
}

void FakeTrainer::Durable(const std::string& checkpoint, const State& state) {
  Event event;
  event.mutable_save()->set_phase(v1::SaveEvent::COMMITTED);
  event.mutable_save()->set_step(state.counters().step());
  event.mutable_save()->set_micro(state.accumulation().count());
  event.mutable_save()->set_checkpoint(checkpoint);
  sink_->Write(event);
}

void FakeTrainer::Tell(v1::Point point, uint64_t step, uint32_t micro) {
  for (auto& observer : parts_.observers) {
    observer->At({point, step, micro}, &state_);
  }
}

void FakeTrainer::WriteState(v1::StateEvent::Moment moment) {
  Event event;
  event.mutable_state()->set_moment(moment);
  event.mutable_state()->set_step(state_.counters().step());
  event.mutable_state()->set_micro(state_.accumulation().count());
  for (v1::ItemDigest& digest : ItemDigests(state_)) {
    *event.mutable_state()->add_digests() = std::move(digest);
  }
  sink_->Write(event);
}

void FakeTrainer::Note(const std::string& text) {
  Event event;
  event.mutable_note()->set_text(text);
  sink_->Write(event);
}

ExitCode FakeTrainer::Fail(ExitCode code, const absl::Status& status) {
  error_ = std::string(status.message());
  Note(error_);
  return code;
}

Description DescribeFake() {
  Description description;
  description.set_protocol(std::string(kProtocolVersion));
  description.set_name("fake");
  description.set_version("1");
  for (const std::string& workload : Workloads()) {
    description.add_workloads(workload);
  }
  for (const char* feature :
       {"inject_overflow", "accumulation", "scaler", "ema", "plateau",
        "early_stop", "frozen", "half_parameters", "precision", "moves",
        "save_at_micro"}) {
    description.add_features(feature);
  }
  description.set_determinism(v1::EXACT);
  for (v1::Point point : {v1::P0, v1::P1, v1::P2, v1::P3, v1::P4, v1::P5,
                          v1::P6, v1::S1, v1::S2, v1::S3, v1::S4, v1::S5,
                          v1::S6, v1::S7, v1::S8, v1::LOAD, v1::EVALUATION}) {
    description.add_hold_points(point);
  }
  for (const char* channel :
       {"step", "ids", "id_list", "lr", "loss", "scale", "skipped", "grad_norm",
        "update_norm", "applied", "samples", "epoch", "rng", "parameters",
        "update_norms"}) {
    description.add_channels(channel);
  }
  // The union over workloads that between them have every item.
  for (const char* workload : {"T0.half", "T0.plateau"}) {
    RunRequest request;
    request.set_workload(workload);
    for (const v1::ItemDigest& digest :
         ItemDigests(InitialState(*BedFor(request)))) {
      if (std::find(description.digests().begin(), description.digests().end(),
                    digest.item()) == description.digests().end()) {
        description.add_digests(digest.item());
      }
    }
  }
  for (const auto& [item, reason] :
       {std::pair<vocabulary::v1::Item, const char*>(
            vocabulary::v1::LOADER_INFLIGHT, "batches are made when drawn"),
        {vocabulary::v1::WITNESS, "the harness compares what is recorded"},
        {vocabulary::v1::ENVIRONMENT, "one process, one thread, no library"},
        {vocabulary::v1::USER, "no typed extras"}}) {
    v1::NotApplicable* entry = description.add_not_applicable();
    entry->set_item(item);
    entry->set_reason(reason);
  }
  return description;
}

}  // namespace reprise::conformance::fake
