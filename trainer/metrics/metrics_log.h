// MetricsLog: RUN/metrics.jsonl, what every step did, never twice.
//
//   absl::StatusOr<reprise::MetricsLog> log =
//       reprise::MetricsLog::OpenForResume("/tmp/run", /*step=*/0);
//   if (!log.ok()) return log.status();
//   reprise::StepEvent event;
//   event.step = 1;
//   absl::Status status = log->Append(event);
//   ...
//   status = log->Sync();   // before the checkpoint of this step is committed
//
//   RUN/metrics.jsonl              the run that stands: steps 1, 2, 3, ...
//   RUN/metrics.superseded.jsonl   what attempts did beyond the checkpoint that
//                                  a later one resumed from
//
// Every event is one write(2) of a whole line to a file opened with O_APPEND,
// so a reader sees whole lines, except that a kill can cut the last one.
//
// The log holds no training state: losing it changes no step of the run. The
// caller holds the run folder's lock.
#ifndef REPRISE_TRAINER_METRICS_METRICS_LOG_H_
#define REPRISE_TRAINER_METRICS_METRICS_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "trainer/metrics/event.h"

namespace reprise {

inline constexpr char kMetricsFile[] = "metrics.jsonl";
inline constexpr char kSupersededMetricsFile[] = "metrics.superseded.jsonl";

// Move-only; not thread-safe.
class MetricsLog {
 public:
  // Opens the log of `run_folder` (which exists) for a run that goes on after
  // attempted step `step`; 0: a fresh one. Lines of later steps, lines that are
  // no event, and a last line that was cut move to the superseded file, in
  // their order.
  //
  // In this order: append them there, fsync; write the lines that stay to
  // metrics.jsonl.tmp, fsync; rename it; fsync the folder. So a kill at any
  // moment loses no line. A kill before the rename leaves metrics.jsonl as it
  // was, and the next call moves the lines again: they are then twice in the
  // superseded file, never twice in metrics.jsonl.
  //
  // Reads the whole file into memory. Errors: UNAVAILABLE naming the file, the
  // operation and the system's reason.
  static absl::StatusOr<MetricsLog> OpenForResume(const std::string& run_folder,
                                                  uint64_t step);

  MetricsLog(MetricsLog&& other);
  MetricsLog& operator=(MetricsLog&& other);
  ~MetricsLog();

  // Appends one line. After an error the file holds what it held before.
  absl::Status Append(const StepEvent& event);
  absl::Status Append(const EvaluationEvent& event);

  // Makes what was appended durable (fdatasync).
  absl::Status Sync();

  // Step of the last evaluation in the log; 0: there is none.
  uint64_t last_evaluated_step() const { return last_evaluated_step_; }
  // Lines that OpenForResume moved.
  uint64_t superseded_lines() const { return superseded_lines_; }

 private:
  MetricsLog(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}

  absl::Status AppendLine(std::string line);

  std::string path_;
  int descriptor_ = -1;
  uint64_t last_evaluated_step_ = 0;
  uint64_t superseded_lines_ = 0;
};

// The events of the file `path`, in order. A last line without its newline was
// cut by a kill and is left out. NOT_FOUND; UNAVAILABLE; DATA_LOSS naming file,
// line and column for anything that is not an event.
absl::StatusOr<std::vector<MetricsEvent>> ReadMetricsFile(
    const std::string& path);

}  // namespace reprise

#endif  // REPRISE_TRAINER_METRICS_METRICS_LOG_H_
