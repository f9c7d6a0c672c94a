#include "trainer/session.h"

// From flags to the loop:
//
//   flags -> configuration -> device -> lock the run folder -> the checkpoint
//   to go on from (or a fresh start) -> build -> restore -> TrainLoop -> exit
//   code
#include <ATen/Parallel.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "format/accepted_missing.h"
#include "format/checkpoint_store.h"
#include "format/refusal.h"
#include "format/run_id.h"
#include "format/run_layout.h"
#include "format/version.h"
#include "format/vocabulary.h"
#include "trainer/begin_anew.h"
#include "trainer/checkpoint/next_loss.h"
#include "trainer/checkpoint/train_state_codec.h"
#include "trainer/config/config.h"
#include "trainer/data/augment.h"
#include "trainer/data/fashion_mnist.h"
#include "trainer/data/fingerprint.h"
#include "trainer/data/loader.h"
#include "trainer/data/synthetic.h"
#include "trainer/data/text.h"
#include "trainer/device/cuda_backend.h"
#include "trainer/device/environment.h"
#include "trainer/flags.h"
#include "trainer/metrics/loss_curve.h"
#include "trainer/metrics/metrics_log.h"
#include "trainer/metrics/progress.h"
#include "trainer/optim/frozen.h"
#include "trainer/resume_choice.h"
#include "trainer/saver.h"
#include "trainer/selection.h"
#include "trainer/signals/stop_request.h"
#include "trainer/train_loop.h"
#include "trainer/train_state.h"

