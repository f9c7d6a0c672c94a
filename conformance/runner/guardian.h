// The guardian's side of ProcessTree: see process_tree.h. Private to it.
#ifndef REPRISE_CONFORMANCE_RUNNER_GUARDIAN_H_
#define REPRISE_CONFORMANCE_RUNNER_GUARDIAN_H_

#include <cstdint>

namespace reprise::conformance {

// Messages over the socket, each one packet.
struct GuardianOrder {
  enum Kind : int32_t { kSignal, kKillAll };
  Kind kind;
  int32_t signal;
};

struct GuardianReport {
  enum Kind : int32_t {
    // `number`: errno of the step that `text` names.
    kStartFailed,
    // `number`: status as from waitpid; `by_us`: of the guardian's SIGKILL.
    kEnded,
    // `text`: one "pid name" a line of what had to be killed after the grace;
    // `number`: how many withstood.
    kGone,
  };
  Kind kind;
  int32_t number;
  int32_t by_us;
  char text[1024];
};

// All that the guardian needs, made before the fork.
struct GuardianTask {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* working_folder;
  int stdin_fd;
  int stdout_fd;
  int stderr_fd;
  int socket;
  int64_t grace_ms;
};

// Starts the process and watches it. Call it in a fresh fork.
[[noreturn]] void RunGuardian(const GuardianTask& task);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_GUARDIAN_H_
