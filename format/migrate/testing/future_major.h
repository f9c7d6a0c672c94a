// The step from major 2 to a major 3 that does not exist, and a reader of it:
// proof that a chain of migrations holds. Only tests have it.
#ifndef REPRISE_FORMAT_MIGRATE_TESTING_FUTURE_MAJOR_H_
#define REPRISE_FORMAT_MIGRATE_TESTING_FUTURE_MAJOR_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/migrate/migration_step.h"
#include "format/migrate/testing/future_major.pb.h"
#include "reprise/spec/v2/manifest.pb.h"

namespace reprise {

constexpr uint32_t kFutureMajor = 3;
constexpr char kFutureFeature[] = "progress";
constexpr char kV2ToFutureProgram[] = "test v2-to-v3 1";

// Moves step, counters and features; everything else stays, fields that it does
// not know too.
checkpoint::future_test::Manifest MigrateV2ToFuture(
    checkpoint::v2::Manifest v2, absl::string_view source_manifest_digest);

// The way back, but for the history: what was version 2, field by field.
checkpoint::v2::Manifest BackFromFuture(
    checkpoint::future_test::Manifest future);

// The same as a step of a chain.
MigrationStep FutureMigration();

// A manifest of major 3. Errors: UNKNOWN_FEATURE naming it; CORRUPT.
absl::StatusOr<checkpoint::future_test::Manifest> DecodeFuture(
    absl::string_view manifest);

}  // namespace reprise

#endif  // REPRISE_FORMAT_MIGRATE_TESTING_FUTURE_MAJOR_H_
