#include "trainer/testing/folder_watch.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "trainer/testing/metrics_records.h"

namespace reprise {

FolderWatch::FolderWatch(const std::string& folder)
    : folder_(folder), fd_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  inotify_add_watch(fd_, folder.c_str(), IN_CREATE | IN_MODIFY);
}

FolderWatch::~FolderWatch() { close(fd_); }

void FolderWatch::TakeEvents() {
  pollfd wait = {fd_, POLLIN, 0};
  if (poll(&wait, 1, /*milliseconds=*/20) <= 0) return;
  alignas(inotify_event) char buffer[1 << 16];
  const ssize_t size = read(fd_, buffer, sizeof(buffer));
  for (ssize_t at = 0; at < size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
    if ((event->mask & IN_CREATE) != 0) created_.push_back(event->name);
    at += sizeof(inotify_event) + event->len;
  }
}

std::optional<std::string> FolderWatch::WaitForCreation(
    const std::string& prefix, TrainerProcess& process,
    absl::Duration deadline) {
  const absl::Time end = absl::Now() + deadline;
  for (;;) {
    while (!created_.empty()) {
      const std::string name = created_.front();
      created_.pop_front();
      if (absl::StartsWith(name, prefix)) return name;
    }
    if (process.Poll().has_value() || absl::Now() > end) return std::nullopt;
    TakeEvents();
  }
}

std::optional<uint64_t> FolderWatch::WaitForStep(uint64_t step,
                                                 TrainerProcess& process,
                                                 absl::Duration deadline) {
  const absl::Time end = absl::Now() + deadline;
  for (;;) {
    const uint64_t last = LastRecordedStep(folder_);
    if (last >= step) return last;
    if (process.Poll().has_value() || absl::Now() > end) return std::nullopt;
    TakeEvents();
  }
}

}  // namespace reprise
