// A checkpoint on its way from an older form to a newer one, and the steps that
// take it there: one major at a time, each a typed function behind it.
//
//   v1 --[v1_to_v2.h]--> v2 --[rename_v2.h, when asked]--> v2
//
// A test makes a further step to a major that does not exist, to prove that
// chains hold (testing/future_major.h). Thread-compatible.
#ifndef REPRISE_FORMAT_MIGRATE_MIGRATION_STEP_H_
#define REPRISE_FORMAT_MIGRATE_MIGRATION_STEP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "format/migrate/in_memory_v2.h"
#include "format/migrate/rename_rules.h"
#include "format/v2/codec.h"

namespace reprise {

struct MigratingCheckpoint {
  // What the manifest file has now.
  uint32_t major = 0;
  uint32_t minor = 0;
  std::string manifest;         // without the envelope
  std::string manifest_digest;  // 16 bytes
  // The same as version 2 has it, which names tensors, extents and shards; from
  // that major on. A later one that keeps the shards leaves it as it is.
  std::shared_ptr<const ManifestV2> v2;
  uint32_t v2_minor = 0;
  // The tensors' bytes, of what was version 1 a moment ago; null: they are in
  // the shards of the source.
  std::shared_ptr<const InMemoryV2> bytes;

  // Replaces the manifest and its digest.
  void SetManifest(uint32_t to_major, uint32_t to_minor, std::string to);
};

struct MigrationStep {
  uint32_t from_major = 0;
  // `from_major`, for a rename, or one more.
  uint32_t to_major = 0;
  // Names it and its version in the history: "reprise v1-to-v2 1".
  std::string program;
  // Does it, in memory; returns what it did and could not know, which it has
  // written to the history too. On error the checkpoint is of no more use.
  std::function<absl::StatusOr<std::vector<std::string>>(
      MigratingCheckpoint* checkpoint)>
      run;
};

// The steps between released majors, in order. `threads` digest tensors.
std::vector<MigrationStep> ReleasedMigrations(int threads);

// Renames within major 2; `rules` outlives the step.
MigrationStep RenameMigration(const RenameRules& rules);

}  // namespace reprise

#endif  // REPRISE_FORMAT_MIGRATE_MIGRATION_STEP_H_
