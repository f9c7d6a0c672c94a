// One attempt: a testee is started, watched, perhaps killed, and what became of
// it gets a name.
//
//   AttemptOptions options;
//   options.command = {"/usr/bin/python3", "/home/me/testee.py", "run",
//                      "--request=/tmp/c/attempt-1/request.json"};
//   options.working_folder = "/tmp/place/cwd";
//   options.environment = TesteeEnvironment({}, "/tmp/place/home",
//   "/tmp/place"); options.events_path = "/tmp/c/attempt-1/events.jsonl";
//   options.stdout_path = "/tmp/c/attempt-1/stdout";
//   options.stderr_path = "/tmp/c/attempt-1/stderr";
//   AttemptResult result = RunAttempt(options);
//   if (result.record.outcome() == v1::OUTCOME_FINISHED) ...
//
// RunAttempt always returns: within the deadlines, plus at most half a minute
// for a tree that withstands SIGKILL. Nothing of the testee is left then. It
// trusts nothing that the testee does or writes. Not thread-safe.
#ifndef REPRISE_CONFORMANCE_RUNNER_ATTEMPT_H_
#define REPRISE_CONFORMANCE_RUNNER_ATTEMPT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "conformance/runner/event_tail.h"
#include "conformance/runner/outcome.h"
#include "reprise/conformance/proto/v1/protocol.pb.h"
#include "reprise/conformance/runner/v1/record.pb.h"

namespace reprise::conformance {

struct Deadlines {
  // From the start of the process to its StartEvent.
  absl::Duration start = absl::Minutes(2);
  // From one event to the next, and from the EndEvent to the end of the
  // process.
  absl::Duration silence = absl::Minutes(2);
  // Of everything.
  absl::Duration whole = absl::Minutes(30);
  // From a SIGTERM to the end of the process.
  absl::Duration grace = absl::Seconds(30);
  // How long its other processes may outlive the one that was started.
  absl::Duration rest = absl::Seconds(1);
};

struct AttemptLimits {
  // Standard output and error together; cut there.
  uint64_t log_bytes = uint64_t{16} << 20;
  EventTail::Limits events;
};

struct AttemptOptions {
  std::vector<std::string> command;
  std::string working_folder;
  std::vector<std::string> environment;
  // Empty: no events are expected ("describe"), and exit code 0 is FINISHED.
  std::string events_path;
  std::string stdout_path;
  std::string stderr_path;
  v1::Kill kill;
  // Mean durations, for the kill.
  v1::Geometry means;
  // Exit code 10 is FALSE_CLAIM rather than UNSUPPORTED.
  bool all_features_claimed = false;
  Deadlines deadlines;
  AttemptLimits limits;
  // Asked every few milliseconds; true ends the attempt as CANCELLED.
  std::function<bool()> cancelled;
  std::function<void(const v1::Event&)> on_event;
};

struct AttemptResult {
  v1::AttemptRecord record;
  std::vector<v1::Event> events;
  // Seconds since the start at which each event was seen.
  std::vector<double> seconds;
};

AttemptResult RunAttempt(const AttemptOptions& options);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_ATTEMPT_H_
