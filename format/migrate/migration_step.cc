#include "format/migrate/migration_step.h"

#include <utility>

#include "format/envelope.h"
#include "format/migrate/rename_v2.h"
#include "format/migrate/unknown_v1.h"
#include "format/migrate/v1_to_v2.h"
#include "format/v1/codec.h"
#include "format/version.h"

namespace reprise {
namespace {

absl::Status DecodeAsV2(MigratingCheckpoint* checkpoint) {
  absl::StatusOr<ManifestV2> decoded =
      DecodeV2(checkpoint->manifest, checkpoint->minor);
  if (!decoded.ok()) return decoded.status();
  checkpoint->v2 = std::make_shared<const ManifestV2>(*std::move(decoded));
  checkpoint->v2_minor = checkpoint->minor;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> RunV1ToV2(
    int threads, MigratingCheckpoint* checkpoint) {
  const V1Source source = {
      checkpoint->manifest_digest,
      UnknownContentOfV1(checkpoint->manifest, checkpoint->minor)};
  absl::StatusOr<Snapshot> v1 =
      DecodeV1(std::move(checkpoint->manifest), checkpoint->minor);
  if (!v1.ok()) return v1.status();
  absl::StatusOr<Snapshot> v2 = MigrateV1ToV2(*v1, source);
  if (!v2.ok()) return v2.status();
  std::vector<std::string> notes = v2->history.back().notes;
  SaveV2Options options;
  options.threads = threads;
  absl::StatusOr<InMemoryV2> bytes = ToV2InMemory(*std::move(v2), options);
  if (!bytes.ok()) return bytes.status();
  checkpoint->bytes = std::make_shared<const InMemoryV2>(*std::move(bytes));
  checkpoint->SetManifest(kV2Major, kV2Minor, checkpoint->bytes->manifest);
  absl::Status status = DecodeAsV2(checkpoint);
  if (!status.ok()) return status;
  return notes;
}

}  // namespace

void MigratingCheckpoint::SetManifest(uint32_t to_major, uint32_t to_minor,
                                      std::string to) {
  major = to_major;
  minor = to_minor;
  manifest = std::move(to);
  manifest_digest = ManifestDigest(manifest);
}

std::vector<MigrationStep> ReleasedMigrations(int threads) {
  return {{kV1Major, kV2Major, kV1ToV2Program,
           [threads](MigratingCheckpoint* checkpoint) {
             return RunV1ToV2(threads, checkpoint);
           }}};
}

MigrationStep RenameMigration(const RenameRules& rules) {
  return {kV2Major, kV2Major, kRenameProgram,
          [&rules](MigratingCheckpoint* checkpoint)
              -> absl::StatusOr<std::vector<std::string>> {
            absl::StatusOr<RenamedV2> renamed =
                RenameV2(*checkpoint->v2, checkpoint->manifest_digest, rules);
            if (!renamed.ok()) return renamed.status();
            checkpoint->SetManifest(kV2Major, kV2Minor,
                                    std::move(renamed->manifest));
            checkpoint->v2 =
                std::make_shared<const ManifestV2>(std::move(renamed->decoded));
            checkpoint->v2_minor = kV2Minor;
            std::vector<std::string> notes = std::move(renamed->notes);
            for (const auto& [from, to] : renamed->names) {
              notes.push_back(from + " -> " + to);
            }
            return notes;
          }};
}

}  // namespace reprise
