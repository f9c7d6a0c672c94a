// Migrates one checkpoint or a whole run folder into a new run folder.
//
//   RUN/  step-... step-... metrics.jsonl    is read and never changed
//   .tmp-migrate-OUT/                        grows beside OUT, a lock in it
//   OUT/  step-... step-... metrics.jsonl    appears whole, by one rename
//
// First every checkpoint is read and checked, then the first byte is written.
// Whatever fails, OUT is not there. Killed half-way, .tmp-migrate-OUT stays;
// the same call again goes on in it. Called once more after it succeeded, it
// says so and does nothing.
//
// Example (a test as well):
//
//   reprise::MigrateRunOptions options;
//   options.out = "run.v2";
//   auto migrated = reprise::MigrateRun("run", options);
//   if (!migrated.ok()) return migrated.status();
//
// Thread-compatible.
#ifndef REPRISE_FORMAT_MIGRATE_MIGRATE_RUN_H_
#define REPRISE_FORMAT_MIGRATE_MIGRATE_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "format/inventory.h"
#include "format/migrate/migrate_checkpoint.h"

namespace reprise {

struct MigrateRunOptions {
  MigrateOptions checkpoint;
  // The new run folder. It must not be there, or be empty.
  std::string out;
  // Plans everything and writes nothing.
  bool dry_run = false;
  // Is told about each checkpoint as it is checked and written.
  std::function<void(const std::string& line)> progress;
};

struct MigratedCheckpoint {
  std::string source;  // folder
  std::string name;    // in the new run folder
  uint64_t step = 0;
  uint32_t micro_step = 0;
  uint32_t from_major = 0;
  uint32_t to_major = 0;
  // None: it was what was asked for already, and is taken over as it is.
  std::vector<MigrationStepReport> steps;
  std::string manifest_digest;  // 16 bytes, of the new one
  std::string value_digest;     // 16 bytes
  uint64_t tensors = 0;
  uint64_t tensor_bytes = 0;
  // What is missing for a resume that is the same run to the last bit, and the
  // highest level for which nothing is (UNSPECIFIED: none).
  std::vector<LackingItem> lacking;
  ResumeLevel highest_level = vocab::RESUME_LEVEL_UNSPECIFIED;
  // Found in place from a call that was interrupted.
  bool was_there = false;
  WrittenMigration written;
};

enum class MigrationOutcome {
  kMigrated,
  kPlanned,        // dry_run
  kNothingToDo,    // every checkpoint is of that version already
  kWasDoneBefore,  // `out` has exactly this already
};

struct MigratedRun {
  MigrationOutcome outcome = MigrationOutcome::kMigrated;
  std::string out;
  std::vector<MigratedCheckpoint> checkpoints;  // by step
  // Names beside the checkpoints that were copied, and that were not.
  std::vector<std::string> carried;
  std::vector<std::string> not_carried;
};

// `out` that is used when a person gives none: "run.v2" for the run folder
// `run` or a checkpoint in it; "run.renamed" when its version stays.
std::string DefaultMigrationOut(const std::string& source, uint32_t to_major,
                                bool rename_only);

// `source` is a checkpoint's folder or a run folder. Errors: those of
// PlanMigration, naming the checkpoint; ABSENT (nothing there, an empty
// folder); NOT_A_CHECKPOINT (a file of another kind; a folder that is a
// checkpoint and a run at once); LOCKED (a program is training in the run
// folder, or another migration is writing to `out`); MISMATCH (checkpoints of
// several runs); INVALID_ARGUMENT (`out` is in use, or lies in the source).
// When the first byte was to be written by then, `*writing` is true: IO,
// CORRUPT.
absl::StatusOr<MigratedRun> MigrateRun(const std::string& source,
                                       const MigrateRunOptions& options,
                                       bool* writing = nullptr);

}  // namespace reprise

#endif  // REPRISE_FORMAT_MIGRATE_MIGRATE_RUN_H_
