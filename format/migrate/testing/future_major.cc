#include "format/migrate/testing/future_major.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"

namespace reprise {

namespace v2 = ::reprise::checkpoint::v2;
namespace future = ::reprise::checkpoint::future_test;

future::Manifest MigrateV2ToFuture(v2::Manifest from,
                                   absl::string_view source_manifest_digest) {
  future::Manifest to;
  to.add_required_features(kFutureFeature);
  for (const std::string& name : from.required_features()) {
    to.add_required_features(name);
  }
  *to.mutable_optional_features() = from.optional_features();
  future::Progress* progress = to.mutable_progress();
  progress->set_attempted(from.step());
  const v2::Counters& counters = from.counters();
  if (counters.has_applied()) progress->set_applied(counters.applied());
  if (counters.has_skipped()) progress->set_skipped(counters.skipped());
  if (counters.has_samples()) progress->set_samples(counters.samples());
  from.clear_required_features();
  from.clear_optional_features();
  from.clear_step();
  from.clear_counters();
  v2::Migration* step = from.add_history();
  step->set_from_major(kV2Major);
  step->set_to_major(kFutureMajor);
  step->set_program(kV2ToFutureProgram);
  step->set_source_manifest_digest(std::string(source_manifest_digest));
  *to.mutable_rest() = std::move(from);
  return to;
}

v2::Manifest BackFromFuture(future::Manifest from) {
  v2::Manifest to = from.rest();
  for (const std::string& name : from.required_features()) {
    if (name != kFutureFeature) to.add_required_features(name);
  }
  *to.mutable_optional_features() = from.optional_features();
  const future::Progress& progress = from.progress();
  to.set_step(progress.attempted());
  if (progress.has_applied()) {
    to.mutable_counters()->set_applied(progress.applied());
  }
  if (progress.has_skipped()) {
    to.mutable_counters()->set_skipped(progress.skipped());
  }
  if (progress.has_samples()) {
    to.mutable_counters()->set_samples(progress.samples());
  }
  to.mutable_history()->RemoveLast();
  return to;
}

MigrationStep FutureMigration() {
  return {kV2Major, kFutureMajor, kV2ToFutureProgram,
          [](MigratingCheckpoint* checkpoint)
              -> absl::StatusOr<std::vector<std::string>> {
            const future::Manifest to = MigrateV2ToFuture(
                checkpoint->v2->message, checkpoint->manifest_digest);
            checkpoint->SetManifest(kFutureMajor, 0, to.SerializeAsString());
            return std::vector<std::string>{"moved step and counters"};
          }};
}

absl::StatusOr<future::Manifest> DecodeFuture(absl::string_view manifest) {
  future::Manifest message;
  if (!message.ParseFromArray(manifest.data(),
                              static_cast<int>(manifest.size()))) {
    return MakeRefusal(Refusal::CORRUPT, "no message of major 3");
  }
  for (const std::string& name : message.required_features()) {
    if (name != kFutureFeature) {
      return MakeRefusal(Refusal::UNKNOWN_FEATURE,
                         absl::StrCat("the file needs the feature \"", name,
                                      "\", which this program does not know"));
    }
  }
  return message;
}

}  // namespace reprise
