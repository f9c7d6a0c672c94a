// Which checkpoints of a run are kept, and why.
//
// Example (a test as well):
//
//   reprise::RetentionPolicy policy;
//   policy.keep_last = 2;
//   policy.keep_every = 1000;
//   auto plan = reprise::PlanRetention("run", policy);
//   if (!plan.ok()) return plan.status();
//   for (const reprise::RetentionDecision& decision : *plan) {
//     std::cout << decision.name << ": " << (decision.keep ? "keep" : "remove")
//               << ", " << decision.reason << "\n";
//   }
//
// CheckpointStore::Prune does what the plan says. Thread-safe.
#ifndef REPRISE_FORMAT_RETENTION_H_
#define REPRISE_FORMAT_RETENTION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "format/io/file_system.h"
#include "format/run_entries.h"

namespace reprise {

struct RetentionPolicy {
  // Newest checkpoints to keep; at least 1. Only verified ones count.
  int keep_last = 3;
  // Keeps every checkpoint at the boundary of a step that is a multiple; 0:
  // none for that reason.
  uint64_t keep_every = 0;
  // Keeps the checkpoint of the step at which, as the newest verified one
  // records, the best evaluation was; nothing when no checkpoint was saved at
  // that very step.
  bool keep_best = false;
};

struct RetentionDecision {
  std::string name;  // folder in the run folder
  bool keep = true;
  std::string reason;  // in words, for people
};

// What a decision needs to know about one checkpoint.
struct CheckpointProbe {
  bool verified = false;
  // Step of the best evaluation, of a verified one that records it.
  std::optional<uint64_t> best_step;
};

// Decides about `entries` (ListRunEntries). `probe` reads a checkpoint and is
// asked only about those that the decision hangs on, newest first;
// `of_newer_format` looks at its envelope. Error: INVALID_VALUE for a policy
// that keeps nothing.
absl::StatusOr<std::vector<RetentionDecision>> DecideRetention(
    const std::vector<RunEntry>& entries, const RetentionPolicy& policy,
    const std::function<CheckpointProbe(const std::string& name)>& probe,
    const std::function<bool(const std::string& name)>& of_newer_format);

// The same for a run folder, newest first; reads (and so verifies) as many
// checkpoints as it needs to, changes nothing and takes no lock. Errors:
// ABSENT, IO, INVALID_VALUE.
absl::StatusOr<std::vector<RetentionDecision>> PlanRetention(
    const std::string& run_folder, const RetentionPolicy& policy,
    FileSystem* file_system = FileSystem::Real(), int threads = 2);

// Reads the checkpoint folder `path` for a decision.
CheckpointProbe ProbeCheckpoint(const std::string& path,
                                FileSystem* file_system, int threads);
// Whether its envelope names a major that this program does not know.
bool IsOfNewerFormat(const std::string& path, FileSystem* file_system);

}  // namespace reprise

#endif  // REPRISE_FORMAT_RETENTION_H_
