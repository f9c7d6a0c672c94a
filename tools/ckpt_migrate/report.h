// What ckpt_migrate says about a migration: for people and for programs.
// Thread-safe.
#ifndef REPRISE_TOOLS_CKPT_MIGRATE_REPORT_H_
#define REPRISE_TOOLS_CKPT_MIGRATE_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "format/migrate/migrate_run.h"
#include "format/vocabulary.h"

namespace reprise::ckpt_migrate {

// Several lines that end in one. `explain` gives every name and reason that is
// shortened otherwise.
std::string TextReport(const std::string& source, const MigratedRun& run,
                       bool explain);

// A Report (report.proto) as one line of JSON and its end.
std::string JsonReport(const std::string& source, const MigratedRun& run);
std::string JsonFailure(const std::string& source, const std::string& out,
                        const absl::Status& status, ExitCode exit_code);

}  // namespace reprise::ckpt_migrate

#endif  // REPRISE_TOOLS_CKPT_MIGRATE_REPORT_H_
