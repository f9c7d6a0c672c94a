// Small testees for tests: a line of shell that writes events.
#ifndef REPRISE_CONFORMANCE_RUNNER_TESTING_SCRIPT_H_
#define REPRISE_CONFORMANCE_RUNNER_TESTING_SCRIPT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "conformance/runner/attempt.h"

namespace reprise::conformance {

// A new empty folder of this test.
std::string FreshFolder(absl::string_view name);

// Options that run `script` with /bin/sh in a fresh folder; "$1" is the events
// file. These functions are at the script's disposal:
//
//   start [RESUMED]   StartEvent       step N     StepEvent
//   begun N           SaveEvent        committed N
//   finish            EndEvent that says finished
//   event JSON        any line
//
// The deadlines are those of impatient people: 5 s for everything.
AttemptOptions ScriptOptions(const std::string& script);

// Whether a process runs whose environment holds `entry`.
bool AnyProcessMarked(const std::string& entry);

// Waits up to ten seconds until none does.
bool NoneMarkedSoon(const std::string& entry);

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, absl::string_view text);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_TESTING_SCRIPT_H_
