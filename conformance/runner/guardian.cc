#include "conformance/runner/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "conformance/runner/proc.h"

namespace reprise::conformance {
namespace {

// How long the guardian goes on killing what does not die.
constexpr int64_t kStubbornMs = 10000;

int64_t NowMs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

void SleepMs(int ms) { poll(nullptr, 0, ms); }

// What the child tells when it could not become the program.
struct StartFailure {
  int error;
  char step[64];
};

[[noreturn]] void GiveUpStart(int pipe, const char* step) {
  StartFailure failure = {};
  failure.error = errno;
  strncpy(failure.step, step, sizeof(failure.step) - 1);
  // Nobody is left to tell when this fails.
  const ssize_t ignored = write(pipe, &failure, sizeof(failure));
  static_cast<void>(ignored);
  _exit(127);
}

void ResetSignals() {
  // Asked of the kernel itself: the C library hides two signals, which some
  // launchers ignore. All zeros is SIG_DFL without flags or mask.
  const unsigned long defaults[4] = {};  // NOLINT: the kernel's own layout
  for (int number = 1; number <= 64; ++number) {
    syscall(SYS_rt_sigaction, number, defaults, nullptr, 8);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void BecomeProgram(const GuardianTask& task, pid_t guardian,
                                int pipe) {
  setsid();
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) GiveUpStart(pipe, "prctl");
  if (getppid() != guardian) _exit(127);
  if (chdir(task.working_folder) != 0) GiveUpStart(pipe, "enter its folder");
  if (dup2(task.stdin_fd, STDIN_FILENO) < 0 ||
      dup2(task.stdout_fd, STDOUT_FILENO) < 0 ||
      dup2(task.stderr_fd, STDERR_FILENO) < 0) {
    GiveUpStart(pipe, "redirect its output");
  }
  ResetSignals();
  execve(task.program, task.arguments, task.environment);
  GiveUpStart(pipe, "execute it");
}

class Guardian {
 public:
  explicit Guardian(const GuardianTask& task) : task_(task) {}

  [[noreturn]] void Run() {
    Seclude();
    Start();
    for (;;) {
      pollfd ready[2] = {{task_.socket, POLLIN, 0}, {signals_, POLLIN, 0}};
      // The timeout is a second string to SIGCHLD's bow.
      poll(ready, 2, main_ended_ ? 5 : 200);
      signalfd_siginfo info;
      while (read(signals_, &info, sizeof(info)) > 0) {
      }
      // A death before an order to kill was not ours.
      Reap(/*by_us=*/false);
      if (ready[0].revents != 0) Obey();
      if (main_ended_) {
        if (!HasChildren()) Finish(0);
        if (NowMs() - ended_at_ >= task_.grace_ms) {
          NoteLeftBehind();
          KillAllAndFinish();
        }
      }
    }
  }

 private:
  // Nothing that hits the owner or its terminal shall hit the guardian.
  void Seclude() {
    setsid();
    prctl(PR_SET_NAME, "reprise-guard");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    // A parent may have ignored SIGCHLD, which would throw exit codes away.
    signal(SIGCHLD, SIG_DFL);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    signals_ = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    CloseForeignFiles();
    // Standard streams of the owner: a pipe there must not stay open for us.
    for (int fd = 0; fd <= 2; ++fd) {
      if (fd != task_.socket) dup2(task_.stdin_fd, fd);
    }
  }

  // Another tree's socket kept open here would hide its owner's death.
  void CloseForeignFiles() {
    const int keep[] = {task_.stdin_fd, task_.stdout_fd, task_.stderr_fd,
                        task_.socket, signals_};
    unsigned first = 3;
    for (;;) {
      unsigned next = ~0U;
      for (const int fd : keep) {
        if (fd >= 0 && unsigned(fd) >= first && unsigned(fd) < next) next = fd;
      }
      if (next == ~0U) break;
      if (next > first) syscall(SYS_close_range, first, next - 1, 0);
      first = next + 1;
    }
    syscall(SYS_close_range, first, ~0U, 0);
  }

  void Start() {
    int pipe[2];
    const pid_t self = getpid();
    if (pipe2(pipe, O_CLOEXEC) != 0) FailStart(errno, "make a pipe");
    main_ = fork();
    if (main_ < 0) FailStart(errno, "fork");
    if (main_ == 0) BecomeProgram(task_, self, pipe[1]);
    close(pipe[1]);
    StartFailure failure;
    ssize_t got;
    do {
      got = read(pipe[0], &failure, sizeof(failure));
    } while (got < 0 && errno == EINTR);
    close(pipe[0]);
    if (got == sizeof(failure)) FailStart(failure.error, failure.step);
    close(task_.stdout_fd);
    close(task_.stderr_fd);
  }

  [[noreturn]] void FailStart(int error, const char* step) {
    GuardianReport report = {};
    report.kind = GuardianReport::kStartFailed;
    report.number = error;
    strncpy(report.text, step, sizeof(report.text) - 1);
    Send(report);
    if (main_ > 0) waitpid(main_, nullptr, 0);
    Finish(0);
  }

  void Send(const GuardianReport& report) {
    // MSG_NOSIGNAL: the owner may be gone.
    send(task_.socket, &report, sizeof(report), MSG_NOSIGNAL);
  }

  // Takes in every child that has ended, ours or adopted.
  void Reap(bool by_us) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid != main_) continue;
      main_ended_ = true;
      ended_at_ = NowMs();
      GuardianReport report = {};
      report.kind = GuardianReport::kEnded;
      report.number = status;
      report.by_us =
          by_us && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
      Send(report);
    }
  }

