#include "format/retention.h"

#include "absl/strings/str_cat.h"
#include "format/manifest_file.h"
#include "format/read_checkpoint.h"
#include "format/refusal.h"
#include "format/version.h"

namespace reprise {

absl::StatusOr<std::vector<RetentionDecision>> DecideRetention(
    const std::vector<RunEntry>& entries, const RetentionPolicy& policy,
    const std::function<CheckpointProbe(const std::string& name)>& probe,
    const std::function<bool(const std::string& name)>& of_newer_format) {
  if (policy.keep_last < 1) {
    return MakeRefusal(Refusal::INVALID_VALUE,
                       absl::StrCat("keep_last: expected at least 1, found ",
                                    policy.keep_last));
  }
  std::vector<RetentionDecision> decisions;
  int kept = 0;
  std::optional<uint64_t> best_step;
  for (const RunEntry& entry : entries) {
    RetentionDecision decision{entry.name, true, ""};
    if (!entry.position.has_value()) {
      decision.reason = "no checkpoint's name";
    } else if (kept < policy.keep_last) {
      // Damaged ones above the last that is kept stay, as evidence, and do not
      // count.
      const CheckpointProbe found = probe(entry.name);
      if (found.verified) {
        if (kept == 0) best_step = found.best_step;
        decision.reason =
            absl::StrCat("newest ", ++kept, " of ", policy.keep_last);
      } else {
        decision.reason = of_newer_format(entry.name)
                              ? "of a newer format"
                              : "damaged, and newer than what is kept";
      }
    } else {
      const CheckpointPosition& position = *entry.position;
      const bool boundary = !position.micro.has_value();
      if (policy.keep_every > 0 && boundary &&
          position.step % policy.keep_every == 0) {
        decision.reason = absl::StrCat("every ", policy.keep_every, " steps");
      } else if (policy.keep_best && boundary && best_step.has_value() &&
                 position.step == *best_step) {
        decision.reason = "best evaluation";
      } else if (of_newer_format(entry.name)) {
        // A newer program's checkpoint is nobody else's to delete.
        decision.reason = "of a newer format";
      } else {
        decision.keep = false;
        decision.reason =
            absl::StrCat("older than the newest ", policy.keep_last);
      }
    }
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

CheckpointProbe ProbeCheckpoint(const std::string& path,
                                FileSystem* file_system, int threads) {
  CheckpointProbe probe;
  absl::StatusOr<Snapshot> read = ReadItems(path, file_system, threads);
  probe.verified = read.ok();
  if (read.ok() && read->best.has_value()) probe.best_step = read->best->step;
  return probe;
}

bool IsOfNewerFormat(const std::string& path, FileSystem* file_system) {
  absl::StatusOr<Envelope> envelope =
      ReadEnvelope(file_system, JoinPath(path, kManifestName));
  return envelope.ok() && envelope->major > kNewestMajor;
}

absl::StatusOr<std::vector<RetentionDecision>> PlanRetention(
    const std::string& run_folder, const RetentionPolicy& policy,
    FileSystem* file_system, int threads) {
  absl::StatusOr<std::vector<RunEntry>> entries =
      ListRunEntries(run_folder, file_system);
  if (!entries.ok()) return entries.status();
  return DecideRetention(
      *entries, policy,
      [&](const std::string& name) {
        return ProbeCheckpoint(JoinPath(run_folder, name), file_system,
                               threads);
      },
      [&](const std::string& name) {
        return IsOfNewerFormat(JoinPath(run_folder, name), file_system);
      });
}

}  // namespace reprise
