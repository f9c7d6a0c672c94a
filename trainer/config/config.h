// The trainer's configuration: from defaults, files and --set to the one that
// is in force, and what resuming does with it.
//
//   reprise::TrainerConfig given;   // only what the user asked for
//   absl::Status status = reprise::SetField(&given, "optimizer.lr", "0.001");
//   if (!status.ok()) return status;
//   reprise::TrainerConfig config = reprise::Resolve(given);   // a fresh run
//   status = reprise::Validate(config);
//
//   // A resumed run: the checkpoint's fields, and what the user asked for now.
//   absl::StatusOr<reprise::MergedConfig> merged =
//       reprise::MergeForResume(stored_fields, reprise::Flatten(given));
//
// Keep `given` sparse until Resolve: Flatten(given) is then the list of what
// was set explicitly, and defaults that depend on another field
// (precision.scaler) follow that field. Meaning, range and default of each
// field are in trainer/config/v1/trainer_config.proto.
//
// Pure functions, thread-safe.
#ifndef REPRISE_TRAINER_CONFIG_CONFIG_H_
#define REPRISE_TRAINER_CONFIG_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "reprise/spec/vocabulary/v1/vocabulary.pb.h"
#include "reprise/trainer/config/v1/trainer_config.pb.h"

namespace reprise {

using TrainerConfig = ::reprise::trainer::v1::TrainerConfig;

// `given` with every absent field set to its default.
TrainerConfig Resolve(TrainerConfig given);
// Resolve of nothing: the configuration of `bazel run //trainer`.
TrainerConfig Defaults();

// Sets one field, as --set=group.field=value does. Values: true or false;
// decimal integers; numbers with a point or exponent (finite); text as it is.
// INVALID_ARGUMENT for an unknown group or field (naming the nearest and all
// valid ones) and for a value of another type; `config` is then unchanged.
absl::Status SetField(TrainerConfig* config, absl::string_view path,
                      absl::string_view value);

// The text-format file `path`; absent fields stay absent, so Flatten of the
// result is what the file set. NOT_FOUND, UNAVAILABLE (cannot be read), or
// INVALID_ARGUMENT with file, line and column.
absl::StatusOr<TrainerConfig> LoadTextFile(const std::string& path);

// INVALID_ARGUMENT naming every field that is out of its range, with what was
// expected and found; one problem a line. REQUIRES: `config` is resolved (an
// absent field is a problem too).
absl::Status Validate(const TrainerConfig& config);

struct FlatField {
  std::string path;   // "group.field"
  std::string value;  // SetField(path, value) gives the same bits
  vocabulary::v1::ResumeRule rule = vocabulary::v1::RESUME_RULE_UNSPECIFIED;
};

// Every field that is set, sorted by path.
std::vector<FlatField> Flatten(const TrainerConfig& config);

// A field that resuming changed.
struct ConfigChange {
  std::string path;
  std::string before;  // the checkpoint's value
  std::string after;   // in force from now on
};

struct MergedConfig {
  TrainerConfig config;               // resolved
  std::vector<ConfigChange> changes;  // MAY_CHANGE fields only, sorted by path
};

// The configuration of a resumed run: the checkpoint's values, with `given`
// over them. Rules of both lists come from the schema, not from the lists.
//   MUST_MATCH  a different value is refused; FAILED_PRECONDITION names every
//               such field, the checkpoint's value and the one asked for
//   MAY_CHANGE  applied and listed in `changes`
//   RECORDED    applied
// A field that the checkpoint does not have (written before it existed) has
// its default. FAILED_PRECONDITION for a stored field that this trainer does
// not know; INVALID_ARGUMENT as for SetField and, once merged, Validate.
absl::StatusOr<MergedConfig> MergeForResume(
    const std::vector<FlatField>& stored, const std::vector<FlatField>& given);

}  // namespace reprise

#endif  // REPRISE_TRAINER_CONFIG_CONFIG_H_
