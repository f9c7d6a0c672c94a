#include "trainer/session.h"

// From flags to the loop:
//
//   flags -> configuration -> device -> lock the run folder -> newest verified
//   checkpoint (or a fresh start) -> build -> restore -> TrainLoop -> exit code
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "format/checkpoint_store.h"
#include "format/refusal.h"
#include "format/version.h"
#include "format/vocabulary.h"
#include "trainer/checkpoint/train_state_codec.h"
#include "trainer/config/config.h"
#include "trainer/data/augment.h"
#include "trainer/data/fashion_mnist.h"
#include "trainer/data/fingerprint.h"
#include "trainer/data/synthetic.h"
#include "trainer/data/text.h"
#include "trainer/device/cuda_backend.h"
#include "trainer/device/environment.h"
#include "trainer/flags.h"
#include "trainer/metrics/metrics_log.h"
#include "trainer/metrics/progress.h"
#include "trainer/optim/frozen.h"
#include "trainer/run_id.h"
#include "trainer/signals/stop_request.h"
#include "trainer/train_loop.h"
#include "trainer/train_state.h"

namespace reprise {
namespace {

// Ends the program's work with an exit code and the reason.
struct Failure {
  ExitCode code;
  absl::Status status;
};

ExitCode Report(const Failure& failure) {
  std::fflush(stdout);
  std::fprintf(stderr, "trainer: %s: %s\n", TextOf(failure.code).c_str(),
               std::string(failure.status.message()).c_str());
  return failure.code;
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

void PrintRestored(const LoadedCheckpoint& checkpoint) {
  absl::PrintF("Restored from %s:\n", checkpoint.path);
  for (const RestoredItem& row : DescribeRestored(checkpoint.snapshot)) {
    absl::PrintF("  %-22s %-15s %s\n", row.item, row.presence, row.value);
  }
}

// Puts the explicit changes of options into the restored state, which has the
// checkpoint's.
void ApplyChanges(const TrainerConfig& config,
                  const std::vector<ConfigChange>& changes,
                  const Schedule& schedule, TrainState* state) {
  for (const ConfigChange& change : changes) {
    if (change.path == "model.frozen") {
      // It suits the model: MakeTrainState froze by the same pattern.
      FreezeByPattern(state->model->Parameters(), config.model().frozen())
          .IgnoreError();
    }
    if (change.path == "optimizer.clip_norm" ||
        change.path == "optimizer.clip_value") {
      state->clip = ClipOf(config);
    }
    for (Optimizer::Group& group : state->optimizer->groups()) {
      if (change.path == "optimizer.lr") {
        group.base_lr = config.optimizer().lr() * group.lr_scale;
        group.lr = group.base_lr * schedule.Fraction(state->schedule_position,
                                                     state->schedule_state);
      } else if (change.path == "optimizer.beta1") {
        group.beta1 = config.optimizer().beta1();
      } else if (change.path == "optimizer.beta2") {
        group.beta2 = config.optimizer().beta2();
      } else if (change.path == "optimizer.eps") {
        group.eps = config.optimizer().eps();
      } else if (change.path == "optimizer.weight_decay" &&
                 !group.own_weight_decay) {
        group.weight_decay = config.optimizer().weight_decay();
      }
    }
  }
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
  if (from.has_value()) return from->snapshot.environment->threads;
  return std::max(1u, std::thread::hardware_concurrency());
}

// Whether the evaluation that step `step` owes is not in the log: the process
// that reached the step was stopped before or during it.
bool EvaluationPending(const TrainerConfig& config, uint64_t step,
                       const MetricsLog& metrics) {
  const bool due = step > 0 && (step % config.run().eval_every() == 0 ||
                                step == config.run().steps());
  return due && metrics.last_evaluated_step() != step;
}

// Builds the run from `config`, restores it when it goes on, and trains.
ExitCode Train(const CommandLine& line, const TrainerConfig& config,
               const std::vector<ConfigChange>& changes,
               const std::optional<LoadedCheckpoint>& from,
               uint64_t fresh_attempt, const SessionHooks& hooks,
               CheckpointStore* store) {
  auto train = LoadData(config, line.data_dir, Split::kTrain);
  if (!train.ok()) return Report({ExitCode::EXIT_BAD_REQUEST, train.status()});
  auto test = LoadData(config, line.data_dir, Split::kTest);
  if (!test.ok()) return Report({ExitCode::EXIT_BAD_REQUEST, test.status()});
  auto schedule = MakeSchedule(config, *train);
  if (!schedule.ok())
    return Report({ExitCode::EXIT_BAD_REQUEST, schedule.status()});

  SetUpLibTorch(Threads(config, from));
  const at::Device device(config.run().device() == "cuda" ? at::kCUDA
                                                          : at::kCPU);
  auto state = MakeTrainState(config, *train, device);
  if (!state.ok()) return Report({ExitCode::EXIT_BAD_REQUEST, state.status()});

  RunInfo run;
  run.config = Record(config, changes);
  run.architecture = config.model().kind();
  run.fingerprint = FingerprintOf(*train);
  if (config.data().augment()) run.augmentation = std::string(kShift2FlipV1);
  run.environment =
      DescribeEnvironment(device, AutocastDType(config.precision()));
  if (from.has_value()) {
    if (auto s =
            RestoreState(from->snapshot, *schedule, run.fingerprint, &*state);
        !s.ok()) {
      return Report(
          {ExitCode::EXIT_CHECKPOINT_REJECTED, Annotate(s, from->path)});
    }
    run.accepted_missing = NotRecordedByV1(from->snapshot);
    if (!run.accepted_missing.empty()) {
      absl::PrintF(
          "Not in a checkpoint of version 1, taken from the configuration or "
          "begun anew: %s\n",
          absl::StrJoin(
              run.accepted_missing, ", ",
              [](std::string* out, Item item) { out->append(TextOf(item)); }));
    }
    if (from->format_major < kNewestMajor) {
      absl::PrintF(
          "Migrated in memory from version %d; to make that permanent: bazel "
          "run //tools:ckpt_migrate -- %s\n",
          from->format_major, line.run_dir);
    }
    run.optional_features = from->snapshot.optional_features;
    run.history = from->snapshot.history;
    ApplyChanges(config, changes, *schedule, &*state);
    PrintRestored(*from);
    const ResumePromise promise =
        PromiseFor(*from->snapshot.environment, run.environment);
    run.environment.level = promise.level;
    absl::PrintF("Resume level %s: %s\n", TextOf(promise.level),
                 promise.reason);
    auto attempt = store->NextAttempt(from);
    if (!attempt.ok())
      return Report({ExitCode::EXIT_BAD_REQUEST, attempt.status()});
    run.run_id = from->snapshot.run_id;
    run.attempt = *attempt;
    run.parent = ParentRef{from->snapshot.step, from->manifest_digest,
                           from->value_digest};
    auto moved = store->ResumeFrom(*from, run.attempt);
    if (!moved.ok())
      return Report({ExitCode::EXIT_BAD_REQUEST, moved.status()});
    for (const std::string& name : *moved) {
      absl::PrintF(
          "Moved %s to abandoned/%d: it lies beyond the step resumed from\n",
          name, run.attempt);
    }
  } else {
    run.run_id = DrawRunId();
    run.attempt = fresh_attempt;
  }

  auto metrics =
      MetricsLog::OpenForResume(store->run_folder(), state->attempted);
  if (!metrics.ok())
    return Report({ExitCode::EXIT_SAVE_FAILED, metrics.status()});
  Progress progress(config.run().steps(), config.run().log_every());
  TrainObserver nobody;
  TrainLoop::Parts parts{
      &config,   &*train,
      &*test,    device,
      *schedule, run,
      store,     &*metrics,
      &progress, hooks.observer != nullptr ? hooks.observer : &nobody};
  if (from.has_value()) {
    parts.saved_step = state->attempted;
    parts.witness = from->snapshot.witness;
    // A rate that the person changed is another than announced.
    if (parts.witness.has_value() && !changes.empty()) {
      parts.witness->next_lr.clear();
    }
    // Version 1 does not say; the log does.
    if (!from->snapshot.evaluation.has_value()) {
      state->evaluation.pending =
          EvaluationPending(config, state->attempted, *metrics);
    }
  }
  if (state->attempted >= config.run().steps() && !state->evaluation.pending) {
    absl::PrintF(
        "The run is finished: %d of %d steps. Nothing to do (--fresh starts "
        "again).\n",
        state->attempted, config.run().steps());
    if (hooks.observer != nullptr) {
      hooks.observer->OnStart(CaptureState(*state, *schedule, run),
                              from.has_value() ? &*from : nullptr);
      hooks.observer->OnEnd(state->attempted, true);
    }
    return ExitCode::EXIT_DONE;
  }
  absl::PrintF("%s on step %d of %d, attempt %d, %s, %s, %d threads\n",
               from.has_value() ? "Going" : "Starting", state->attempted,
               config.run().steps(), run.attempt, config.precision().mode(),
               config.run().device(), at::get_num_threads());

  if (hooks.observer != nullptr) {
    hooks.observer->OnStart(CaptureState(*state, *schedule, run),
                            from.has_value() ? &*from : nullptr);
  }
  const TrainOutcome outcome = TrainLoop(parts, &*state).Run();
  progress.Finish();
  switch (outcome.end) {
    case TrainOutcome::End::kFinished:
      absl::PrintF("Finished: %d steps (%d skipped), test accuracy %.2f %%\n",
                   state->attempted, state->skipped,
                   100 * outcome.accuracy.value_or(0));
      return ExitCode::EXIT_DONE;
    case TrainOutcome::End::kStopped:
      absl::PrintF("Stopped by %s at step %d; start again to go on\n",
                   StopRequest::Name(), state->attempted);
      return ExitCode::EXIT_STOPPED_ON_REQUEST;
    case TrainOutcome::End::kSaveFailed:
      return Report({ExitCode::EXIT_SAVE_FAILED, outcome.error});
    case TrainOutcome::End::kRejected:
      return Report({ExitCode::EXIT_CHECKPOINT_REJECTED, outcome.error});
    case TrainOutcome::End::kFailed:
      return Report({ExitCode::EXIT_TRAINING_FAILED, outcome.error});
  }
  return ExitCode::EXIT_TRAINING_FAILED;
}

}  // namespace

ExitCode RunSession(const CommandLine& line, const SessionHooks& hooks) {
  // Lines of progress and of this file come out in their order on a pipe too.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  auto asked = WithExplicitFields(Defaults(), line.given);
  if (!asked.ok()) return Report({ExitCode::EXIT_USAGE, asked.status()});
  if (auto s = StopRequest::Install(); !s.ok()) {
    return Report({ExitCode::EXIT_TRAINING_FAILED, s});
  }

  // What can be refused is refused before anything is written. A run that is
  // there already brings its own configuration, which is not known yet.
  const bool new_folder = access(line.run_dir.c_str(), F_OK) != 0;
  if (new_folder || line.fresh) {
    if (auto s = Validate(*asked); !s.ok()) {
      return Report({ExitCode::EXIT_USAGE, s});
    }
  }
  if (asked->run().device() == "cuda") {
    if (auto s = LoadCudaBackend(); !s.ok()) {
      return Report({ExitCode::EXIT_UNSUPPORTED, s});
    }
  }
  if (new_folder && asked->data().name() == "fashion_mnist") {
    if (auto found = FindFashionMnist(line.data_dir); !found.ok()) {
      return Report({ExitCode::EXIT_BAD_REQUEST, found.status()});
    }
  }

  CheckpointStore::Options options;
  options.file_system = hooks.file_system;
  options.take_foreign_lock = line.take_foreign_lock;
  options.format_major = kV2Major;
  auto opened = CheckpointStore::Open(line.run_dir, options);
  if (!opened.ok())
    return Report({ExitCode::EXIT_BAD_REQUEST, opened.status()});
  CheckpointStore& store = **opened;
  absl::PrintF("Run folder %s\n", line.run_dir);
  for (const std::string& notice : store.TakeNotices()) {
    absl::PrintF("%s\n", notice);
  }

  // Where to go on.
  std::optional<LoadedCheckpoint> from;
  uint64_t attempt = 1;
  if (line.fresh) {
    auto next = store.NextAttempt(std::nullopt);
    if (!next.ok()) return Report({ExitCode::EXIT_BAD_REQUEST, next.status()});
    attempt = *next;
    auto moved =
        store.AbandonAll(attempt, {kMetricsFile, kSupersededMetricsFile});
    if (!moved.ok())
      return Report({ExitCode::EXIT_BAD_REQUEST, moved.status()});
    if (!moved->empty()) {
      absl::PrintF(
          "--fresh: moved %d entries of the former run to %s/abandoned/%d\n",
          moved->size(), line.run_dir, attempt);
    }
  } else {
    auto newest = store.NewestVerified();
    if (!newest.ok()) {
      return Report({ExitCode::EXIT_CHECKPOINT_REJECTED, newest.status()});
    }
    for (const CheckpointStore::PassedOver& entry : newest->passed_over) {
      absl::PrintF("Passed over %s: %s\n", entry.name, entry.reason.message());
    }
    from = std::move(newest->checkpoint);
  }
  if (hooks.resume == SessionHooks::Resume::kRequired && !from.has_value()) {
    return Report({ExitCode::EXIT_BAD_REQUEST,
                   absl::NotFoundError(
                       absl::StrCat(line.run_dir,
                                    ": expected a checkpoint to resume from, "
                                    "found none"))});
  }
  if (hooks.resume == SessionHooks::Resume::kNever && from.has_value()) {
    return Report(
        {ExitCode::EXIT_BAD_REQUEST,
         absl::AlreadyExistsError(absl::StrCat(
             line.run_dir, ": expected no run there, found ", from->path))});
  }

  // The configuration in force: the checkpoint's, with what the person set.
  TrainerConfig config = *asked;
  std::vector<ConfigChange> changes;
  if (from.has_value()) {
    auto merged = MergeForResume(from->snapshot.config, line.given);
    if (!merged.ok()) {
      return Report({ExitCode::EXIT_CHECKPOINT_REJECTED,
                     Annotate(merged.status(), from->path)});
    }
    config = std::move(merged->config);
    changes = std::move(merged->changes);
    for (const ConfigChange& change : changes) {
      absl::PrintF("Changed on resume: %s from %s to %s\n", change.path,
                   change.old_value, change.new_value);
    }
    if (config.run().device() == "cuda") {
      if (auto s = LoadCudaBackend(); !s.ok()) {
        return Report({ExitCode::EXIT_UNSUPPORTED, s});
      }
    }
  } else if (auto s = Validate(config); !s.ok()) {
    return Report({ExitCode::EXIT_USAGE, s});
  }
  store.set_keep_last(config.run().keep_last());
  return Train(line, config, changes, from, attempt, hooks, &store);
}

}  // namespace reprise
