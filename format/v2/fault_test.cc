// Every operation of a version 2 save, read and prune fails once: what was
// committed stays, and what was not is gone.
#include <errno.h>

#include <iostream>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/io/io_error.h"
#include "format/refusal.h"
#include "format/testing/faulty_run.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kErrors[] = {EIO, ENOSPC, EDQUOT, EROFS, EACCES};
// More operations than any of the calls makes.
constexpr int kMany = 400;

struct Bench : FaultyRun {
  explicit Bench(int keep_last = 3) : FaultyRun(Options(keep_last)) {}

  static CheckpointStore::Options Options(int keep_last) {
    CheckpointStore::Options options;
    options.keep_last = keep_last;
    options.format_major = 2;
    options.threads = 1;
    options.shard_bytes = 300;
    return options;
  }

  void Save(uint64_t step) { FaultyRun::Save(FullSnapshot(step)); }
};

TEST(FaultV2Test, C29_FailedSaveLeavesTheRunAsItWasAndSaysWhy) {
  int failed = 0;
  for (int error_number : kErrors) {
    for (int n = 0; n < kMany; ++n) {
      Bench bench;
      bench.Save(10);
      const std::set<std::string> before = bench.Names();
      bench.faulty.FailOperation(n, error_number);
      absl::StatusOr<std::string> digest = bench.store->Save(FullSnapshot(20));
      if (!bench.faulty.injected()) {
        ASSERT_TRUE(digest.ok()) << digest.status();
        ASSERT_GT(n, 20);
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
      EXPECT_EQ(bench.Names(), before) << hit;
      // Trying again writes new files.
      bench.Save(20);
      EXPECT_EQ(bench.NewestAfterRestart(), 20u) << hit;
    }
  }
  EXPECT_GE(failed, 5 * 15);
  std::cout << "failed saves checked: " << failed << std::endl;
}

TEST(FaultV2Test, C29_DeviceThatIsGoneForGoodLeavesLeftoversToTheNextStart) {
  for (int n = 0; n < kMany; ++n) {
    Bench bench;
    bench.Save(10);
    bench.faulty.FailFromOperation(n, EIO);
    absl::Status status = bench.store->Save(FullSnapshot(20)).status();
    if (!bench.faulty.injected()) break;
    bench.faulty.Reset();
    // When even taking it back failed, the new one is whole and may be used.
    const bool visible =
        status.ok() ||
        std::string(status.message()).find("could not be taken back") !=
            std::string::npos;
    EXPECT_EQ(bench.NewestAfterRestart(), visible ? 20u : 10u)
        << n << ": " << status;
  }
}

TEST(FaultV2Test, C25_ShortWritesOfASaveAreGoneOnWith) {
  int shortened = 0;
  for (int n = 0; n < kMany; ++n) {
    Bench bench;
    bench.faulty.ShortWriteAt(n);
    absl::StatusOr<std::string> digest = bench.store->Save(FullSnapshot(20));
    ASSERT_TRUE(digest.ok()) << digest.status();
    if (bench.faulty.operations() <= n) break;
    if (bench.faulty.injected()) ++shortened;
    bench.faulty.Reset();
    EXPECT_EQ(bench.NewestAfterRestart(), 20u) << n;
  }
  // At least one shard, its digests, envelope, manifest and hint.
  EXPECT_GE(shortened, 5);
}

TEST(FaultV2Test, C29_FailedPruneLosesNoCheckpointThatIsKept) {
  int failed = 0;
  for (int error_number : {EIO, EACCES}) {
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
      auto steps = *bench.store->List();
      ASSERT_GE(steps.size(), 2u) << hit;
      EXPECT_EQ(steps[steps.size() - 1], 40u) << hit;
      EXPECT_EQ(steps[steps.size() - 2], 30u) << hit;
      ASSERT_TRUE(bench.store->Prune().ok()) << hit;
      EXPECT_THAT(*bench.store->List(), ElementsAre(30, 40)) << hit;
      EXPECT_EQ(bench.NewestAfterRestart(), 40u) << hit;
    }
  }
  EXPECT_GE(failed, 2 * 8);
}

TEST(FaultV2Test, FailedReadSaysWhereAndIsNotACheckpointsFault) {
  Bench bench;
  bench.Save(10);
  int failed = 0;
  for (int n = 0; n < kMany; ++n) {
    bench.faulty.FailOperation(n, EIO);
    auto loaded = ReadCheckpoint(absl::StrCat(kFaultyRun, "/step-000000000010"),
                                 &bench.faulty, 1);
    if (!bench.faulty.injected()) {
      ASSERT_TRUE(loaded.ok()) << loaded.status();
      break;
    }
    EXPECT_EQ(ErrnoOf(loaded.status()), EIO) << n;
    EXPECT_THAT(std::string(loaded.status().message()),
                HasSubstr("step-000000000010"));
    ++failed;
  }
  EXPECT_GE(failed, 10);
}

}  // namespace
}  // namespace reprise
