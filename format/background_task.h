// One piece of work at a time on a thread of its own.
//
// Between Start and the moment when running() is false or Wait returns, the
// task alone may touch what it works on; after that the caller may again, and
// sees all that the task wrote. Signals are delivered to other threads.
//
// Thread-compatible.
#ifndef REPRISE_FORMAT_BACKGROUND_TASK_H_
#define REPRISE_FORMAT_BACKGROUND_TASK_H_

#include <atomic>
#include <functional>
#include <thread>

namespace reprise {

class BackgroundTask {
 public:
  BackgroundTask() = default;
  // Waits.
  ~BackgroundTask();

  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;

  // Runs `task` on a new thread, after waiting for the one before. False when
  // the system has no thread to give; then `task` was not run.
  bool Start(std::function<void()> task);

  // Whether a started task has not returned yet. Never waits.
  bool running() const { return running_.load(std::memory_order_acquire); }

  // Returns when no task is running.
  void Wait();

 private:
  std::atomic<bool> running_{false};
  std::thread thread_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_BACKGROUND_TASK_H_
