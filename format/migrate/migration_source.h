// What a person meant by RUN_OR_CHECKPOINT, and what lies beside the
// checkpoints. Thread-safe.
#ifndef REPRISE_FORMAT_MIGRATE_MIGRATION_SOURCE_H_
#define REPRISE_FORMAT_MIGRATE_MIGRATION_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/io/file_system.h"

namespace reprise {

struct MigrationSource {
  // Folders of checkpoints, by step.
  std::vector<std::string> checkpoints;
  // Of a run folder: itself; empty for one checkpoint.
  std::string run_folder;
  // Of a run folder: files to copy ("metrics.jsonl", "witness/step-..."),
  // folders to make ("abandoned/2": the number must not be used again), and
  // names that are left where they are.
  std::vector<std::string> files;
  std::vector<std::string> folders;
  std::vector<std::string> left;
};

// Errors: ABSENT, NOT_A_CHECKPOINT, CORRUPT; LOCKED when a program holds the
// run folder now, for then a copy of it is out of date at once. One checkpoint
// is never locked: nobody changes it.
absl::StatusOr<MigrationSource> FindMigrationSource(const std::string& path,
                                                    FileSystem* file_system);

}  // namespace reprise

#endif  // REPRISE_FORMAT_MIGRATE_MIGRATION_SOURCE_H_
