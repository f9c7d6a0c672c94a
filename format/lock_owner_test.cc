#include "format/lock_owner.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(LockOwner, TextComesBack) {
  const LockOwner self = ThisProcess();
  const std::optional<LockOwner> again = ParseLockOwner(TextOf(self) + "\n");
  ASSERT_TRUE(again.has_value()) << TextOf(self);
  EXPECT_EQ(again->pid, getpid());
  EXPECT_EQ(again->host, self.host);
  EXPECT_EQ(again->boot, self.boot);
  EXPECT_EQ(again->started, self.started);
  EXPECT_EQ(again->pids, self.pids);
  EXPECT_EQ(again->since, self.since);
  EXPECT_NE(self.started, 0u);
}

TEST(LockOwner, OtherTextsAreNobodysFacts) {
  const std::string text = TextOf(ThisProcess());
  for (const std::string& other :
       {std::string(), std::string("pid 4 on host since 2026-11-30T00:00:00Z"),
        text.substr(0, text.size() / 2), text + " more", "x" + text,
        std::string("pid -4 on h boot b started 1 pids 1 since s"),
        std::string("pid 4 on h boot b begun 1 pids 1 since s")}) {
    EXPECT_FALSE(ParseLockOwner(other).has_value()) << other;
  }
}

TEST(LockOwner, RunningProcessIsAlive) {
  EXPECT_EQ(StateOf(ThisProcess()), OwnerState::kAlive);
}

TEST(LockOwner, ReusedPidIsAnotherProcess) {
  LockOwner owner = ThisProcess();
  owner.started += 1;
  EXPECT_EQ(StateOf(owner), OwnerState::kGone);
}

TEST(LockOwner, EndedProcessIsGoneEvenBeforeItsParentWaits) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string text = TextOf(ThisProcess());
    if (write(ready[1], text.data(), text.size()) < 0) _exit(1);
    for (;;) pause();
  }
  char text[512];
  const ssize_t size = read(ready[0], text, sizeof(text));
  ASSERT_GT(size, 0);
  const auto owner =
      ParseLockOwner(absl::string_view(text, static_cast<size_t>(size)));
  ASSERT_TRUE(owner.has_value());
  EXPECT_EQ(StateOf(*owner), OwnerState::kAlive);
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(StateOf(*owner), OwnerState::kGone);
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  EXPECT_EQ(StateOf(*owner), OwnerState::kGone);
  close(ready[0]);
  close(ready[1]);
}

TEST(LockOwner, EarlierBootOfThisHostIsGone) {
  LockOwner owner = ThisProcess();
  owner.boot = "00000000-0000-0000-0000-000000000000";
  if (owner.host.rfind("localhost", 0) == 0) {
    // A name of many machines: cannot be told.
    EXPECT_EQ(StateOf(owner), OwnerState::kElsewhere);
  } else {
    EXPECT_EQ(StateOf(owner), OwnerState::kGone);
  }
}

TEST(LockOwner, WhatCannotBeSeenFromHereIsNeverGone) {
  LockOwner other_host = ThisProcess();
  other_host.host = "another-host";
  EXPECT_EQ(StateOf(other_host), OwnerState::kElsewhere);
  LockOwner other_container = ThisProcess();
  other_container.pids = "1";
  other_container.started += 1;
  EXPECT_EQ(StateOf(other_container), OwnerState::kElsewhere);
  LockOwner unknown_boot = ThisProcess();
  unknown_boot.boot = "-";
  EXPECT_EQ(StateOf(unknown_boot), OwnerState::kElsewhere);
}

}  // namespace
}  // namespace reprise
