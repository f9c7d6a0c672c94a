#include "conformance/runner/process_tree.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "conformance/runner/testing/script.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;

ProcessTree::Options Shell(const std::string& script, const std::string& mark) {
  ProcessTree::Options options;
  const std::string folder = FreshFolder("tree");
  options.command = {"sh", "-c", script};
  options.working_folder = folder;
  options.environment = {"PATH=/usr/bin:/bin", mark};
  options.stdout_path = folder + "/out";
  options.stderr_path = folder + "/out";
  options.grace_for_rest = absl::Milliseconds(100);
  return options;
}

void WaitForFile(const std::string& path) {
  while (access(path.c_str(), F_OK) != 0) absl::SleepFor(absl::Milliseconds(2));
}

// Children in sessions of their own, orphans, and one deaf to signals.
constexpr char kScattered[] =
    "setsid sh -c 'setsid sleep 1000 & sleep 1000' & "
    "sh -c 'trap \"\" TERM HUP INT; sleep 1000 & sleep 1000' & "
    "(sleep 1000 &) ; touch ready; sleep 1000";

TEST(ProcessTree, TellsTheExitCode) {
  auto tree = ProcessTree::Start(Shell("exit 5", "M=1"));
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_TRUE((*tree)->WaitUntilGone());
  ASSERT_TRUE((*tree)->end().has_value());
  EXPECT_EQ((*tree)->end()->exit_code, 5);
  EXPECT_TRUE((*tree)->left_behind().empty());
}

TEST(ProcessTree, KillAllLeavesNothing) {
  const ProcessTree::Options options = Shell(kScattered, "M=kill-all");
  auto tree = ProcessTree::Start(options);
  ASSERT_TRUE(tree.ok()) << tree.status();
  WaitForFile(options.working_folder + "/ready");
  EXPECT_TRUE(AnyProcessMarked("M=kill-all"));
  (*tree)->KillAll();
  EXPECT_TRUE((*tree)->WaitUntilGone());
  EXPECT_FALSE(AnyProcessMarked("M=kill-all"));
  EXPECT_EQ((*tree)->end()->signal, SIGKILL);
  EXPECT_TRUE((*tree)->end()->killed_by_owner);
}

TEST(ProcessTree, ItsDestructorLeavesNothing) {
  const ProcessTree::Options options = Shell(kScattered, "M=destructor");
  {
    auto tree = ProcessTree::Start(options);
    ASSERT_TRUE(tree.ok()) << tree.status();
    WaitForFile(options.working_folder + "/ready");
  }
  EXPECT_FALSE(AnyProcessMarked("M=destructor"));
}

TEST(ProcessTree, ASignalReachesTheProcessAndNotItsChildren) {
  const ProcessTree::Options options = Shell(
      "trap 'exit 13' TERM; (trap 'touch child' TERM; touch ready; "
      "while :; do sleep 0.01; done) & while :; do sleep 0.01; done",
      "M=signal");
  auto tree = ProcessTree::Start(options);
  ASSERT_TRUE(tree.ok()) << tree.status();
  WaitForFile(options.working_folder + "/ready");
  (*tree)->Signal(SIGTERM);
  EXPECT_TRUE((*tree)->WaitUntilGone());
  EXPECT_EQ((*tree)->end()->exit_code, 13);
  EXPECT_NE(access((options.working_folder + "/child").c_str(), F_OK), 0);
  EXPECT_THAT((*tree)->left_behind(), testing::Not(testing::IsEmpty()));
}

TEST(ProcessTree, NamesWhatWasLeftBehindAndEndsIt) {
  auto tree =
      ProcessTree::Start(Shell("setsid sleep 1000 & exit 0", "M=left-behind"));
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_TRUE((*tree)->WaitUntilGone());
  EXPECT_EQ((*tree)->end()->exit_code, 0);
  EXPECT_THAT((*tree)->left_behind(), ElementsAre(EndsWith(" sleep")));
  EXPECT_FALSE(AnyProcessMarked("M=left-behind"));
}

