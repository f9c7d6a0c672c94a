// The run lock on a file system without flock.
#include "format/lock_claim.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/io/io_error.h"
#include "format/io/testing/forwarding_file_system.h"
#include "format/lock_owner.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/run_lock.h"
#include "format/testing/checkpoint_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Every TryLock fails with `error_number`.
class NoFlock : public ForwardingFileSystem {
 public:
  explicit NoFlock(int error_number = ENOLCK)
      : ForwardingFileSystem(FileSystem::Real()), error_number_(error_number) {}
  absl::Status Before(const Operation& operation) override {
    if (operation.name != "TryLock") return absl::OkStatus();
    return IoError(error_number_, "lock", operation.path);
  }

 private:
  const int error_number_;
};

// Runs `body` in a process of its own; its result is the exit code.
pid_t InChild(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  return pid;
}

class LockClaimTest : public ::testing::Test {
 protected:
  void SetUp() override { run_ = FreshTestFolder(); }

  absl::StatusOr<std::unique_ptr<RunLock>> Take(bool take_foreign = false) {
    return RunLock::Take(&files_, run_, take_foreign);
  }
  // A claim with this text, as its holder left it.
  void Claimed(absl::string_view text) {
    const std::string folder = JoinPath(run_, kLockClaimName);
    mkdir(folder.c_str(), 0755);
    auto file =
        FileSystem::Real()->CreateExclusive(JoinPath(folder, "7-x"), 0644);
    ASSERT_TRUE(file.ok()) << file.status();
    if (!text.empty()) {
      ASSERT_TRUE(WriteAll(file->get(), 0, text).ok());
    }
  }
  bool ClaimIsThere() {
    return FileSystem::Real()->LinkStat(JoinPath(run_, kLockClaimName)).ok();
  }
  // A process that takes the lock and is killed while it holds it; its pid.
  pid_t Killed(FileSystem* files) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t pid = InChild([&] {
      auto lock = RunLock::Take(files, run_);
      char byte = lock.ok() ? 'y' : 'n';
      if (write(ready[1], &byte, 1) != 1) return 1;
      for (;;) pause();
    });
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    close(ready[0]);
    close(ready[1]);
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
    return pid;
  }

  std::string run_;
  NoFlock files_;
};

TEST_F(LockClaimTest, LOCK_4_HeldClaimIsLockedAndNamesTheHolder) {
  for (int error : {ENOTSUP, EOPNOTSUPP, ENOSYS, ENOLCK, EINVAL}) {
    NoFlock files(error);
    auto first = RunLock::Take(&files, run_);
    ASSERT_TRUE(first.ok()) << first.status();
    // No fallback is silent.
    EXPECT_THAT((*first)->notices(),
                ElementsAre(HasSubstr("flock does not work")));
    absl::Status second = RunLock::Take(&files, run_).status();
    EXPECT_EQ(RefusalOf(second), Refusal::LOCKED) << second;
    EXPECT_THAT(std::string(second.message()),
                HasSubstr(absl::StrCat("pid ", getpid(), " on ")));
    // The flag is about other hosts: a live holder here is never robbed.
    EXPECT_EQ(RefusalOf(RunLock::Take(&files, run_, true).status()),
              Refusal::LOCKED);
    first->reset();
    EXPECT_FALSE(ClaimIsThere());
    EXPECT_EQ(*FileContent(JoinPath(run_, "lock")), "");
    EXPECT_TRUE(RunLock::Take(&files, run_).ok());
  }
}

TEST_F(LockClaimTest, OtherFailuresToLockAreIo) {
  NoFlock files(EIO);
  EXPECT_EQ(RefusalOf(RunLock::Take(&files, run_).status()), Refusal::IO);
  EXPECT_FALSE(ClaimIsThere());
}

TEST_F(LockClaimTest, C30_LOCK_4_ClaimOfAKilledProcessIsTakenOverWithANotice) {
  const pid_t pid = Killed(&files_);
  ASSERT_TRUE(ClaimIsThere());
  CheckpointStore::Options options;
  options.file_system = &files_;
  auto store = CheckpointStore::Open(run_, options);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_THAT((*store)->TakeNotices(),
              ElementsAre(HasSubstr(absl::StrCat("pid ", pid, " on ")),
                          HasSubstr("flock does not work")));
}

TEST_F(LockClaimTest, LOCK_4_ReusedPidIsNotTheHolder) {
  LockOwner owner = ThisProcess();
  owner.started += 7;
  Claimed(TextOf(owner));
  auto lock = Take();
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_THAT((*lock)->notices()[0], HasSubstr("ended without releasing"));
}

