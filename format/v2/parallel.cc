#include "format/v2/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace reprise {

absl::Status ParallelFor(int threads, size_t count,
                         const std::function<absl::Status(size_t)>& task) {
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  size_t first_failure = count;
  absl::Status error;
  auto work = [&] {
    while (!failed) {
      const size_t index = next++;
      if (index >= count) return;
      absl::Status status = task(index);
      if (status.ok()) continue;
      failed = true;
      std::lock_guard<std::mutex> lock(mutex);
      if (index < first_failure) {
        first_failure = index;
        error = status;
      }
    }
  };
  std::vector<std::thread> workers;
  for (size_t i = 1; i < std::min<size_t>(std::max(threads, 1), count); ++i) {
    workers.emplace_back(work);
  }
  work();
  for (std::thread& worker : workers) worker.join();
  return error;
}

}  // namespace reprise
