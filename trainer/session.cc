#include "trainer/session.h"

// From flags to the loop:
//
//   flags -> configuration -> device -> lock the run folder -> the checkpoint
//   to go on from (or a fresh start) -> build -> restore -> enter the run
//   folder -> TrainLoop -> exit code
#include <ATen/Parallel.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "format/checkpoint_store.h"
#include "format/refusal.h"
#include "trainer/built_run.h"
#include "trainer/config/config.h"
#include "trainer/config_changes.h"
#include "trainer/device/cuda_backend.h"
#include "trainer/metrics/metrics_log.h"
#include "trainer/metrics/progress.h"
#include "trainer/metrics/wrapped.h"
#include "trainer/restore_run.h"
#include "trainer/resume_choice.h"
#include "trainer/run_folder.h"
#include "trainer/run_summary.h"
#include "trainer/signals/stop_request.h"
#include "trainer/start_times.h"
#include "trainer/summarize_run.h"
#include "trainer/time_budget.h"
#include "trainer/train_run.h"

namespace reprise {
namespace {

ExitCode Report(ExitCode code, const absl::Status& status) {
  std::fflush(stdout);
  std::fprintf(stderr, "trainer: %s: %s\n", TextOf(code).c_str(),
               std::string(status.message()).c_str());
  return code;
}

void Print(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) absl::PrintF("%s\n", line);
}

ExitCode CodeOf(TrainOutcome::End end) {
  switch (end) {
    case TrainOutcome::End::kFinished:
      return ExitCode::EXIT_DONE;
    case TrainOutcome::End::kStopped:
      return ExitCode::EXIT_STOPPED_ON_REQUEST;
    case TrainOutcome::End::kSaveFailed:
      return ExitCode::EXIT_SAVE_FAILED;
    case TrainOutcome::End::kRejected:
      return ExitCode::EXIT_CHECKPOINT_REJECTED;
    case TrainOutcome::End::kFailed:
      break;
  }
  return ExitCode::EXIT_TRAINING_FAILED;
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
  ExitCode LoadDevice();
  ExitCode OpenStore();
  ExitCode Choose();
  ExitCode Configure();
  ExitCode Build();
  ExitCode Restore();
  ExitCode EnterFolder();
  ExitCode Train();
  void Summarize(RunSummary::End end, uint64_t first_step);
  // Of the terminal; 0 where the output is none.
  int Columns() const { return screen_.is_terminal ? screen_.width() : 0; }

  StartTimes times_;
  TimeBudget budget_;  // counts from the process's start
  const CommandLine& line_;
  const SessionHooks& hooks_;
  TrainObserver nobody_;
  TrainObserver* const observer_;
  const Progress::Surroundings screen_ = Progress::Surroundings::Real();
  TrainerConfig config_;
  std::vector<ConfigChange> changes_;
  std::unique_ptr<CheckpointStore> store_;  // null: no run folder yet
  ResumeChoice choice_;
  std::optional<LoadedCheckpoint> weights_;  // --init_from
  std::optional<BuiltRun> run_;
};

// What can be refused is refused before anything is written: a run folder that
// is not there is made, and one that is there changed, by EnterFolder.
ExitCode Session::Run() {
  for (auto step :
       {&Session::CheckRequest, &Session::LoadDevice, &Session::OpenStore,
        &Session::Choose, &Session::Configure, &Session::LoadDevice,
        &Session::Build, &Session::Restore, &Session::EnterFolder}) {
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
  if (line_.init_from.empty()) return ExitCode::EXIT_DONE;
  auto weights = ReadCheckpoint(line_.init_from, hooks_.file_system);
  if (!weights.ok()) {
    return Report(ExitCodeFor(weights.status()), weights.status());
  }
  weights_ = *std::move(weights);
  return ExitCode::EXIT_DONE;
}

// Before the first LibTorch call; once more when a checkpoint says so.
ExitCode Session::LoadDevice() {
  if (config_.run().device() != "cuda") return ExitCode::EXIT_DONE;
  if (auto s = LoadCudaBackend(); !s.ok()) {
    return Report(ExitCode::EXIT_UNSUPPORTED, s);
  }
  return ExitCode::EXIT_DONE;
}

// The lock of a run that is there, before anything of it is read.
ExitCode Session::OpenStore() {
  times_.Ended(StartPhase::kStart);
  if (access(line_.run_dir.c_str(), F_OK) != 0) return ExitCode::EXIT_DONE;
  auto opened = OpenRunFolder(line_, hooks_.file_system);
  if (!opened.ok()) {
    return Report(ExitCode::EXIT_BAD_REQUEST, opened.status());
  }
  store_ = *std::move(opened);
  absl::PrintF("Run folder %s\n", line_.run_dir);
  Print(store_->TakeNotices());
  return ExitCode::EXIT_DONE;
}

ExitCode Session::Choose() {
  if (line_.fresh) return ExitCode::EXIT_DONE;
  auto choice =
      ChooseCheckpoint(line_.resume, line_.accept_missing, line_.run_dir,
                       store_.get(), hooks_.file_system);
  if (!choice.ok()) {
    return Report(ExitCodeFor(choice.status()), choice.status());
  }
  choice_ = *std::move(choice);
  Print(choice_.notices);
  if (choice_.from.has_value() && weights_.has_value()) {
    absl::PrintF("The run is there already: --init_from is not used again\n");
    weights_.reset();
  }
  return ExitCode::EXIT_DONE;
}

// The configuration in force: the checkpoint's, with what the person set.
ExitCode Session::Configure() {
  times_.Ended(StartPhase::kChoose);
  // A checkpoint without a configuration goes on with the one of a fresh run.
  if (!choice_.from.has_value() || choice_.BeginsAnew(Item::CONFIG)) {
    if (auto s = Validate(config_); !s.ok()) {
      return Report(ExitCode::EXIT_USAGE, s);
    }
    if (weights_.has_value()) {
      config_.mutable_run()->set_init_from(
          absl::BytesToHexString(weights_->manifest_digest));
    }
    return ExitCode::EXIT_DONE;
  }
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
  return ExitCode::EXIT_DONE;
}

ExitCode Session::Build() {
  auto built = BuildRun(config_, changes_, line_.data_dir, choice_.from);
  if (!built.ok()) return Report(ExitCode::EXIT_BAD_REQUEST, built.status());
  run_.emplace(*std::move(built));
  return ExitCode::EXIT_DONE;
}

ExitCode Session::Restore() {
  if (weights_.has_value()) {
    const auto said = StartFromWeights(*weights_, &*run_);
    if (!said.ok()) {
      return Report(ExitCode::EXIT_CHECKPOINT_REJECTED, said.status());
    }
    absl::PrintF("%s", *said);
  }
  if (!choice_.from.has_value()) return ExitCode::EXIT_DONE;
  if (auto s = RestoreRun(&choice_, &*run_); !s.ok()) {
    return Report(ExitCode::EXIT_CHECKPOINT_REJECTED, s);
  }
  if (auto s = ApplyChanges(config_, changes_, run_->schedule, &run_->state);
      !s.ok()) {
    return Report(ExitCode::EXIT_BAD_REQUEST, s);
  }
  absl::PrintF("%s", ContinueAs(line_.run_dir, choice_, Columns(), &*run_));
  return ExitCode::EXIT_DONE;
}

// From here on the run folder is this process's.
ExitCode Session::EnterFolder() {
  if (store_ == nullptr) {
    auto made = MakeRunFolder(line_, hooks_.file_system);
    if (!made.ok()) return Report(ExitCode::EXIT_BAD_REQUEST, made.status());
    store_ = *std::move(made);
    absl::PrintF("Run folder %s\n", line_.run_dir);
    Print(store_->TakeNotices());
  }
  const auto entry = EnterRunFolder(line_, config_, choice_, store_.get());
  if (!entry.ok()) return Report(ExitCode::EXIT_BAD_REQUEST, entry.status());
  run_->info.attempt = entry->attempt;
  Print(entry->notices);
  return ExitCode::EXIT_DONE;
}

ExitCode Session::Train() {
  TrainState& state = run_->state;
  const uint64_t first_step = state.attempted;
  auto metrics =
      MetricsLog::OpenForResume(store_->run_folder(), state.attempted);
  if (!metrics.ok()) {
    return Report(ExitCode::EXIT_SAVE_FAILED, metrics.status());
  }
  MarkOwedEvaluation(config_, choice_, *metrics, &state);
  budget_.Begin(config_.run().max_seconds());
  observer_->OnStart(CaptureState(state, run_->schedule, run_->info),
                     choice_.from.has_value() ? &*choice_.from : nullptr);
  if (NothingToDo(config_, state)) {
    Summarize(RunSummary::End::kNothingToDo, state.attempted);
    observer_->OnEnd(state.attempted, true);
    return ExitCode::EXIT_DONE;
  }
  absl::PrintF("%s on step %d of %d, attempt %d, %s, %s, %d threads\n",
               choice_.from.has_value() ? "Going" : "Starting", state.attempted,
               config_.run().steps(), run_->info.attempt,
               config_.precision().mode(), config_.run().device(),
               at::get_num_threads());
  Progress progress(config_.run().steps(), config_.run().log_every(), screen_);
  times_.Ended(StartPhase::kRebuild);
  progress.SayAfterFirstStep([this] {
    std::string line =
        Wrapped("",
                times_.FirstStepDone(
                    choice_.from.has_value() ? choice_.from->time : ReadTime()),
                Columns());
    line.pop_back();  // Progress brings its own newline
    return line;
  });
  const TrainOutcome outcome =
      TrainRun({&config_, &changes_, &choice_, store_.get(), &*metrics,
                &progress, observer_, &budget_},
               &*run_);
  progress.Finish();
  const ExitCode code = CodeOf(outcome.end);
  if (outcome.end != TrainOutcome::End::kRejected) {
    Summarize(code == ExitCode::EXIT_DONE ? RunSummary::End::kFinished
              : code == ExitCode::EXIT_STOPPED_ON_REQUEST
                  ? RunSummary::End::kStopped
                  : RunSummary::End::kFailed,
              first_step);
  }
  return outcome.error.ok() ? code : Report(code, outcome.error);
}

void Session::Summarize(RunSummary::End end, uint64_t first_step) {
  RunSummary summary =
      SummarizeRun(config_, *run_, first_step, choice_.from.has_value(),
                   store_->run_folder());
  summary.end = end;
  summary.seconds = budget_.Elapsed();
  if (end == RunSummary::End::kStopped) {
    summary.stopped_by =
        StopRequest::Requested() ? StopRequest::Name() : "run.max_seconds";
    summary.go_on = GoOnCommand(line_);
  }
  absl::PrintF("%s", SummaryText(summary, Columns()));
}

}  // namespace

ExitCode RunSession(const CommandLine& line, const SessionHooks& hooks) {
  // Lines of progress and of this file come out in their order on a pipe too.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return Session(line, hooks).Run();
}

}  // namespace reprise