  bool HasChildren() {
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ||
           errno != ECHILD;
  }

  void Obey() {
    GuardianOrder order;
    for (;;) {
      const ssize_t got =
          recv(task_.socket, &order, sizeof(order), MSG_DONTWAIT);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      // Closed: the owner is gone.
      if (got <= 0 || order.kind == GuardianOrder::kKillAll) {
        KillAllAndFinish();
      }
      if (got == sizeof(order) && !main_ended_) kill(main_, order.signal);
    }
  }

  void NoteLeftBehind() {
    for (const ProcessInfo& process : DescendantsOf(getpid())) {
      if (process.state == 'Z') continue;
      const std::string line =
          std::to_string(process.pid) + " " + process.name + "\n";
      if (left_behind_.size() + line.size() < sizeof(GuardianReport::text)) {
        left_behind_ += line;
      }
    }
  }

  [[noreturn]] void KillAllAndFinish() {
    // Whoever died up to here did so without us.
    Reap(/*by_us=*/false);
    // One atomic blow for those that stayed in the group; nobody can fork out
    // of it meanwhile.
    if (!main_ended_) kill(-main_, SIGKILL);
    const int64_t give_up = NowMs() + kStubbornMs;
    int stuck = 0;
    while (HasChildren()) {
      // Stopped first, so that a tree that forks faster than we look comes to
      // rest before it is killed.
      for (const ProcessInfo& process : DescendantsOf(getpid())) {
        if (process.state != 'Z') kill(process.pid, SIGSTOP);
      }
      stuck = 0;
      for (const ProcessInfo& process : DescendantsOf(getpid())) {
        if (process.state == 'Z') continue;
        kill(process.pid, SIGKILL);
        ++stuck;
      }
      Reap(/*by_us=*/true);
      if (!HasChildren()) {
        stuck = 0;
        break;
      }
      if (NowMs() > give_up) break;
      SleepMs(1);
    }
    Finish(stuck);
  }

  [[noreturn]] void Finish(int stuck) {
    GuardianReport report = {};
    report.kind = GuardianReport::kGone;
    report.number = stuck;
    memcpy(report.text, left_behind_.data(), left_behind_.size());
    Send(report);
    _exit(0);
  }

  const GuardianTask task_;
  pid_t main_ = -1;
  int signals_ = -1;
  bool main_ended_ = false;
  int64_t ended_at_ = 0;
  std::string left_behind_;
};

}  // namespace

void RunGuardian(const GuardianTask& task) { Guardian(task).Run(); }

}  // namespace reprise::conformance
