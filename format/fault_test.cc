// Every operation of a save, a prune and a resume fails once, with every kind
// of error: what was committed stays, and what was not is gone.
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/io/io_error.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/faulty_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kErrors[] = {EIO, ENOSPC, EDQUOT, EROFS, EACCES};
// More operations than any of the calls makes.
constexpr int kMany = 200;

struct Bench : FaultyRun {
  explicit Bench(int keep_last = 3) : FaultyRun(Options(keep_last)) {}

  static CheckpointStore::Options Options(int keep_last) {
    CheckpointStore::Options options;
    options.keep_last = keep_last;
    return options;
  }

  void Save(uint64_t step) { FaultyRun::Save(SmallSnapshot(step)); }
};

// Rules: COMMIT-3
TEST(FaultTest, C29_FailedSaveLeavesTheRunAsItWasAndSaysWhy) {
  int failed = 0;
  for (int error_number : kErrors) {
    for (int n = 0; n < kMany; ++n) {
      Bench bench;
      bench.Save(10);
      const std::set<std::string> before = bench.Names();
      bench.faulty.FailOperation(n, error_number);
      absl::StatusOr<std::string> digest = bench.store->Save(SmallSnapshot(20));
      if (!bench.faulty.injected()) {
        ASSERT_TRUE(digest.ok()) << digest.status();
        ASSERT_GT(n, 10);
        break;
      }
      const std::string hit =
          absl::StrCat(n, ": ", bench.faulty.injected_operation());
      bench.faulty.Reset();
      if (digest.ok()) {
        // Committed before; only the hint suffered, and that is said.
        EXPECT_THAT(bench.store->TakeNotices(),
                    ElementsAre(HasSubstr("latest")))
            << hit;
        EXPECT_EQ(bench.NewestAfterRestart(), 20u) << hit;
        continue;
      }
      ++failed;
      EXPECT_EQ(ErrnoOf(digest.status()), error_number) << hit;
      EXPECT_EQ(RefusalOf(digest.status()), Refusal::IO) << hit;
      EXPECT_THAT(std::string(digest.status().message()),
                  HasSubstr("save of step 20"))
          << hit;
      EXPECT_EQ(bench.Names(), before) << hit;
      // Trying again writes new files.
      bench.Save(20);
      EXPECT_EQ(bench.NewestAfterRestart(), 20u) << hit;
    }
  }
  EXPECT_GE(failed, 5 * 9);
  std::cout << "failed saves checked: " << failed << std::endl;
}

// Rules: COMMIT-3
TEST(FaultTest, C29_FailedSaveKeepsThePreviousCheckpointAcrossARestart) {
  for (int n = 0; n < kMany; ++n) {
    Bench bench;
    bench.Save(10);
    bench.faulty.FailOperation(n, ENOSPC);
    const bool saved = bench.store->Save(SmallSnapshot(20)).ok();
    if (!bench.faulty.injected()) break;
    bench.faulty.Reset();
    EXPECT_EQ(bench.NewestAfterRestart(), saved ? 20u : 10u) << n;
  }
}

TEST(FaultTest, C29_DeviceThatIsGoneForGoodLeavesLeftoversToTheNextStart) {
  for (int n = 0; n < kMany; ++n) {
    Bench bench;
    bench.Save(10);
    bench.faulty.FailFromOperation(n, EIO);
    absl::Status status = bench.store->Save(SmallSnapshot(20)).status();
    const bool injected = bench.faulty.injected();
    if (!injected) break;
    bench.faulty.Reset();
    // When even taking it back failed, the new one is whole and may be used.
    const bool visible =
        status.ok() ||
        absl::StrContains(status.message(), "could not be taken back");
    EXPECT_EQ(bench.NewestAfterRestart(), visible ? 20u : 10u)
        << n << ": " << status;
  }
}

TEST(FaultTest, C25_ShortWritesOfASaveAreGoneOnWith) {
  int shortened = 0;
  for (int n = 0; n < kMany; ++n) {
    Bench bench;
    bench.faulty.ShortWriteAt(n);
    absl::StatusOr<std::string> digest = bench.store->Save(SmallSnapshot(20));
    ASSERT_TRUE(digest.ok()) << digest.status();
    if (bench.faulty.operations() <= n) break;
    if (bench.faulty.injected()) ++shortened;
    bench.faulty.Reset();
    EXPECT_EQ(bench.NewestAfterRestart(), 20u) << n;
  }
  // Envelope, manifest and hint.
  EXPECT_EQ(shortened, 3);
}

