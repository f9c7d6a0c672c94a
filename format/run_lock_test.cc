#include "format/run_lock.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Another process that holds the lock of `run` until it is told to end.
class Holder {
 public:
  explicit Holder(const std::string& run) {
    int ready[2];
    int end[2];
    EXPECT_EQ(pipe(ready), 0);
    EXPECT_EQ(pipe(end), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(ready[0]);
      close(end[1]);
      bool held = false;
      {
        auto lock = RunLock::Take(FileSystem::Real(), run);
        held = lock.ok();
        char byte = held ? 'y' : 'n';
        if (write(ready[1], &byte, 1) != 1) _exit(3);
        // Ends when the parent closes its side.
        if (read(end[0], &byte, 1) < 0) _exit(3);
      }
      _exit(held ? 0 : 1);
    }
    close(ready[1]);
    close(end[0]);
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    close(ready[0]);
    end_ = end[1];
  }

  pid_t pid() const { return pid_; }
  void Kill() {
    EXPECT_EQ(kill(pid_, SIGKILL), 0);
    Wait();
  }
  void EndInOrder() {
    close(end_);
    end_ = -1;
    Wait();
  }

 private:
  void Wait() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    if (end_ >= 0) close(end_);
  }
  pid_t pid_ = 0;
  int end_ = -1;
};

class RunLockTest : public ::testing::Test {
 protected:
  void SetUp() override { run_ = FreshTestFolder(); }
  std::string run_;
};

// Rules: LOCK-1 LOCK-3
TEST_F(RunLockTest, C30_SecondProcessIsRefusedAndToldWhoHoldsIt) {
  Holder holder(run_);
  auto store = CheckpointStore::Open(run_, {});
  EXPECT_EQ(RefusalOf(store.status()), Refusal::LOCKED);
  EXPECT_THAT(std::string(store.status().message()),
              HasSubstr(absl::StrCat("pid ", holder.pid(), " on ")));
  EXPECT_THAT(std::string(store.status().message()), HasSubstr("stop it"));
  EXPECT_EQ(ExitCodeFor(store.status()), ExitCode::EXIT_BAD_REQUEST);
  holder.EndInOrder();
  auto again = CheckpointStore::Open(run_, {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT((*again)->TakeNotices(), IsEmpty());
}

// Rules: LOCK-2
TEST_F(RunLockTest, C30_LockOfAKilledProcessIsTakenOverWithANotice) {
  Holder holder(run_);
  holder.Kill();
  auto store = CheckpointStore::Open(run_, {});
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_THAT((*store)->TakeNotices(),
              ElementsAre(HasSubstr(absl::StrCat("pid ", holder.pid()))));
}

// Rules: LOCK-1
TEST_F(RunLockTest, LockExcludesTheSameProcessToo) {
  auto first = RunLock::Take(FileSystem::Real(), run_);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(RefusalOf(RunLock::Take(FileSystem::Real(), run_).status()),
            Refusal::LOCKED);
  first->reset();
  EXPECT_TRUE(RunLock::Take(FileSystem::Real(), run_).ok());
}

// Rules: LOCK-2
TEST_F(RunLockTest, FileStaysWhenTheLockGoes) {
  { ASSERT_TRUE(RunLock::Take(FileSystem::Real(), run_).ok()); }
  EXPECT_EQ(*FileContent(JoinPath(run_, "lock")), "");
}

TEST_F(RunLockTest, TextOfOtherProgramsIsShownAsPrintable) {
  ASSERT_TRUE(
      ReplaceFile(JoinPath(run_, "lock"), "\x1b[31m someone \xff\n").ok());
  ASSERT_EQ(chmod(JoinPath(run_, "lock").c_str(), 0644), 0);
  auto lock = RunLock::Take(FileSystem::Real(), run_);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ((*lock)->taken_over_from(), "?[31m someone ?");
}

// Rules: DIR-5
TEST_F(RunLockTest, E10_LinkAsLockIsRefused) {
  ASSERT_EQ(symlink("/dev/null", JoinPath(run_, "lock").c_str()), 0);
  EXPECT_EQ(RefusalOf(RunLock::Take(FileSystem::Real(), run_).status()),
            Refusal::NOT_A_CHECKPOINT);
}

TEST_F(RunLockTest, MissingFolderIsAbsent) {
  EXPECT_EQ(
      RefusalOf(RunLock::Take(FileSystem::Real(), run_ + "/nowhere").status()),
      Refusal::ABSENT);
}

// Runs `body` in a process of its own; its result is the exit code.
pid_t InChild(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  return pid;
}

TEST_F(RunLockTest, C30_ContendingProcessesNeverLoseACheckpoint) {
  constexpr int kSavesEach = 50;
  auto contend = [this]() -> int {
    CheckpointStore::Options options;
    options.keep_last = 2;
    for (int done = 0; done < kSavesEach;) {
      auto store = CheckpointStore::Open(run_, options);
      if (!store.ok()) {
        if (RefusalOf(store.status()) != Refusal::LOCKED) return 2;
        usleep(100);
        continue;
      }
      auto found = (*store)->NewestVerified();
      if (!found.ok() || !found->passed_over.empty()) return 3;
      const uint64_t step =
          found->checkpoint.has_value() ? found->checkpoint->snapshot.step : 0;
      if (!(*store)->Save(SmallSnapshot(step + 1)).ok()) return 4;
      if (!(*store)->Prune().ok()) return 5;
      ++done;
    }
    return 0;
  };
  const pid_t first = InChild(contend);
  const pid_t second = InChild(contend);
  for (pid_t pid : {first, second}) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  auto store = CheckpointStore::Open(run_, {});
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_THAT(*(*store)->List(),
              ElementsAre(2 * kSavesEach - 1, 2 * kSavesEach));
}

}  // namespace
}  // namespace reprise
