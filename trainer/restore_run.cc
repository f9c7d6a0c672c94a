#include "trainer/restore_run.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "format/accepted_missing.h"
#include "format/refusal.h"
#include "format/version.h"
#include "trainer/begin_anew.h"
#include "trainer/checkpoint/train_state_codec.h"
#include "trainer/device/environment.h"
#include "trainer/restored_table.h"

namespace reprise {
namespace {

// What a process that resumes `choice` in `now` can promise.
ResumePromise Promise(const ResumeChoice& choice, const EnvironmentState& now) {
  if (!choice.begin_anew.empty()) {
    return {ResumeLevel::STATISTICAL,
            "a part of the state is another than the checkpoint's run had"};
  }
  return PromiseFor(*choice.from->snapshot.environment, now);
}

}  // namespace

absl::Status RestoreRun(ResumeChoice* choice, BuiltRun* run) {
  LoadedCheckpoint& from = *choice->from;
  if (auto s = BeginAnew(choice->begin_anew,
                         CaptureState(run->state, run->schedule, run->info),
                         &from.snapshot);
      !s.ok()) {
    return Annotate(s, from.path);
  }
  // Nobody needs the bytes twice.
  Snapshot whole = from.snapshot;
  ForgetBytes(&from.snapshot);
  if (auto s = RestoreState(std::move(whole), run->schedule,
                            run->info.fingerprint, &run->state);
      !s.ok()) {
    return Annotate(s, from.path);
  }
  // Rates of another schedule are not in force.
  TrainState& state = run->state;
  if (choice->BeginsAnew(Item::SCHED_POSITION)) {
    state.optimizer->ApplySchedule(
        run->schedule.Fraction(state.schedule_position, state.schedule_state),
        run->schedule.Momentum(state.schedule_position));
  }
  return absl::OkStatus();
}

std::string ContinueAs(const std::string& run_dir, const ResumeChoice& choice,
                       int columns, BuiltRun* run) {
  const LoadedCheckpoint& from = *choice.from;
  const Snapshot& snapshot = from.snapshot;
  std::string said =
      RestoredTable(from.path, snapshot, choice.begin_anew, columns);
  if (choice.BeginsAnew(Item::SCHED_POSITION)) {
    for (const Optimizer::Group& group : run->state.optimizer->groups()) {
      absl::StrAppendFormat(
          &said, "Rate in force, of the schedule that begins anew: %s %.6g\n",
          group.name, group.lr);
    }
  }
  RunInfo& info = run->info;
  info.run_id = snapshot.run_id;
  info.parent =
      ParentRef{snapshot.step, from.manifest_digest, from.value_digest};
  info.optional_features = snapshot.optional_features;
  info.history = snapshot.history;
  info.accepted_missing = NotRecordedByV1(snapshot);
  if (!info.accepted_missing.empty()) {
    absl::StrAppendFormat(
        &said,
        "Not in a checkpoint of version 1, taken from the configuration or "
        "begun anew: %s\n",
        absl::StrJoin(
            info.accepted_missing, ", ",
            [](std::string* out, Item item) { out->append(TextOf(item)); }));
  }
  info.accepted_missing.insert(info.accepted_missing.end(),
                               choice.begin_anew.begin(),
                               choice.begin_anew.end());
  // Later attempts lack nothing any more; the history goes on saying it.
  if (!info.accepted_missing.empty()) {
    info.history.push_back(AcceptedMissingRecord(
        info.accepted_missing, snapshot.step, from.manifest_digest));
  }
  if (from.format_major < kNewestMajor) {
    absl::StrAppendFormat(
        &said,
        "Migrated in memory from version %d; to make that permanent: bazel run "
        "//tools:ckpt_migrate -- %s\n",
        from.format_major, choice.in_run_folder ? run_dir : from.path);
  }
  const ResumePromise promise = Promise(choice, info.environment);
  info.environment.level = promise.level;
  absl::StrAppendFormat(&said, "Resume level %s: %s\n", TextOf(promise.level),
                        promise.reason);
  return said;
}

absl::StatusOr<std::string> StartFromWeights(const LoadedCheckpoint& weights,
                                             BuiltRun* run) {
  if (auto s = RestoreWeights(weights.snapshot, &run->state); !s.ok()) {
    return Annotate(s, weights.path);
  }
  return absl::StrFormat(
      "Weights only, from %s (step %d): %d parameters, %d buffers. This is no "
      "resume: optimizer, schedule, scaler, position in the data and random "
      "numbers begin anew\n",
      weights.path, weights.snapshot.step, weights.snapshot.parameters.size(),
      weights.snapshot.buffers.size());
}

}  // namespace reprise
