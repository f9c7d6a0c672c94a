// What a run recorded of every step, read back for comparison to the last bit.
//
//   MetricsRecords run = ReadMetrics(run_folder).value();
//   run.kept        what stands, in order: metrics.jsonl
//   run.superseded  what an earlier attempt did beyond the checkpoint that a
//                   later one resumed from: metrics.superseded.jsonl
//
// This is a reader of its own, on purpose: it does not share code with the
// trainer's writer. Its input is JSON Lines; a number that decides anything is
// {"v": 0.5, "bits": "3f000000"}, and of such a number only the bits count
// here.
#ifndef REPRISE_TRAINER_TESTING_METRICS_RECORDS_H_
#define REPRISE_TRAINER_TESTING_METRICS_RECORDS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

struct MetricsRecord {
  std::string type;  // "step" or "eval"
  uint64_t attempt = 0;
  uint64_t step = 0;  // attempted steps completed with this one
  // Every other field by name, as text: bits in hexadecimal, lists joined by
  // commas, "null" for null.
  std::map<std::string, std::string> channels;
};

struct MetricsRecords {
  std::vector<MetricsRecord> kept;
  std::vector<MetricsRecord> superseded;
};

// One line. Errors: InvalidArgument with the line in it.
absl::StatusOr<MetricsRecord> ParseMetricsLine(absl::string_view line);

// Both files of `run_folder`; a file that is not there has no records. A last
// line without its newline was cut by a kill and is left out, and so is, among
// the superseded, one that does not end as a record does. Errors: those of
// ParseMetricsLine.
absl::StatusOr<MetricsRecords> ReadMetrics(const std::string& run_folder);

// The step of the last kept record of a step so far; 0 without any.
uint64_t LastRecordedStep(const std::string& run_folder);

}  // namespace reprise

#endif  // REPRISE_TRAINER_TESTING_METRICS_RECORDS_H_
