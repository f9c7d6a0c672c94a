#include "conformance/runner/process_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "conformance/runner/guardian.h"
#include "conformance/runner/proc.h"

namespace reprise::conformance {
namespace {

// A file descriptor that is closed with its scope.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  int Release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

absl::Status Failed(absl::string_view what, absl::string_view path = "") {
  return absl::InternalError(absl::StrCat(
      "cannot ", what, path.empty() ? "" : " ", path, ": ", strerror(errno)));
}

absl::StatusOr<std::string> NewMark() {
  uint64_t random[2];
  if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
    return Failed("draw random bytes");
  }
  return absl::StrCat(
      "REPRISE_ATTEMPT=", absl::Hex(random[0], absl::kZeroPad16),
      absl::Hex(random[1], absl::kZeroPad16));
}

// The path that a shell with this environment would execute.
std::string FindProgram(const std::string& program,
                        const std::vector<std::string>& environment) {
  if (absl::StrContains(program, "/")) return program;
  for (const std::string& entry : environment) {
    if (!absl::StartsWith(entry, "PATH=")) continue;
    for (absl::string_view folder : absl::StrSplit(entry.substr(5), ':')) {
      const std::string path = absl::StrCat(folder, "/", program);
      if (!folder.empty() && access(path.c_str(), X_OK) == 0) return path;
    }
  }
  return program;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessTree>> ProcessTree::Start(
    const Options& options) {
  if (options.command.empty()) {
    return absl::InvalidArgumentError("the command is empty");
  }
  absl::StatusOr<std::string> mark = NewMark();
  if (!mark.ok()) return mark.status();
  std::vector<std::string> environment = options.environment;
  environment.push_back(*mark);
  const std::string program =
      FindProgram(options.command[0], options.environment);
  const std::vector<char*> arguments = Pointers(options.command);
  const std::vector<char*> variables = Pointers(environment);

  const int append = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
  const Fd in(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Fd out(open(options.stdout_path.c_str(), append, 0644));
  if (out.get() < 0) return Failed("open", options.stdout_path);
  const Fd err(open(options.stderr_path.c_str(), append, 0644));
  if (err.get() < 0) return Failed("open", options.stderr_path);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    return Failed("make a socket");
  }
  Fd ours(pair[0]);
  const Fd theirs(pair[1]);

  // Should a guardian die, what it guarded comes to us and not to init.
  prctl(PR_SET_CHILD_SUBREAPER, 1);

  const GuardianTask task = {
      program.c_str(),
      arguments.data(),
      variables.data(),
      options.working_folder.c_str(),
      in.get(),
      out.get(),
      err.get(),
      theirs.get(),
      absl::ToInt64Milliseconds(options.grace_for_rest),
  };
  const pid_t guardian = fork();
  if (guardian < 0) return Failed("fork");
  if (guardian == 0) RunGuardian(task);

  std::unique_ptr<ProcessTree> tree(new ProcessTree());
  tree->guardian_ = guardian;
  tree->socket_ = ours.Release();
  tree->mark_ = *mark;
  return tree;
}

ProcessTree::~ProcessTree() {
  if (!gone_) {
    KillAll();
    WaitUntilGone();
  }
  close(socket_);
}

void ProcessTree::Update() {
  while (!gone_) {
    GuardianReport report;
    const ssize_t got = recv(socket_, &report, sizeof(report), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got != sizeof(report)) return GuardianIsLost();
    report.text[sizeof(report.text) - 1] = '\0';
    switch (report.kind) {
      case GuardianReport::kStartFailed:
        start_failure_ =
            absl::StrCat("cannot ", report.text, ": ", strerror(report.number));
        break;
      case GuardianReport::kEnded: {
        ProcessEnd end;
        if (WIFSIGNALED(report.number)) {
          end.signal = WTERMSIG(report.number);
        } else {
          end.exit_code = WEXITSTATUS(report.number);
        }
        end.killed_by_owner = report.by_us != 0;
        end_ = end;
        break;
      }
      case GuardianReport::kGone:
        left_behind_ = absl::StrSplit(report.text, '\n', absl::SkipEmpty());
        if (report.number != 0) {
          trouble_ = absl::StrCat(report.number,
                                  " processes withstood SIGKILL (stuck in the "
                                  "kernel?)");
        }
        gone_ = true;
        waitpid(guardian_, nullptr, 0);
        break;
    }
  }
}

void ProcessTree::GuardianIsLost() {
  trouble_ = "the guardian of the process was killed by somebody else";
  // It may only be stopped or have closed its socket.
  kill(guardian_, SIGKILL);
  waitpid(guardian_, nullptr, 0);
  for (int round = 0; round < 1000; ++round) {
    bool found = false;
    for (const ProcessInfo& process : ProcessesMarked(mark_)) {
      if (process.pid == getpid()) continue;
      if (process.state != 'Z') {
        found = true;
        kill(process.pid, SIGKILL);
      }
      // Only what came to us can be reaped by us.
      if (process.parent == getpid()) waitpid(process.pid, nullptr, WNOHANG);
    }
    if (!found) break;
    absl::SleepFor(absl::Milliseconds(2));
  }
  gone_ = true;
}

void ProcessTree::Signal(int signal) {
  if (gone_) return;
  const GuardianOrder order = {GuardianOrder::kSignal, signal};
  send(socket_, &order, sizeof(order), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void ProcessTree::KillAll() {
  if (gone_) return;
  const GuardianOrder order = {GuardianOrder::kKillAll, 0};
  send(socket_, &order, sizeof(order), MSG_NOSIGNAL | MSG_DONTWAIT);
  // In case that the process stopped its guardian.
  kill(guardian_, SIGCONT);
}

bool ProcessTree::WaitUntilGone(absl::Duration patience) {
  const absl::Time end = absl::Now() + patience;
  Update();
  while (!gone_) {
    if (absl::Now() > end) {
      GuardianIsLost();
      trouble_ = "the guardian of the process did not answer";
      break;
    }
    pollfd ready = {socket_, POLLIN, 0};
    poll(&ready, 1, 50);
    Update();
  }
  return trouble_.empty();
}

}  // namespace reprise::conformance
