// Work on numbered tasks by several threads.
#ifndef REPRISE_FORMAT_V2_PARALLEL_H_
#define REPRISE_FORMAT_V2_PARALLEL_H_

#include <cstddef>
#include <functional>

#include "absl/status/status.h"

namespace reprise {

// Calls `task` with 0 to count - 1, by up to `threads` threads; by one, in
// order and on this thread. After an error no new task is begun; of several
// errors the one of the lowest number is returned.
absl::Status ParallelFor(int threads, size_t count,
                         const std::function<absl::Status(size_t)>& task);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_PARALLEL_H_
