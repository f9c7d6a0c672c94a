// Looks into /proc.
#ifndef REPRISE_CONFORMANCE_RUNNER_PROC_H_
#define REPRISE_CONFORMANCE_RUNNER_PROC_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace reprise::conformance {

struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  // 'R', 'S', 'Z' (ended, not yet reaped), ...
  char state = '?';
  // The kernel's short name of the program.
  std::string name;
};

// Every process that can be seen. Processes come and go meanwhile.
std::vector<ProcessInfo> AllProcesses();

// Those below `root` (not itself), at the time of the call.
std::vector<ProcessInfo> DescendantsOf(pid_t root);

// Those whose initial environment holds `entry` ("NAME=value") exactly. The
// environment of another user's process cannot be read.
std::vector<ProcessInfo> ProcessesMarked(const std::string& entry);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_PROC_H_
