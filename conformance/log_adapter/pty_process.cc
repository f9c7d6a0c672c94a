#include "conformance/log_adapter/pty_process.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace reprise::conformance {

absl::StatusOr<std::unique_ptr<PtyProcess>> PtyProcess::Start(
    const std::vector<std::string>& command,
    const std::vector<std::pair<std::string, std::string>>& environment,
    const std::string& folder) {
  std::vector<char*> arguments;
  for (const std::string& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  // What is written shall come out as it is, without echo.
  termios settings = {};
  cfmakeraw(&settings);
  settings.c_cflag |= CREAD | CS8;
  winsize size = {};
  size.ws_row = 50;
  size.ws_col = 500;
  const pid_t parent = getpid();
  int fd = -1;
  const pid_t pid = forkpty(&fd, nullptr, &settings, &size);
  if (pid < 0) {
    return absl::InternalError(
        absl::StrCat("cannot make a terminal: ", strerror(errno)));
  }
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const auto& [name, value] : environment) {
      setenv(name.c_str(), value.c_str(), 1);
    }
    if (folder.empty() || chdir(folder.c_str()) == 0) {
      execvp(arguments[0], arguments.data());
    }
    dprintf(STDERR_FILENO, "cannot execute %s: %s\n", arguments[0],
            strerror(errno));
    _exit(127);
  }
  return std::unique_ptr<PtyProcess>(new PtyProcess(pid, fd));
}

PtyProcess::~PtyProcess() {
  if (!ended_) {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(fd_);
}

bool PtyProcess::Read(absl::Duration patience, std::string* bytes) {
  // Seen first: what an ended program wrote is already there then.
  if (!ended_ && waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
  pollfd ready = {fd_, POLLIN, 0};
  poll(&ready, 1, ended_ ? 0 : absl::ToInt64Milliseconds(patience));
  char buffer[65536];
  ssize_t got = 0;
  if ((ready.revents & (POLLIN | POLLHUP)) != 0) {
    got = read(fd_, buffer, sizeof(buffer));
  }
  if (got > 0) {
    bytes->append(buffer, got);
    return true;
  }
  if (!ended_ && (ready.revents & POLLHUP) != 0) {
    // It closed its terminal and lives on: nothing to wait for but its end.
    poll(nullptr, 0, absl::ToInt64Milliseconds(patience));
  }
  return !ended_;
}

void PtyProcess::Signal(int number) {
  if (!ended_) kill(pid_, number);
}

}  // namespace reprise::conformance