namespace reprise {
namespace {

ExitCode Report(ExitCode code, const absl::Status& status) {
  std::fflush(stdout);
  std::fprintf(stderr, "trainer: %s: %s\n", TextOf(code).c_str(),
               std::string(status.message()).c_str());
  return code;
}

absl::StatusOr<Dataset> LoadData(const TrainerConfig& config,
                                 const std::string& folder, Split split) {
  const uint64_t limit = split == Split::kTrain ? config.data().train_limit()
                                                : config.data().test_limit();
  if (config.data().name() == "fashion_mnist") {
    return LoadFashionMnist(folder, split, limit);
  }
  if (config.data().name() == "text") {
    return LoadText(folder, split, config.data().sequence_length(), limit);
  }
  MakeSyntheticOptions options;
  options.size = limit != 0 ? limit : 1000;
  options.height = options.width = config.data().synthetic_size();
  options.split = split;
  return MakeSynthetic(options);
}

// `anew`: items that the checkpoint did not have.
void PrintRestored(const LoadedCheckpoint& checkpoint,
                   const std::vector<Item>& anew) {
  std::vector<std::string> names;
  for (Item item : anew) names.push_back(TextOf(item));
  absl::PrintF("Restored from %s:\n", checkpoint.path);
  for (const RestoredItem& row : DescribeRestored(checkpoint.snapshot)) {
    const bool begun = std::count(names.begin(), names.end(), row.item) > 0;
    absl::PrintF("  %-22s %-15s %s\n", row.item,
                 begun ? "BEGUN ANEW" : row.presence, row.value);
  }
  if (names.empty()) return;
  absl::PrintF(
      "Not in the checkpoint and begun anew, as --accept_missing allows: %s\n",
      absl::StrJoin(names, ", "));
}

// Puts the explicit changes of options into the restored state, which has the
// checkpoint's.
absl::Status ApplyChanges(const TrainerConfig& config,
                          const std::vector<ConfigChange>& changes,
                          const Schedule& schedule, TrainState* state) {
  const auto& given = config.optimizer();
  for (const ConfigChange& change : changes) {
    if (change.path == "optimizer.clip_norm" ||
        change.path == "optimizer.clip_value") {
      state->clip = ClipOf(config);
    } else if (change.path == "model.frozen") {
      if (auto s = FreezeByPattern(state->model->Parameters(),
                                   config.model().frozen());
          !s.ok()) {
        return s;
      }
    }
    for (Optimizer::Group& group : state->optimizer->groups()) {
      if (change.path == "optimizer.lr") {
        group.base_lr = given.lr() * group.lr_scale;
        group.lr = group.base_lr * schedule.Fraction(state->schedule_position,
                                                     state->schedule_state);
      } else if (change.path == "optimizer.beta1") {
        group.beta1 = given.beta1();
      } else if (change.path == "optimizer.beta2") {
        group.beta2 = given.beta2();
      } else if (change.path == "optimizer.eps") {
        group.eps = given.eps();
      } else if (change.path == "optimizer.weight_decay" &&
                 group.weight_decay != 0) {
        group.weight_decay = given.weight_decay();
      }
    }
  }
  return absl::OkStatus();
}

// The configuration as a checkpoint holds it, with what resuming changed.
std::vector<ConfigField> Record(const TrainerConfig& config,
                                const std::vector<ConfigChange>& changes) {
  std::vector<ConfigField> fields = Flatten(config);
  for (ConfigField& field : fields) {
    for (const ConfigChange& change : changes) {
      if (change.path == field.path) field.previous = change.old_value;
    }
  }
  return fields;
}

// How many threads to compute with: the person's number, else the
// checkpoint's, else one per core.
int Threads(const TrainerConfig& config,
            const std::optional<LoadedCheckpoint>& from) {
  if (config.run().threads() != 0) return config.run().threads();
  if (from.has_value() && from->snapshot.environment.has_value() &&
      from->snapshot.environment->threads > 0) {
    return from->snapshot.environment->threads;
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

// Whether the evaluation that step `step` owes is not in the log. Checkpoints
// of version 1 do not say it themselves.
bool EvaluationPending(const TrainerConfig& config, uint64_t step,
                       const MetricsLog& metrics) {
  const bool due = step > 0 && (step % config.run().eval_every() == 0 ||
                                step == config.run().steps());
  return due && metrics.last_evaluated_step() != step;
}

// Everything of the process that outlives the loop, built in this order.
class Session {
 public:
  Session(const CommandLine& line, const SessionHooks& hooks)
      : line_(line),
        hooks_(hooks),
        observer_(hooks.observer != nullptr ? hooks.observer : &nobody_) {}

  ExitCode Run();

 private:
  // Each returns EXIT_DONE to go on, or has reported why the process ends.
  ExitCode CheckRequest();
  ExitCode OpenStore();
  ExitCode Choose();
  ExitCode Configure();
  ExitCode Build();
  ExitCode Restore();
  ExitCode StartFromWeights();
  ExitCode EnterRunFolder();
  ExitCode Train();

  TimeBudget budget_;  // counts from the process's start
  const CommandLine& line_;
  const SessionHooks& hooks_;
  TrainObserver nobody_;
  TrainObserver* const observer_;
  TrainerConfig config_;
  std::vector<ConfigChange> changes_;
  std::unique_ptr<CheckpointStore> store_;  // null: no run folder yet
  ResumeChoice choice_;
  std::optional<LoadedCheckpoint> weights_;  // --init_from
  std::optional<Dataset> train_, test_;
  std::optional<Schedule> schedule_;
  at::Device device_ = at::kCPU;
  std::optional<TrainState> state_;
  RunInfo run_;
  std::optional<float> next_loss_;
};

// What can be refused is refused before anything is written: a run folder that
// is not there is made, and one that is there changed, by EnterRunFolder.
ExitCode Session::Run() {
  for (auto step : {&Session::CheckRequest, &Session::Choose,
                    &Session::Configure, &Session::Build, &Session::Restore,
                    &Session::StartFromWeights, &Session::EnterRunFolder}) {
    if (const ExitCode code = (this->*step)(); code != ExitCode::EXIT_DONE) {
      return code;
    }
  }
  return Train();
}

// A run that is there already brings its own configuration, which is not known
// yet.
ExitCode Session::CheckRequest() {
  auto asked = WithExplicitFields(Defaults(), line_.given);
  if (!asked.ok()) return Report(ExitCode::EXIT_USAGE, asked.status());
  config_ = *std::move(asked);
  if (auto s = StopRequest::Install(); !s.ok()) {
    return Report(ExitCode::EXIT_TRAINING_FAILED, s);
  }
  const bool new_folder = access(line_.run_dir.c_str(), F_OK) != 0;
  const bool begins = line_.resume == "newest" || line_.resume == "never";
  if ((new_folder && begins) || line_.fresh) {
    if (auto s = Validate(config_); !s.ok()) {
      return Report(ExitCode::EXIT_USAGE, s);
    }
  }
  if (config_.run().device() == "cuda") {
    if (auto s = LoadCudaBackend(); !s.ok()) {
      return Report(ExitCode::EXIT_UNSUPPORTED, s);
    }
  }
  if (!line_.init_from.empty()) {
    auto weights = ReadCheckpoint(line_.init_from, hooks_.file_system);
    if (!weights.ok()) {
      return Report(ExitCodeFor(weights.status()), weights.status());
    }
    weights_ = *std::move(weights);
  }
  // The lock of a run that is there, before anything of it is read.
  return new_folder ? ExitCode::EXIT_DONE : OpenStore();
}

ExitCode Session::OpenStore() {
  CheckpointStore::Options options;
  options.file_system = hooks_.file_system;
  options.take_foreign_lock = line_.take_foreign_lock;
  options.format_major = kV2Major;
  auto opened = CheckpointStore::Open(line_.run_dir, options);
  if (!opened.ok()) {
    return Report(ExitCode::EXIT_BAD_REQUEST, opened.status());
  }
  store_ = *std::move(opened);
  absl::PrintF("Run folder %s\n", line_.run_dir);
  for (const std::string& notice : store_->TakeNotices()) {
    absl::PrintF("%s\n", notice);
  }
  return ExitCode::EXIT_DONE;
}

ExitCode Session::Choose() {
  if (line_.fresh) return ExitCode::EXIT_DONE;
  auto choice =
      ChooseCheckpoint(line_.resume, line_.accept_missing, line_.run_dir,
                       store_.get(), hooks_.file_system);
  if (!choice.ok())
    return Report(ExitCodeFor(choice.status()), choice.status());
  choice_ = *std::move(choice);
  for (const std::string& notice : choice_.notices) {
    absl::PrintF("%s\n", notice);
  }
  if (choice_.from.has_value() && weights_.has_value()) {
    absl::PrintF("The run is there already: --init_from is not used again\n");
    weights_.reset();
  }
  return ExitCode::EXIT_DONE;
}

// The configuration in force: the checkpoint's, with what the person set.
ExitCode Session::Configure() {
  // A checkpoint without a configuration goes on with the one of a fresh run.
  if (!choice_.from.has_value() || choice_.BeginsAnew(Item::CONFIG)) {
    if (auto s = Validate(config_); !s.ok()) {
      return Report(ExitCode::EXIT_USAGE, s);
    }
    if (weights_.has_value()) {
      config_.mutable_run()->set_init_from(
          absl::BytesToHexString(weights_->manifest_digest));
    }
  } else {
    auto merged = MergeForResume(choice_.from->snapshot.config, line_.given);
    if (!merged.ok()) {
      return Report(ExitCode::EXIT_CHECKPOINT_REJECTED,
                    Annotate(merged.status(), choice_.from->path));
    }
    config_ = std::move(merged->config);
    changes_ = std::move(merged->changes);
    for (const ConfigChange& change : changes_) {
      absl::PrintF("Changed on resume: %s from %s to %s\n", change.path,
                   change.old_value, change.new_value);
    }
    if (config_.run().device() == "cuda") {
      if (auto s = LoadCudaBackend(); !s.ok()) {
        return Report(ExitCode::EXIT_UNSUPPORTED, s);
      }
    }
  }
  return ExitCode::EXIT_DONE;
}

ExitCode Session::Build() {
  for (Split split : {Split::kTrain, Split::kTest}) {
    auto data = LoadData(config_, line_.data_dir, split);
    if (!data.ok()) return Report(ExitCode::EXIT_BAD_REQUEST, data.status());
    (split == Split::kTrain ? train_ : test_) = *std::move(data);
  }
  auto schedule = MakeSchedule(config_, *train_);
  if (!schedule.ok()) {
    return Report(ExitCode::EXIT_BAD_REQUEST, schedule.status());
  }
  schedule_ = *std::move(schedule);
  SetUpLibTorch(Threads(config_, choice_.from),
                config_.precision().deterministic(),
                config_.precision().allow_tf32());
  if (config_.run().device() == "cuda") device_ = at::kCUDA;
  auto state = MakeTrainState(config_, *train_, device_);
  if (!state.ok()) return Report(ExitCode::EXIT_BAD_REQUEST, state.status());
  state_ = *std::move(state);

  run_.run_id = DrawRunId();
  run_.config = Record(config_, changes_);
  run_.architecture = config_.model().kind();
  run_.fingerprint = FingerprintOf(*train_);
  if (config_.data().augment()) run_.augmentation = std::string(kShift2FlipV1);
  run_.environment =
      DescribeEnvironment(device_, AutocastDType(config_.precision()));
  return ExitCode::EXIT_DONE;
}

ExitCode Session::Restore() {
  if (!choice_.from.has_value()) return ExitCode::EXIT_DONE;
  LoadedCheckpoint& from = *choice_.from;
  if (auto s =
          BeginAnew(choice_.begin_anew, CaptureState(*state_, *schedule_, run_),
                    &from.snapshot);
      !s.ok()) {
    return Report(ExitCode::EXIT_CHECKPOINT_REJECTED, Annotate(s, from.path));
  }
  if (auto s =
          RestoreState(from.snapshot, *schedule_, run_.fingerprint, &*state_);
      !s.ok()) {
    return Report(ExitCode::EXIT_CHECKPOINT_REJECTED, Annotate(s, from.path));
  }
  // Rates of another schedule are not in force.
  if (choice_.BeginsAnew(Item::SCHED_POSITION)) {
    state_->optimizer->ApplySchedule(
        schedule_->Fraction(state_->schedule_position, state_->schedule_state),
        schedule_->Momentum(state_->schedule_position));
  }
  if (auto s = ApplyChanges(config_, changes_, *schedule_, &*state_); !s.ok()) {
    return Report(ExitCode::EXIT_BAD_REQUEST, s);
  }
  PrintRestored(from, choice_.begin_anew);
  if (choice_.BeginsAnew(Item::SCHED_POSITION)) {
    for (const Optimizer::Group& group : state_->optimizer->groups()) {
      absl::PrintF("Rate in force, of the schedule that begins anew: %s %.6g\n",
                   group.name, group.lr);
    }
  }
  run_.run_id = from.snapshot.run_id;
  run_.parent =
      ParentRef{from.snapshot.step, from.manifest_digest, from.value_digest};
  run_.optional_features = from.snapshot.optional_features;
  run_.history = from.snapshot.history;
  run_.accepted_missing = NotRecordedByV1(from.snapshot);
  if (!run_.accepted_missing.empty()) {
    absl::PrintF(
        "Not in a checkpoint of version 1, taken from the configuration or "
        "begun anew: %s\n",
        absl::StrJoin(
            run_.accepted_missing, ", ",
            [](std::string* out, Item item) { out->append(TextOf(item)); }));
  }
  run_.accepted_missing.insert(run_.accepted_missing.end(),
                               choice_.begin_anew.begin(),
                               choice_.begin_anew.end());
  // Later attempts lack nothing any more; the history goes on saying it.
  if (!run_.accepted_missing.empty()) {
    run_.history.push_back(AcceptedMissingRecord(
        run_.accepted_missing, from.snapshot.step, from.manifest_digest));
  }
  if (from.format_major < kNewestMajor) {
    absl::PrintF(
        "Migrated in memory from version %d; to make that permanent: bazel run "
        "//tools:ckpt_migrate -- %s\n",
        from.format_major, choice_.in_run_folder ? line_.run_dir : from.path);
  }
  ResumePromise promise =
      PromiseFor(*from.snapshot.environment, run_.environment);
  if (!choice_.begin_anew.empty()) {
    promise = {ResumeLevel::STATISTICAL,
               "a part of the state is another than the checkpoint's run had"};
  }
  run_.environment.level = promise.level;
  absl::PrintF("Resume level %s: %s\n", TextOf(promise.level), promise.reason);
  return ExitCode::EXIT_DONE;
}

ExitCode Session::StartFromWeights() {
  if (!weights_.has_value()) return ExitCode::EXIT_DONE;
  if (auto s = RestoreWeights(weights_->snapshot, &*state_); !s.ok()) {
    return Report(ExitCode::EXIT_CHECKPOINT_REJECTED,
                  Annotate(s, weights_->path));
  }
  absl::PrintF(
      "Weights only, from %s (step %d): %d parameters, %d buffers. This is no "
      "resume: optimizer, schedule, scaler, position in the data and random "
      "numbers begin anew\n",
      weights_->path, weights_->snapshot.step,
      weights_->snapshot.parameters.size(), weights_->snapshot.buffers.size());
  return ExitCode::EXIT_DONE;
}

// From here on the run folder is this process's.
ExitCode Session::EnterRunFolder() {
  if (store_ == nullptr) {
    if (const ExitCode code = OpenStore(); code != ExitCode::EXIT_DONE) {
      return code;
    }
    auto there = store_->List();
    if (!there.ok() || !there->empty()) {
      return Report(ExitCode::EXIT_BAD_REQUEST,
                    !there.ok() ? there.status()
                                : absl::AlreadyExistsError(absl::StrCat(
                                      line_.run_dir, ": another process began ",
                                      "a run there meanwhile; start again to ",
                                      "go on with it")));
    }
  }
  RetentionPolicy keep;
  keep.keep_last = static_cast<int>(config_.run().keep_last());
  keep.keep_every = config_.save().keep_every();
  keep.keep_best = config_.save().keep_best();
  store_->set_retention(keep);
  run_.attempt = 1;
  if (!line_.fresh && !choice_.from.has_value()) return ExitCode::EXIT_DONE;
  auto attempt = store_->NextAttempt(choice_.from);
  if (!attempt.ok()) {
    return Report(ExitCode::EXIT_BAD_REQUEST, attempt.status());
  }
  run_.attempt = *attempt;
  if (line_.fresh) {
    auto moved = store_->AbandonAll(
        run_.attempt,
        {kMetricsFile, kSupersededMetricsFile, kWitnessFolder, kLossCurveFile});
    if (!moved.ok()) return Report(ExitCode::EXIT_BAD_REQUEST, moved.status());
    if (!moved->empty()) {
      absl::PrintF(
          "--fresh: moved %d entries of the former run to %s/abandoned/%d\n",
          moved->size(), line_.run_dir, run_.attempt);
    }
    return ExitCode::EXIT_DONE;
  }
  if (!choice_.in_run_folder) return ExitCode::EXIT_DONE;
  const LoadedCheckpoint& from = *choice_.from;
  auto moved = store_->ResumeFrom(from, run_.attempt);
  if (!moved.ok()) return Report(ExitCode::EXIT_BAD_REQUEST, moved.status());
  for (const std::string& name : *moved) {
    absl::PrintF(
        "Moved %s to abandoned/%d: it lies beyond the step resumed from\n",
        name, run_.attempt);
  }
  if (run_.environment.level == ResumeLevel::BITWISE && changes_.empty()) {
    next_loss_ = ReadNextLoss(
        store_->run_folder(),
        CheckpointName(from.snapshot.step, from.snapshot.micro_step()),
        from.manifest_digest);
  }
  return ExitCode::EXIT_DONE;
}

ExitCode Session::Train() {
  auto metrics =
      MetricsLog::OpenForResume(store_->run_folder(), state_->attempted);
  if (!metrics.ok()) {
    return Report(ExitCode::EXIT_SAVE_FAILED, metrics.status());
  }
  budget_.Begin(config_.run().max_seconds());
  Progress progress(config_.run().steps(), config_.run().log_every());
  Evaluator evaluator(&*test_, device_, AutocastDType(config_.precision()),
                      observer_);
  DataLoader::Options ahead;
  ahead.workers = config_.data().workers();
  ahead.prefetch = config_.data().prefetch();
  ahead.seed = config_.run().seed();
  if (config_.data().augment()) ahead.augment = Augment::kShift2FlipV1;
  DataLoader loader(&*train_, *state_->sampler, ahead);
  Saver::Parts saving{&config_.save(), &*schedule_, run_,      store_.get(),
                      &*metrics,       &progress,   observer_, &budget_,
                      std::nullopt,    ""};
  TrainLoop::Parts parts{&config_,     &*train_,     device_,    &loader,
                         &*schedule_,  run_.attempt, &evaluator, nullptr,
                         &*metrics,    &progress,    observer_,  &budget_,
                         std::nullopt, std::nullopt};
  if (choice_.from.has_value()) {
    const Snapshot& snapshot = choice_.from->snapshot;
    if (!snapshot.evaluation.has_value()) {
      state_->evaluation.pending =
          EvaluationPending(config_, state_->attempted, *metrics);
    }
    if (choice_.in_run_folder) {
      saving.resumed_from = PositionOf(snapshot.step, snapshot.micro_step());
      saving.resumed_digest = choice_.from->manifest_digest;
    }
    parts.next_loss = next_loss_;
    parts.witness = snapshot.witness;
    // A rate that the person changed, or that the evaluation which comes first
    // may change, is another than announced.
    if (parts.witness.has_value() &&
        (!changes_.empty() ||
         (state_->evaluation.pending && state_->schedule_state.has_value()))) {
      parts.witness->next_lr.clear();
    }
  }
  if (!state_->evaluation.pending && state_->accumulation.count == 0 &&
      (state_->attempted >= config_.run().steps() || StopsEarly(*state_))) {
    absl::PrintF(
        "The run is finished: %d of %d steps. Nothing to do (--fresh starts "
        "again).\n",
        state_->attempted, config_.run().steps());
    observer_->OnStart(CaptureState(*state_, *schedule_, run_),
                       choice_.from.has_value() ? &*choice_.from : nullptr);
    observer_->OnEnd(state_->attempted, true);
    return ExitCode::EXIT_DONE;
  }
  absl::PrintF("%s on step %d of %d, attempt %d, %s, %s, %d threads\n",
               choice_.from.has_value() ? "Going" : "Starting",
               state_->attempted, config_.run().steps(), run_.attempt,
               config_.precision().mode(), config_.run().device(),
               at::get_num_threads());

  observer_->OnStart(CaptureState(*state_, *schedule_, run_),
                     choice_.from.has_value() ? &*choice_.from : nullptr);
  Saver saver(saving);
  parts.saver = &saver;
  const TrainOutcome outcome = TrainLoop(parts, &*state_).Run();
  progress.Finish();
  // For people: never a reason to fail.
  if (auto s = WriteLossCurve(store_->run_folder()); s.ok()) {
    absl::PrintF("Loss curve: %s/%s\n", store_->run_folder(), kLossCurveFile);
  } else {
    absl::PrintF("No loss curve: %s\n", s.message());
  }
  switch (outcome.end) {
    case TrainOutcome::End::kFinished: {
      const bool early = state_->attempted < config_.run().steps();
      absl::PrintF("Finished%s: %d steps (%d skipped)", early ? " early" : "",
                   state_->attempted, state_->skipped);
      if (state_->evaluation.last.has_value()) {
        for (const NamedNumber& metric : state_->evaluation.last->metrics) {
          if (metric.name != "accuracy") continue;
          absl::PrintF(", test accuracy %.2f %%", 100 * metric.value);
        }
      }
      if (state_->best.has_value()) {
        absl::PrintF(", best %s %.4g at step %d", state_->best->metric,
                     state_->best->value, state_->best->step);
      }
      absl::PrintF("\n");
      return ExitCode::EXIT_DONE;
    }
    case TrainOutcome::End::kStopped:
      absl::PrintF(
          "Stopped by %s at step %d; start again to go on\n",
          StopRequest::Requested() ? StopRequest::Name() : "run.max_seconds",
          state_->attempted);
      return ExitCode::EXIT_STOPPED_ON_REQUEST;
    case TrainOutcome::End::kSaveFailed:
      return Report(ExitCode::EXIT_SAVE_FAILED, outcome.error);
    case TrainOutcome::End::kRejected:
      return Report(ExitCode::EXIT_CHECKPOINT_REJECTED, outcome.error);
    case TrainOutcome::End::kFailed:
      return Report(ExitCode::EXIT_TRAINING_FAILED, outcome.error);
  }
  return ExitCode::EXIT_TRAINING_FAILED;
}

}  // namespace

ExitCode RunSession(const CommandLine& line, const SessionHooks& hooks) {
  // Lines of progress and of this file come out in their order on a pipe too.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return Session(line, hooks).Run();
}

}  // namespace reprise
