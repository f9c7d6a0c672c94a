// Identity of a run (Snapshot::run_id). Thread-safe.
//
// Example (a test as well):
//
//   snapshot.run_id = reprise::DrawRunId();  // once, when the run begins
#ifndef REPRISE_FORMAT_RUN_ID_H_
#define REPRISE_FORMAT_RUN_ID_H_

#include <string>

namespace reprise {

// 32 lower-case hexadecimal digits from the operating system's entropy. It
// names a run and never reaches its computation.
std::string DrawRunId();

}  // namespace reprise

#endif  // REPRISE_FORMAT_RUN_ID_H_
