#include "trainer/signals/stop_request.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

// Lock-free, so a handler may use it and every thread sees it.
std::atomic<int> first_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

void OnSignal(int number) {
  int first = 0;
  if (first_signal.compare_exchange_strong(first, number)) return;
  if (number == SIGHUP && first == SIGHUP) return;
  _exit(128 + number);
}

absl::Status SetAction(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  if (sigaction(number, &action, nullptr) != 0) {
    return absl::InternalError(absl::StrCat("sigaction of signal ", number,
                                            ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

bool IsIgnored(int number) {
  struct sigaction action {};
  return sigaction(number, nullptr, &action) == 0 &&
         action.sa_handler == SIG_IGN;
}

}  // namespace

std::vector<int> StopRequest::Signals() {
  return {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
}

absl::Status StopRequest::Install() {
  for (int number : Signals()) {
    if (number == SIGHUP && IsIgnored(number)) continue;
    absl::Status status = SetAction(number, OnSignal);
    if (!status.ok()) return status;
  }
  for (int number : {SIGXFSZ, SIGPIPE}) {
    absl::Status status = SetAction(number, SIG_IGN);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

int StopRequest::Signal() {
  return first_signal.load(std::memory_order_relaxed);
}

std::string StopRequest::NameOf(int signal) {
  switch (signal) {
    case 0:
      return "none";
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "SIGHUP";
    case SIGUSR1:
      return "SIGUSR1";
    default:
      return absl::StrCat("signal ", signal);
  }
}

}  // namespace reprise
