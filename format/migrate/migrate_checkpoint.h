// Migrates one checkpoint: a new one in another run folder, never in place.
//
//   PlanMigration    reads and checks the source, runs the steps in memory,
//                    compares every tensor before and after; writes nothing
//   WriteMigration   commits the result: shards linked, copied or written,
//                    read back, then the manifest, then one rename
//
// Example (a test as well):
//
//   reprise::MigrateOptions options;
//   auto plan = reprise::PlanMigration("run/step-000000000060", options);
//   if (!plan.ok()) return plan.status();
//   auto written = reprise::WriteMigration(*plan, "run.v2", options);
//
// Thread-compatible.
#ifndef REPRISE_FORMAT_MIGRATE_MIGRATE_CHECKPOINT_H_
#define REPRISE_FORMAT_MIGRATE_MIGRATE_CHECKPOINT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "format/io/file_system.h"
#include "format/migrate/migration_step.h"
#include "format/migrate/rename_rules.h"
#include "format/version.h"

namespace reprise {

struct MigrateOptions {
  uint32_t to_major = kNewestMajor;
  // Renames after the step to major 2; null: nothing is renamed.
  std::shared_ptr<const RenameRules> rename;
  // Copies shards of major 2 that could be linked, so that damage to one file
  // cannot reach two checkpoints.
  bool copy = false;
  // Reads every byte of shards that are linked, too. Costs what reading costs.
  bool verify = false;
  int threads = 2;
  FileSystem* file_system = FileSystem::Real();
  // Steps after the released ones; for tests.
  std::vector<MigrationStep> further_steps;
};

struct MigrationStepReport {
  uint32_t from_major = 0;
  uint32_t to_major = 0;
  std::string program;
  std::vector<std::string> notes;
};

struct PlannedMigration {
  std::string source;  // folder
  std::string name;    // of the checkpoint in a run folder
  std::string run_id;
  uint64_t step = 0;
  uint32_t micro_step = 0;
  uint32_t from_major = 0;
  std::string source_manifest_digest;  // 16 bytes
  // Steps that were run; none: the checkpoint is what was asked for already.
  std::vector<MigrationStepReport> steps;
  MigratingCheckpoint result;
  // Compared before and after: name (but for renames), dtype, shape, order and
  // root digest.
  uint64_t tensors = 0;
  uint64_t tensor_bytes = 0;
};

// Errors: a typed refusal of the source (ABSENT, NOT_A_CHECKPOINT, TOO_NEW,
// UNKNOWN_FEATURE, TRUNCATED, CORRUPT, ...); INVALID_VALUE where the source
// contradicts itself; INVALID_ARGUMENT for a version that no step leads to and
// for rename rules that do not fit.
absl::StatusOr<PlannedMigration> PlanMigration(const std::string& path,
                                               const MigrateOptions& options);

struct WrittenMigration {
  // How the shards and digest files came: files that are one with the source's,
  // copies of the source's, written from memory.
  uint64_t linked = 0;
  uint64_t copied = 0;
  uint64_t written = 0;
  std::string notice;      // "shares storage with ..."; empty: it does not
  std::string why_copied;  // instead of linked; empty: nothing was
};

// Commits the planned checkpoint as `run_folder`/NAME. The folder exists and
// the caller holds its lock. The result is read back: bytes that were copied or
// written are digested again and compared with the source's digests; a link is
// the same file. On error nothing of it is left. Errors: IO; CORRUPT when what
// was read back differs.
absl::StatusOr<WrittenMigration> WriteMigration(const PlannedMigration& plan,
                                                const std::string& run_folder,
                                                const MigrateOptions& options);

}  // namespace reprise

#endif  // REPRISE_FORMAT_MIGRATE_MIGRATE_CHECKPOINT_H_
