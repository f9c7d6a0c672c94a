// The trainer's configuration: from defaults, files and --set to the one that
// is in force, and what resuming does with it.
//
//   reprise::ExplicitFields given = {{"optimizer.lr", "0.001"}};
//   // A fresh run.
//   absl::StatusOr<reprise::TrainerConfig> config =
//       reprise::WithExplicitFields(reprise::Defaults(), given);
//   if (!config.ok()) return config.status();
//   absl::Status status = reprise::Validate(*config);
//   if (!status.ok()) return status;
//
//   // A resumed run: the checkpoint's fields, and what the user asked for now.
//   absl::StatusOr<reprise::MergedConfig> merged =
//       reprise::MergeForResume(snapshot.config, given);
//
// Meaning, range and default of each field are in
// trainer/config/v1/trainer_config.proto. Pure functions, thread-safe.
#ifndef REPRISE_TRAINER_CONFIG_CONFIG_H_
#define REPRISE_TRAINER_CONFIG_CONFIG_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/snapshot.h"
#include "reprise/trainer/config/v1/trainer_config.pb.h"

namespace reprise {

using TrainerConfig = ::reprise::trainer::v1::TrainerConfig;

// Fields that the user set, by file, flag or --set: path -> value.
using ExplicitFields = std::map<std::string, std::string>;

// `config` with every absent field set to its default; some depend on other
// fields, as trainer_config.proto says.
TrainerConfig Resolve(TrainerConfig config);
// Resolve of nothing: the configuration of `bazel run //trainer`.
TrainerConfig Defaults();

// `base` with `given` over it. A field whose default depends on another one
// takes its new default when that one changes, unless it is given too: another
// precision.mode brings its precision.scaler, model.kind=gpt its data. Values
// are of the right type and not yet validated. Errors: those of SetField.
absl::StatusOr<TrainerConfig> WithExplicitFields(TrainerConfig base,
                                                 const ExplicitFields& given);

// Sets one field, as --set=group.field=value does. Values: true or false;
// decimal integers; numbers with a point or exponent (finite); text as it is.
// INVALID_ARGUMENT for an unknown group or field (naming the nearest and all
// valid ones) and for a value of another type; `config` is then unchanged.
absl::Status SetField(TrainerConfig* config, absl::string_view path,
                      absl::string_view value);

// The fields that the text-format file `path` sets, and no others. NOT_FOUND,
// UNAVAILABLE (cannot be read), or INVALID_ARGUMENT with file, line and column.
absl::StatusOr<ExplicitFields> LoadTextFile(const std::string& path);

// INVALID_ARGUMENT naming every field that is out of its range, with what was
// expected and found; one problem a line. REQUIRES: `config` is resolved (an
// absent field is a problem too).
absl::Status Validate(const TrainerConfig& config);

// Every field that is set, sorted by path, with its rule. SetField(path, value)
// gives the same bits. `previous` is left empty.
using FlatField = ConfigField;
std::vector<FlatField> Flatten(const TrainerConfig& config);

// A field that resuming changed.
struct ConfigChange {
  std::string path;
  std::string old_value;  // the checkpoint's
  std::string new_value;  // in force from now on
};

struct MergedConfig {
  TrainerConfig config;               // resolved
  std::vector<ConfigChange> changes;  // MAY_CHANGE fields only, sorted by path
};

// The configuration of a resumed run: the checkpoint's values, with `given`
// over them. The rules are the schema's, whatever `stored` says.
//   MUST_MATCH  a different value is refused; FAILED_PRECONDITION names every
//               such field, the checkpoint's value and the one asked for
//   MAY_CHANGE  applied and listed in `changes`
//   RECORDED    applied
// A field that the checkpoint does not have (written before it existed) has
// its default. FAILED_PRECONDITION for a stored field that this trainer does
// not know; INVALID_ARGUMENT as for SetField and, once merged, Validate.
absl::StatusOr<MergedConfig> MergeForResume(
    const std::vector<ConfigField>& stored, const ExplicitFields& given);

}  // namespace reprise

#endif  // REPRISE_TRAINER_CONFIG_CONFIG_H_
