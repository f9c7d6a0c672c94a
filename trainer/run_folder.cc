#include "trainer/run_folder.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "format/version.h"
#include "trainer/checkpoint/next_loss.h"
#include "trainer/metrics/loss_curve.h"
#include "trainer/metrics/metrics_log.h"

namespace reprise {
namespace {

RetentionPolicy WhatToKeep(const TrainerConfig& config) {
  RetentionPolicy keep;
  keep.keep_last = static_cast<int>(config.run().keep_last());
  keep.keep_every = config.save().keep_every();
  keep.keep_best = config.save().keep_best();
  return keep;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CheckpointStore>> OpenRunFolder(
    const CommandLine& line, FileSystem* file_system) {
  CheckpointStore::Options options;
  options.file_system = file_system;
  options.take_foreign_lock = line.take_foreign_lock;
  options.format_major = kV2Major;
  return CheckpointStore::Open(line.run_dir, options);
}

absl::StatusOr<std::unique_ptr<CheckpointStore>> MakeRunFolder(
    const CommandLine& line, FileSystem* file_system) {
  auto store = OpenRunFolder(line, file_system);
  if (!store.ok()) return store.status();
  const auto there = (*store)->List();
  if (!there.ok()) return there.status();
  if (!there->empty()) {
    return absl::AlreadyExistsError(absl::StrCat(
        line.run_dir, ": another process began a run there meanwhile; start ",
        "again to go on with it"));
  }
  return store;
}

absl::StatusOr<RunFolderEntry> EnterRunFolder(const CommandLine& line,
                                              const TrainerConfig& config,
                                              const ResumeChoice& choice,
                                              CheckpointStore* store) {
  RunFolderEntry entry;
  store->set_retention(WhatToKeep(config));
  if (!line.fresh && !choice.from.has_value()) return entry;
  auto attempt = store->NextAttempt(choice.from);
  if (!attempt.ok()) return attempt.status();
  entry.attempt = *attempt;
  if (line.fresh) {
    const auto moved = store->AbandonAll(
        entry.attempt,
        {kMetricsFile, kSupersededMetricsFile, kWitnessFolder, kLossCurveFile});
    if (!moved.ok()) return moved.status();
    if (!moved->empty()) {
      entry.notices.push_back(absl::StrFormat(
          "--fresh: moved %d entries of the former run to %s/abandoned/%d",
          moved->size(), line.run_dir, entry.attempt));
    }
    return entry;
  }
  if (!choice.in_run_folder) return entry;
  const auto moved = store->ResumeFrom(*choice.from, entry.attempt);
  if (!moved.ok()) return moved.status();
  for (const std::string& name : *moved) {
    entry.notices.push_back(absl::StrFormat(
        "Moved %s to abandoned/%d: it lies beyond the step resumed from", name,
        entry.attempt));
  }
  return entry;
}

}  // namespace reprise
