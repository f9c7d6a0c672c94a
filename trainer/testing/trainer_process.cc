#include "trainer/testing/trainer_process.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace reprise {
namespace {

std::string Environment(const char* name, const std::string& otherwise) {
  const char* value = getenv(name);
  return value != nullptr ? value : otherwise;
}

std::string TrainerPath() {
  return absl::StrCat(Environment("TEST_SRCDIR", "."), "/",
                      Environment("TEST_WORKSPACE", "reprise"),
                      "/trainer/trainer");
}

int NextNumber() {
  static std::atomic<int> number{0};
  return ++number;
}

// Everything below runs between fork and exec.

[[noreturn]] void Give(const char* what) {
  const char* reason = strerror(errno);
  for (const char* text :
       {"could not start the trainer: ", what, ": ", reason}) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0) break;
  }
  _exit(127);
}

void Restrict(const TrainerProcess::Restrictions& restrictions) {
  if (restrictions.max_file_bytes.has_value()) {
    const rlimit limit = {*restrictions.max_file_bytes,
                          *restrictions.max_file_bytes};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) Give("setrlimit");
  }
  if (restrictions.obey_file_modes) {
    // A capability that is out of the bounding set does not survive exec. Who
    // may not drop it does not have it.
    for (int capability : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH}) {
      if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM) {
        Give("prctl(PR_CAPBSET_DROP)");
      }
    }
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const TrainerExit& exit) {
  switch (exit.how) {
    case TrainerExit::How::kCode:
      return out << "exit code " << exit.number;
    case TrainerExit::How::kSignal:
      return out << "signal " << exit.number;
    case TrainerExit::How::kDeadline:
      break;
  }
  return out << "still running at the deadline";
}

std::unique_ptr<TrainerProcess> TrainerProcess::Start(
    const std::vector<std::string>& flags, const Restrictions& restrictions) {
  const std::string path = TrainerPath();
  std::vector<char*> arguments = {const_cast<char*>(path.c_str())};
  for (const std::string& flag : flags) {
    arguments.push_back(const_cast<char*>(flag.c_str()));
  }
  arguments.push_back(nullptr);

  // Nothing of the test's environment but this: libgomp's threads do not spin,
  // a GPU is not seen, and kernels are of the instruction set that the test
  // asks for.
  const std::string home =
      absl::StrCat("HOME=", Environment("TEST_TMPDIR", "/tmp"));
  const std::string capability = absl::StrCat(
      "ATEN_CPU_CAPABILITY=", Environment("ATEN_CPU_CAPABILITY", ""));
  std::vector<const char*> environment = {
      "PATH=/usr/bin:/bin", "OMP_WAIT_POLICY=passive",
      "CUDA_VISIBLE_DEVICES=", home.c_str()};
  if (getenv("ATEN_CPU_CAPABILITY") != nullptr) {
    environment.push_back(capability.c_str());
  }
  environment.push_back(nullptr);

  const std::string output =
      absl::StrCat(Environment("TEST_TMPDIR", "/tmp"), "/output-", getpid(),
                   "-", NextNumber());
  const int output_fd =
      open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC,
           0600);
  const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    dup2(null_fd, STDIN_FILENO);
    dup2(output_fd, STDOUT_FILENO);
    dup2(output_fd, STDERR_FILENO);
    Restrict(restrictions);
    execve(path.c_str(), arguments.data(),
           const_cast<char* const*>(environment.data()));
    Give(path.c_str());
  }
  setpgid(pid, pid);
  close(output_fd);
  close(null_fd);
  auto process =
      std::unique_ptr<TrainerProcess>(new TrainerProcess(pid, output));
  if (pid < 0) process->exit_ = TrainerExit::WithCode(127);
  return process;
}

TrainerProcess::~TrainerProcess() {
  Signal(SIGKILL);
  if (!exit_.has_value()) waitpid(pid_, nullptr, 0);
}

void TrainerProcess::Signal(int signal) {
  if (!exit_.has_value()) kill(-pid_, signal);
}

std::optional<TrainerExit> TrainerProcess::Poll() {
  if (exit_.has_value()) return exit_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  exit_ = WIFSIGNALED(status) ? TrainerExit::BySignal(WTERMSIG(status))
                              : TrainerExit::WithCode(WEXITSTATUS(status));
  return exit_;
}

TrainerExit TrainerProcess::Wait(absl::Duration deadline) {
  const absl::Time end = absl::Now() + deadline;
  while (!Poll().has_value()) {
    if (absl::Now() > end) {
      Signal(SIGKILL);
      waitpid(pid_, nullptr, 0);
      exit_ = TrainerExit{TrainerExit::How::kDeadline, 0};
      break;
    }
    absl::SleepFor(absl::Milliseconds(1));
  }
  return *exit_;
}

std::string TrainerProcess::Output() const {
  std::ifstream file(output_path_);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TrainerResult RunTrainer(const std::vector<std::string>& flags,
                         const TrainerProcess::Restrictions& restrictions) {
  std::unique_ptr<TrainerProcess> process =
      TrainerProcess::Start(flags, restrictions);
  const TrainerExit exit = process->Wait();
  return {exit, process->Output()};
}

std::string FreshFolder(const std::string& name, bool create) {
  const std::string path = absl::StrCat(Environment("TEST_TMPDIR", "/tmp"), "/",
                                        name, "-", getpid(), "-", NextNumber());
  if (create) mkdir(path.c_str(), 0755);
  return path;
}

}  // namespace reprise
