#include "format/background_task.h"

#include <signal.h>

#include <system_error>
#include <utility>

namespace reprise {

BackgroundTask::~BackgroundTask() { Wait(); }

bool BackgroundTask::Start(std::function<void()> task) {
  Wait();
  // A new thread inherits the mask: a program's handlers run where it expects
  // them, and interrupt the calls that it expects them to.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  running_.store(true, std::memory_order_relaxed);
  try {
    thread_ = std::thread([this, work = std::move(task)]() mutable {
      work();
      // What it holds may be large, and belongs to the task.
      work = nullptr;
      running_.store(false, std::memory_order_release);
    });
  } catch (const std::system_error&) {
    running_.store(false, std::memory_order_relaxed);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread_.joinable();
}

void BackgroundTask::Wait() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace reprise