TEST_F(LockClaimTest, LOCK_4_HolderOfAnEarlierBootIsGone) {
  LockOwner owner = ThisProcess();
  if (owner.host.rfind("localhost", 0) == 0) {
    GTEST_SKIP() << "the name of this host tells nothing";
  }
  owner.boot = "00000000-0000-0000-0000-000000000000";
  Claimed(TextOf(owner));
  auto lock = Take();
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_THAT((*lock)->notices()[0], HasSubstr("ended without releasing"));
}

TEST_F(LockClaimTest, LOCK_5_OtherHostsClaimIsTakenByFlagOnly) {
  LockOwner owner = ThisProcess();
  owner.host = "another-host";
  Claimed(TextOf(owner));
  absl::Status refused = Take().status();
  EXPECT_EQ(RefusalOf(refused), Refusal::LOCKED);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("another-host"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--take_foreign_lock"));
  auto lock = Take(true);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_THAT((*lock)->notices()[0], HasSubstr("another-host"));
  EXPECT_THAT((*lock)->notices()[0], HasSubstr("take_foreign_lock is given"));
}

TEST_F(LockClaimTest, LOCK_5_ClaimWithoutFactsIsTakenByFlagOnly) {
  for (const std::string& text :
       {std::string(), std::string("pid 1 on"), std::string(5000, 'x')}) {
    Claimed(text);
    EXPECT_EQ(RefusalOf(Take().status()), Refusal::LOCKED) << text.size();
    EXPECT_TRUE(Take(true).ok()) << text.size();
  }
}

TEST_F(LockClaimTest, StoreHandsTheFlagOn) {
  LockOwner owner = ThisProcess();
  owner.host = "another-host";
  Claimed(TextOf(owner));
  CheckpointStore::Options options;
  options.file_system = &files_;
  EXPECT_EQ(RefusalOf(CheckpointStore::Open(run_, options).status()),
            Refusal::LOCKED);
  options.take_foreign_lock = true;
  EXPECT_TRUE(CheckpointStore::Open(run_, options).ok());
}

TEST_F(LockClaimTest, LOCK_6_HoldersOfEitherKindKeepTheOtherOut) {
  auto by_flock = RunLock::Take(FileSystem::Real(), run_);
  ASSERT_TRUE(by_flock.ok()) << by_flock.status();
  EXPECT_EQ(RefusalOf(Take().status()), Refusal::LOCKED);
  EXPECT_FALSE(ClaimIsThere());
  by_flock->reset();
  auto by_claim = Take();
  ASSERT_TRUE(by_claim.ok()) << by_claim.status();
  const std::string text = *FileContent(JoinPath(run_, "lock"));
  EXPECT_EQ(RefusalOf(RunLock::Take(FileSystem::Real(), run_).status()),
            Refusal::LOCKED);
  // The one refused leaves the holder's text alone.
  EXPECT_EQ(*FileContent(JoinPath(run_, "lock")), text);
}

TEST_F(LockClaimTest, LOCK_6_HolderByFlockTakesADeadClaimAway) {
  const pid_t pid = Killed(&files_);
  auto lock = RunLock::Take(FileSystem::Real(), run_);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_THAT((*lock)->notices(),
              ElementsAre(HasSubstr(absl::StrCat("pid ", pid, " on "))));
}

TEST_F(LockClaimTest, ClaimStaysWhenAForkedProcessEnds) {
  auto lock = Take();
  ASSERT_TRUE(lock.ok()) << lock.status();
  const pid_t pid = InChild([&] {
    lock->reset();
    return 0;
  });
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  EXPECT_EQ(RefusalOf(Take().status()), Refusal::LOCKED);
}

TEST_F(LockClaimTest, E10_LinkAsClaimIsRefused) {
  ASSERT_EQ(symlink("/tmp", JoinPath(run_, kLockClaimName).c_str()), 0);
  EXPECT_EQ(RefusalOf(Take().status()), Refusal::NOT_A_CHECKPOINT);
}

// A slow contender judges a dead holder's claim, and before it acts another one
// takes the lock over: the live claim must survive the slow one.
TEST_F(LockClaimTest, LOCK_4_SlowTakeoverRobsNobody) {
  Killed(&files_);
  class Slow : public NoFlock {
   public:
    absl::Status Before(const Operation& operation) override {
      if (operation.name == "Unlink" && interrupt) {
        std::function<void()> now = std::move(interrupt);
        interrupt = nullptr;
        now();
      }
      return NoFlock::Before(operation);
    }
    std::function<void()> interrupt;
  };
  Slow slow;
  absl::StatusOr<std::unique_ptr<RunLock>> quick;
  slow.interrupt = [&] { quick = Take(); };
  absl::Status status = RunLock::Take(&slow, run_).status();
  EXPECT_EQ(RefusalOf(status), Refusal::LOCKED) << status;
  ASSERT_TRUE(quick.ok()) << quick.status();
  EXPECT_EQ(RefusalOf(Take().status()), Refusal::LOCKED);
}

// Between two operations of a taker by flock, somebody else takes the lock by a
// claim or gives it back.
class Interrupted : public ForwardingFileSystem {
 public:
  explicit Interrupted(std::function<void(const Operation&)> between)
      : ForwardingFileSystem(FileSystem::Real()),
        between_(std::move(between)) {}
  absl::Status Before(const Operation& operation) override {
    between_(operation);
    return absl::OkStatus();
  }

 private:
  const std::function<void(const Operation&)> between_;
};

TEST_F(LockClaimTest, C30_LOCK_4_AHolderThatCameAndWentErasesNobody) {
  const std::string claim = JoinPath(run_, kLockClaimName);
  std::unique_ptr<RunLock> visitor;
  int looks = 0;
  // The claim comes after the taker's first look and goes before its second,
  // when the taker's text is written already.
  Interrupted files([&](const ForwardingFileSystem::Operation& operation) {
    const bool looks_at_claim =
        operation.name == "LinkStat" && operation.path == claim;
    if (operation.name == "Truncate" && looks == 1 && visitor == nullptr) {
      auto taken = Take();
      ASSERT_TRUE(taken.ok()) << taken.status();
      visitor = *std::move(taken);
    }
    if (looks_at_claim && ++looks == 2) visitor = nullptr;
  });
  auto lock = RunLock::Take(&files, run_);
  ASSERT_TRUE(lock.ok()) << lock.status();
  ASSERT_GE(looks, 2);
  EXPECT_EQ(RefusalOf(Take().status()), Refusal::LOCKED);
}

// Two processes of either kind count in a file that only the lock protects; now
// and then one is killed while it holds the lock.
TEST_F(LockClaimTest, C30_LOCK_4_ContendingProcessesExcludeEachOther) {
  constexpr int kTurnsEach = 150;
  const std::string inside = JoinPath(run_, "inside");
  auto contend = [&](FileSystem* files) -> int {
    for (int done = 0; done < kTurnsEach;) {
      auto lock = RunLock::Take(files, run_);
      if (!lock.ok()) {
        if (RefusalOf(lock.status()) != Refusal::LOCKED) return 2;
        usleep(50);
        continue;
      }
      // Nobody else is inside: the folder can be made, and removed.
      if (mkdir(inside.c_str(), 0755) != 0) return 3;
      if (done % 10 == 0) usleep(200);
      if (rmdir(inside.c_str()) != 0) return 4;
      ++done;
    }
    return 0;
  };
  const pid_t first = InChild([&] { return contend(&files_); });
  const pid_t second = InChild([&] { return contend(&files_); });
  const pid_t third = InChild([&] { return contend(FileSystem::Real()); });
  for (pid_t pid : {first, second, third}) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_FALSE(ClaimIsThere());
}

TEST_F(LockClaimTest, C30_LOCK_4_KilledHoldersNeverBlockNorShareTheRun) {
  const std::string inside = JoinPath(run_, "inside");
  for (int round = 0; round < 20; ++round) {
    auto hold_for_ever = [&]() -> int {
      for (;;) {
        auto lock = RunLock::Take(&files_, run_);
        if (!lock.ok()) {
          if (RefusalOf(lock.status()) != Refusal::LOCKED) return 2;
          usleep(50);
          continue;
        }
        usleep(100);
      }
    };
    const pid_t first = InChild(hold_for_ever);
    const pid_t second = InChild(hold_for_ever);
    usleep(3000 + 137 * round);
    for (pid_t pid : {first, second}) {
      ASSERT_EQ(kill(pid, SIGKILL), 0);
      int status = 0;
      ASSERT_EQ(waitpid(pid, &status, 0), pid);
      EXPECT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    }
    auto lock = Take();
    ASSERT_TRUE(lock.ok()) << lock.status();
  }
}

}  // namespace
}  // namespace reprise