// Rules: PRUNE-2
TEST(FaultTest, C29_FailedPruneLosesNoCheckpointThatIsKept) {
  int failed = 0;
  for (int error_number : kErrors) {
    for (int n = 0; n < kMany; ++n) {
      Bench bench(/*keep_last=*/2);
      for (uint64_t step : {10, 20, 30, 40}) bench.Save(step);
      bench.faulty.FailOperation(n, error_number);
      auto removed = bench.store->Prune();
      if (!bench.faulty.injected()) {
        ASSERT_TRUE(removed.ok()) << removed.status();
        break;
      }
      const std::string hit =
          absl::StrCat(n, ": ", bench.faulty.injected_operation());
      bench.faulty.Reset();
      if (!removed.ok()) ++failed;
      // Whatever happened, the two newest are there and verify.
      auto steps = *bench.store->List();
      ASSERT_GE(steps.size(), 2u) << hit;
      EXPECT_EQ(steps[steps.size() - 1], 40u) << hit;
      EXPECT_EQ(steps[steps.size() - 2], 30u) << hit;
      // The next one finishes it.
      ASSERT_TRUE(bench.store->Prune().ok()) << hit;
      EXPECT_THAT(*bench.store->List(), ElementsAre(30, 40)) << hit;
      EXPECT_EQ(bench.NewestAfterRestart(), 40u) << hit;
    }
  }
  EXPECT_GE(failed, 5 * 5);
}

TEST(FaultTest, C29_FailedResumeLosesNothing) {
  for (int n = 0; n < kMany; ++n) {
    Bench bench;
    for (uint64_t step : {10, 20, 30}) bench.Save(step);
    auto chosen = ReadCheckpoint(absl::StrCat(kFaultyRun, "/step-000000000010"),
                                 &bench.memory);
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    bench.faulty.FailOperation(n, EIO);
    auto moved = bench.store->ResumeFrom(*chosen, 2);
    if (!bench.faulty.injected()) {
      ASSERT_TRUE(moved.ok());
      ASSERT_GT(n, 5);
      break;
    }
    const std::string hit = bench.faulty.injected_operation();
    bench.faulty.Reset();
    for (const char* name : {"step-000000000020", "step-000000000030"}) {
      const bool here =
          ReadCheckpoint(absl::StrCat(kFaultyRun, "/", name), &bench.memory)
              .ok();
      const bool abandoned =
          ReadCheckpoint(absl::StrCat(kFaultyRun, "/abandoned/2/", name),
                         &bench.memory)
              .ok();
      EXPECT_TRUE(here != abandoned) << hit << ": " << name;
    }
    if (!moved.ok()) {
      EXPECT_EQ(RefusalOf(moved.status()), Refusal::IO) << hit;
      ASSERT_TRUE(bench.store->ResumeFrom(*chosen, 2).ok()) << hit;
    }
    EXPECT_EQ(bench.NewestAfterRestart(), 10u) << hit;
  }
}

TEST(FaultTest, C29_FailedOpenReportsAndReleasesTheLock) {
  int failed = 0;
  for (int n = 0; n < kMany; ++n) {
    UnsyncedFileSystem memory;
    FaultInjectingFileSystem faulty(&memory);
    CheckpointStore::Options options;
    options.file_system = &faulty;
    faulty.FailOperation(n, EIO);
    auto store = CheckpointStore::Open(kFaultyRun, options);
    if (!faulty.injected()) break;
    if (!store.ok()) {
      ++failed;
      EXPECT_EQ(ErrnoOf(store.status()), EIO);
    } else {
      store->reset();
    }
    faulty.Reset();
    auto again = CheckpointStore::Open(kFaultyRun, options);
    EXPECT_TRUE(again.ok()) << n << ": " << again.status();
  }
  EXPECT_GE(failed, 6);
}

// Rules: NEWEST-2
TEST(FaultTest, TroubleOfTheReaderStopsInsteadOfPassingOver) {
  for (int error_number : {EACCES, EMFILE, ENOMEM}) {
    Bench bench;
    bench.Save(10);
    bench.Save(20);
    // Folder list, then the newest: its folder's kind, then its manifest.
    bench.faulty.FailOperation(2, error_number);
    auto found = bench.store->NewestVerified();
    ASSERT_TRUE(bench.faulty.injected());
    EXPECT_EQ(ErrnoOf(found.status()), error_number);
  }
  Bench bench;
  bench.Save(10);
  bench.Save(20);
  bench.faulty.FailOperation(2, EIO);
  auto found = bench.store->NewestVerified();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->checkpoint->snapshot.step, 10u);
  EXPECT_EQ(found->passed_over.size(), 1u);
}

// The real thing: a limit on file sizes makes the kernel cut a write short and
// refuse the next.
TEST(FaultTest, C29_NoRoomAtByteNOnTheRealFileSystem) {
  signal(SIGXFSZ, SIG_IGN);
  const std::string run = JoinPath(FreshTestFolder(), "run");
  auto store = CheckpointStore::Open(run, {});
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->Save(SmallSnapshot(10)).ok());
  struct rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  for (rlim_t room : {0, 1, 47, 48, 49, 500, 1000}) {
    struct rlimit limit = old_limit;
    limit.rlim_cur = room;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    absl::Status status = (*store)->Save(SmallSnapshot(20)).status();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
    EXPECT_EQ(ErrnoOf(status), EFBIG) << room << ": " << status;
    auto entries = FileSystem::Real()->List(run);
    ASSERT_TRUE(entries.ok());
    EXPECT_EQ(entries->size(), 3u) << room;  // latest, lock, step 10
  }
  EXPECT_TRUE((*store)->Save(SmallSnapshot(20)).ok());
}

}  // namespace
}  // namespace reprise
