#include "trainer/signals/stop_request.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

// A child process that runs `body` after Install and exits with its result.
// Synchronised by a pipe: the parent goes on when the child is ready.
class Child {
 public:
  explicit Child(
      const std::function<int(int ready_fd)>& body,
      const std::function<void()>& before_install = [] {}) {
    int ends[2], release[2];
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(pipe(release), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      close(release[1]);
      release_fd = release[0];
      before_install();
      if (!StopRequest::Install().ok()) _exit(99);
      _exit(body(ends[1]));
    }
    close(ends[1]);
    close(release[0]);
    fd_ = ends[0];
    release_ = release[1];
  }
  ~Child() {
    close(fd_);
    if (release_ >= 0) close(release_);
  }

  // In the child: end of file when the parent calls Release.
  static int release_fd;
  void Release() { close(std::exchange(release_, -1)); }

  void Send(int number) { EXPECT_EQ(kill(pid_, number), 0); }

  // One line the child wrote; empty when it ended without.
  std::string ReadLine() {
    std::string line;
    char c;
    while (read(fd_, &c, 1) == 1 && c != '\n') line.push_back(c);
    return line;
  }

  // Exit code, or 1000 + signal when one killed it.
  int Wait() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
  int fd_;
  int release_;
};
int Child::release_fd = -1;

void Say(int fd, const std::string& text) {
  std::string line = text + "\n";
  if (write(fd, line.data(), line.size()) < 0) _exit(98);
}

// Says "ready", waits for a request, says its name, and stays until released.
int WaitAndReport(int fd) {
  Say(fd, StopRequest::Requested() ? "early" : "ready");
  while (!StopRequest::Requested()) usleep(1000);
  Say(fd, StopRequest::Name());
  char c;
  return read(Child::release_fd, &c, 1) == 0 ? 13 : 97;
}

TEST(StopRequest, ListsEverySignalThatAPersonOrASchedulerSends) {
  EXPECT_EQ(StopRequest::Signals(),
            (std::vector<int>{SIGINT, SIGTERM, SIGHUP, SIGUSR1}));
  for (int number : StopRequest::Signals()) {
    EXPECT_EQ(StopRequest::NameOf(number).substr(0, 3), "SIG");
  }
}

TEST(StopRequest, FirstOfEachSignalOnlyAsks) {
  for (int number : StopRequest::Signals()) {
    Child child([number](int fd) {
      Say(fd, "ready");
      while (!StopRequest::Requested()) usleep(1000);
      return StopRequest::Signal() == number ? 13 : 97;
    });
    EXPECT_EQ(child.ReadLine(), "ready");
    child.Send(number);
    EXPECT_EQ(child.Wait(), 13) << "signal " << number;
  }
}

TEST(StopRequest, SecondSignalExitsAtOnceWith128PlusItsNumber) {
  struct {
    int first, second;
  } cases[] = {{SIGINT, SIGINT}, {SIGUSR1, SIGTERM}, {SIGHUP, SIGINT}};
  for (const auto& c : cases) {
    Child child(WaitAndReport);
    EXPECT_EQ(child.ReadLine(), "ready");
    child.Send(c.first);
    EXPECT_EQ(child.ReadLine().substr(0, 3), "SIG");
    child.Send(c.second);
    EXPECT_EQ(child.Wait(), 128 + c.second);
  }
}

TEST(StopRequest, SecondHangUpOfAClosingTerminalIsNotASecondSignal) {
  Child child(WaitAndReport);
  EXPECT_EQ(child.ReadLine(), "ready");
  child.Send(SIGHUP);
  EXPECT_EQ(child.ReadLine(), "SIGHUP");
  child.Send(SIGHUP);
  child.Release();
  EXPECT_EQ(child.Wait(), 13);
}

TEST(StopRequest, HangUpIgnoredAtTheStartStaysIgnored) {
  Child child(
      [](int fd) {
        raise(SIGHUP);
        return StopRequest::Requested() ? 97 : 0;
      },
      [] { ::signal(SIGHUP, SIG_IGN); });
  EXPECT_EQ(child.Wait(), 0);
}

TEST(StopRequest, WriteToAClosedPipeIsAnError) {
  Child child([](int fd) {
    int ends[2];
    if (pipe(ends) != 0) return 97;
    close(ends[0]);
    return write(ends[1], "x", 1) < 0 && errno == EPIPE ? 0 : 96;
  });
  EXPECT_EQ(child.Wait(), 0);
}

TEST(StopRequest, C29_WriteBeyondTheFileSizeLimitIsAnError) {
  std::string path =
      absl::StrCat(::testing::TempDir(), "/stop_request_test-", getpid());
  Child child([&path](int fd) {
    struct rlimit limit = {8, 8};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 97;
    int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (write(file, "12345678", 8) != 8) return 96;
    return write(file, "9", 1) < 0 && errno == EFBIG ? 0 : 95;
  });
  EXPECT_EQ(child.Wait(), 0);
  unlink(path.c_str());
}

TEST(StopRequest, RestartsInterruptedSystemCalls) {
  Child child([](int fd) {
    int ends[2];
    if (pipe(ends) != 0) return 97;
    pid_t grandchild = fork();
    if (grandchild == 0) {
      usleep(50000);
      kill(getppid(), SIGUSR1);
      usleep(50000);
      _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    char c;
    ssize_t found = read(ends[0], &c, 1);
    waitpid(grandchild, nullptr, 0);
    return found == 1 && StopRequest::Requested() ? 0 : 96;
  });
  EXPECT_EQ(child.Wait(), 0);
}

}  // namespace
}  // namespace reprise
