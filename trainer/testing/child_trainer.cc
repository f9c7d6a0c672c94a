#include "trainer/testing/child_trainer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "trainer/flags.h"
#include "trainer/signals/stop_request.h"
#include "trainer/testing/run_files.h"

namespace reprise {
namespace {

// In the child. Exit codes of its own are none of the trainer's.
[[noreturn]] void Train(std::vector<std::string> flags,
                        const SessionHooks& hooks, const std::string& output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A test that was started with nohup ignores it, and so would its child.
  signal(SIGHUP, SIG_DFL);
  if (std::freopen(output.c_str(), "w", stdout) == nullptr ||
      dup2(STDOUT_FILENO, STDERR_FILENO) < 0) {
    _exit(99);
  }
  flags.insert(flags.begin(), "trainer");
  std::vector<char*> argv;
  for (std::string& flag : flags) argv.push_back(flag.data());
  const auto line =
      ParseCommandLine(static_cast<int>(argv.size()), argv.data());
  if (!line.ok()) {
    std::fprintf(stderr, "%s\n", std::string(line.status().message()).c_str());
    std::fflush(nullptr);
    _exit(ExitCode::EXIT_USAGE);
  }
  const ExitCode code = RunSession(*line, hooks);
  std::fflush(nullptr);
  _exit(code);
}

pid_t Fork(const std::vector<std::string>& flags, const SessionHooks& hooks,
           const std::string& output) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) Train(flags, hooks, output);
  return child;
}

TrainerResult Wait(pid_t child, const std::string& output) {
  int status = 0;
  const absl::Time end = absl::Now() + absl::Minutes(2);
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (absl::Now() > end) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      return {{TrainerExit::How::kDeadline, 0}, ReadFileOrDie(output)};
    }
    absl::SleepFor(absl::Milliseconds(1));
  }
  return {WIFSIGNALED(status) ? TrainerExit::BySignal(WTERMSIG(status))
                              : TrainerExit::WithCode(WEXITSTATUS(status)),
          ReadFileOrDie(output)};
}

// Only the first three points come in every micro-step.
bool InEveryMicroStep(StepPoint point) {
  return point == StepPoint::kBeforeDraw || point == StepPoint::kAfterDraw ||
         point == StepPoint::kAfterBackward;
}

}  // namespace

TrainerResult TrainInChild(const std::vector<std::string>& flags,
                           const SessionHooks& hooks) {
  const std::string output = FreshFolder("child", /*create=*/true) + "/output";
  return Wait(Fork(flags, hooks, output), output);
}

TrainerResult TrainAndMeet(const std::vector<std::string>& flags,
                           const Place& place,
                           const std::function<void(pid_t)>& meanwhile) {
  int reached[2], go_on[2];
  EXPECT_EQ(pipe2(reached, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(go_on, O_CLOEXEC), 0);
  AtPlace standing(place, [&] {
    char byte = 0;
    if (write(reached[1], &byte, 1) != 1 || read(go_on[0], &byte, 1) != 1) {
      _exit(98);
    }
  });
  const std::string output = FreshFolder("child", /*create=*/true) + "/output";
  const pid_t child = Fork(flags, {&standing, FileSystem::Real()}, output);
  close(reached[1]);
  close(go_on[0]);
  char byte = 0;
  if (read(reached[0], &byte, 1) == 1) {
    meanwhile(child);
    EXPECT_EQ(write(go_on[1], &byte, 1), 1);
  } else {
    ADD_FAILURE() << "the run did not come to step " << place.step;
  }
  close(reached[0]);
  close(go_on[1]);
  return Wait(child, output);
}

void AtPlace::At(StepPoint point, uint64_t step, TrainState* state) {
  if (done_ || point != place_.point || step != place_.step) return;
  if (InEveryMicroStep(point) && state->accumulation.count != place_.micro) {
    return;
  }
  done_ = true;
  act_();
}

absl::Status AtOperation::Before(const Operation& operation) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!is_(operation) || ++seen_ != number_) return absl::OkStatus();
  }
  act_();
  return absl::OkStatus();
}

void SendToSelf(int signal) {
  kill(getpid(), signal);
  while (!StopRequest::Requested()) std::this_thread::yield();
}

void EndSelf(int signal) {
  kill(getpid(), signal);
  while (true) pause();
}

void KillAt(const std::vector<std::string>& flags, const Place& place) {
  AtPlace killer(place, [] { EndSelf(SIGKILL); });
  const TrainerResult result =
      TrainInChild(flags, {&killer, FileSystem::Real()});
  EXPECT_EQ(result.exit, TrainerExit::BySignal(SIGKILL)) << result.output;
}

}  // namespace reprise