TEST(ProcessTree, GivesTheRestItsGrace) {
  ProcessTree::Options options = Shell("sleep 0.2 & exit 0", "M=grace");
  options.grace_for_rest = absl::Seconds(20);
  auto tree = ProcessTree::Start(options);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_TRUE((*tree)->WaitUntilGone());
  EXPECT_TRUE((*tree)->left_behind().empty());
}

// Runs `owner` in a fork, which never returns.
pid_t InAnotherProcess(const std::function<void()>& owner) {
  const pid_t pid = fork();
  if (pid == 0) {
    owner();
    _exit(0);
  }
  return pid;
}

TEST(ProcessTree, NothingOutlivesItsOwnersSigkill) {
  const ProcessTree::Options options = Shell(kScattered, "M=owner-killed");
  const pid_t owner = InAnotherProcess([&options] {
    auto tree = ProcessTree::Start(options);
    for (;;) pause();
  });
  WaitForFile(options.working_folder + "/ready");
  EXPECT_TRUE(AnyProcessMarked("M=owner-killed"));
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(NoneMarkedSoon("M=owner-killed"));
}

TEST(ProcessTree, NothingOutlivesASigkillOfTheOwnersGroup) {
  const ProcessTree::Options options = Shell(kScattered, "M=group-killed");
  const pid_t owner = InAnotherProcess([&options] {
    setpgid(0, 0);
    auto tree = ProcessTree::Start(options);
    for (;;) pause();
  });
  WaitForFile(options.working_folder + "/ready");
  kill(-owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(NoneMarkedSoon("M=group-killed"));
}

TEST(ProcessTree, ASecondTreeDoesNotHideTheOwnersDeathFromTheFirst) {
  const ProcessTree::Options first = Shell(kScattered, "M=two-trees");
  const ProcessTree::Options second = Shell(kScattered, "M=two-trees");
  const pid_t owner = InAnotherProcess([&] {
    auto one = ProcessTree::Start(first);
    auto two = ProcessTree::Start(second);
    for (;;) pause();
  });
  WaitForFile(first.working_folder + "/ready");
  WaitForFile(second.working_folder + "/ready");
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(NoneMarkedSoon("M=two-trees"));
}

TEST(ProcessTree, NothingOutlivesItsGuardiansSigkill) {
  const ProcessTree::Options options = Shell(kScattered, "M=guardian");
  auto tree = ProcessTree::Start(options);
  ASSERT_TRUE(tree.ok()) << tree.status();
  WaitForFile(options.working_folder + "/ready");
  kill((*tree)->guardian_pid(), SIGKILL);
  EXPECT_FALSE((*tree)->WaitUntilGone());
  EXPECT_THAT((*tree)->trouble(), testing::HasSubstr("guardian"));
  EXPECT_FALSE(AnyProcessMarked("M=guardian"));
}

TEST(ProcessTree, SaysWhyACommandCannotBeExecuted) {
  ProcessTree::Options options = Shell("", "M=1");
  options.command = {"/nowhere"};
  auto tree = ProcessTree::Start(options);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_TRUE((*tree)->WaitUntilGone());
  EXPECT_EQ((*tree)->start_failure(),
            "cannot execute it: No such file or directory");
  EXPECT_FALSE((*tree)->end().has_value());

  options.working_folder = "/nowhere/at/all";
  options.command = {"true"};
  tree = ProcessTree::Start(options);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_TRUE((*tree)->WaitUntilGone());
  EXPECT_EQ((*tree)->start_failure(),
            "cannot enter its folder: No such file or directory");
}

TEST(ProcessTree, StartsTheProcessWithNothingInherited) {
  const ProcessTree::Options options = Shell(
      "ls /proc/self/fd | tr '\\n' ' '; "
      "grep -E 'SigBlk|SigIgn' /proc/self/status",
      "M=1");
  auto tree = ProcessTree::Start(options);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_TRUE((*tree)->WaitUntilGone());
  // 3 is the folder that ls itself reads.
  EXPECT_EQ(ReadFile(options.stdout_path),
            "0 1 2 3 SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

}  // namespace
}  // namespace reprise::conformance
