// Every operation of a migration fails once, and the power fails after every
// change: the source is as it was, and the result is whole or not there.
#include <errno.h>

#include <iostream>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/io/io_error.h"
#include "format/io/testing/fault_injecting_file_system.h"
#include "format/io/testing/unsynced_file_system.h"
#include "format/migrate/migrate_run.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

constexpr char kRun[] = "/data/run";
constexpr char kOut[] = "/data/out";
constexpr int kMany = 2000;

// A run of both versions in memory.
void MakeRun(UnsyncedFileSystem* memory) {
  for (uint32_t major : {1u, 2u}) {
    CheckpointStore::Options options;
    options.file_system = memory;
    options.format_major = major;
    options.threads = 1;
    auto store = CheckpointStore::Open(kRun, options);
    ASSERT_TRUE(store.ok()) << store.status();
    auto saved =
        (*store)->Save(major == 1 ? SmallSnapshot(50) : FullSnapshot(60));
    ASSERT_TRUE(saved.ok()) << saved.status();
  }
}

MigrateRunOptions Options(FileSystem* files) {
  MigrateRunOptions options;
  options.out = kOut;
  options.checkpoint.file_system = files;
  options.checkpoint.threads = 1;
  options.checkpoint.rename = std::make_shared<const RenameRules>(
      *RenameRules::Parse("^fc\\. -> head_of."));
  return options;
}

std::map<std::string, std::string> Everything(FileSystem* files,
                                              const std::string& folder) {
  std::map<std::string, std::string> all;
  auto entries = files->List(folder);
  if (!entries.ok()) return all;
  for (const FolderEntry& entry : *entries) {
    const std::string path = JoinPath(folder, entry.name);
    if (entry.kind == FileKind::kFolder) {
      all[path] = "folder";
      all.merge(Everything(files, path));
    } else {
      all[path] = *FileContent(path, files);
    }
  }
  return all;
}

// `out` holds both checkpoints, every byte of them.
void ExpectWhole(FileSystem* files, const std::string& when) {
  for (const char* name : {"step-000000000050", "step-000000000060"}) {
    const absl::Status status =
        VerifyCheckpoint(JoinPath(kOut, name), files, 1);
    EXPECT_TRUE(status.ok()) << when << status;
  }
}

TEST(MigrateFault, MIG_1_FailedOperationLeavesNothingAndTheNextTrySucceeds) {
  int failed = 0;
  for (int error_number : {EIO, ENOSPC}) {
    for (int n = 0; n < kMany; ++n) {
      UnsyncedFileSystem memory;
      MakeRun(&memory);
      FaultInjectingFileSystem faulty(&memory);
      const auto before = Everything(&memory, "/");
      faulty.FailOperation(n, error_number);
      auto migrated = MigrateRun(kRun, Options(&faulty));
      if (!faulty.injected()) {
        ASSERT_TRUE(migrated.ok()) << migrated.status();
        ASSERT_GT(n, 100);
        break;
      }
      const std::string hit =
          absl::StrCat(n, ": ", faulty.injected_operation());
      faulty.Reset();
      if (migrated.ok()) {
        // What can be copied instead, or was only looked at.
        ExpectWhole(&memory, hit);
      } else {
        ++failed;
        EXPECT_EQ(ErrnoOf(migrated.status()), error_number)
            << hit << migrated.status();
        EXPECT_TRUE(Everything(&memory, "/") == before) << hit;
      }
      migrated = MigrateRun(kRun, Options(&memory));
      ASSERT_TRUE(migrated.ok()) << hit << migrated.status();
      ExpectWhole(&memory, hit);
    }
  }
  EXPECT_GE(failed, 2 * 100);
  std::cout << "failed migrations checked: " << failed << std::endl;
}

TEST(MigrateFault, C30_WhatMayNotBeReadIsNamedAndRejected) {
  int failed = 0;
  for (int n = 0; n < kMany; ++n) {
    UnsyncedFileSystem memory;
    MakeRun(&memory);
    FaultInjectingFileSystem faulty(&memory);
    faulty.FailOperation(n, EACCES);
    MigrateRunOptions options = Options(&faulty);
    options.dry_run = true;
    const absl::Status status = MigrateRun(kRun, options).status();
    if (!faulty.injected()) break;
    // A claim that cannot be looked at is no claim.
    if (status.ok()) continue;
    ++failed;
    EXPECT_EQ(RefusalOf(status), Refusal::IO) << status;
    EXPECT_EQ(ExitCodeFor(status), ExitCode::EXIT_CHECKPOINT_REJECTED);
    EXPECT_THAT(std::string(status.message()), HasSubstr("/data"));
  }
  EXPECT_GT(failed, 15);
}

TEST(MigrateFault, MIG_1_DeviceThatIsGoneForGoodLeavesWhatTheNextTryUses) {
  int left_behind = 0;
  for (int n = 0; n < kMany; ++n) {
    UnsyncedFileSystem memory;
    MakeRun(&memory);
    FaultInjectingFileSystem faulty(&memory);
    const auto source = Everything(&memory, kRun);
    faulty.FailFromOperation(n, EIO);
    auto migrated = MigrateRun(kRun, Options(&faulty));
    if (!faulty.injected()) {
      ASSERT_TRUE(migrated.ok()) << migrated.status();
      break;
    }
    const std::string hit = absl::StrCat(n, ": ", faulty.injected_operation());
    EXPECT_FALSE(migrated.ok()) << hit;
    EXPECT_TRUE(Everything(&memory, kRun) == source) << hit;
    if (memory.LinkStat("/data/.tmp-migrate-out").ok()) {
      ++left_behind;
      EXPECT_THAT(std::string(migrated.status().message()),
                  HasSubstr("left behind: /data/.tmp-migrate-out"))
          << hit;
    }
    migrated = MigrateRun(kRun, Options(&memory));
    ASSERT_TRUE(migrated.ok()) << hit << migrated.status();
    ExpectWhole(&memory, hit);
    EXPECT_FALSE(memory.LinkStat("/data/.tmp-migrate-out").ok()) << hit;
  }
  EXPECT_GT(left_behind, 20);
}

TEST(MigrateFault, MIG_1_ShortWritesAreCompleted) {
  for (int n = 0; n < kMany; ++n) {
    UnsyncedFileSystem memory;
    MakeRun(&memory);
    FaultInjectingFileSystem faulty(&memory);
    faulty.ShortWriteAt(n);
    auto migrated = MigrateRun(kRun, Options(&faulty));
    ASSERT_TRUE(migrated.ok()) << migrated.status();
    ExpectWhole(&memory, faulty.injected_operation());
    if (faulty.operations() <= n) break;
  }
}

// Kill and power failure: after any change, whatever of what was not synced
// survives. A run of one checkpoint, as states multiply.
void CheckCrashStates(uint32_t major, const Snapshot& snapshot,
                      const std::string& rules) {
  UnsyncedFileSystem memory;
  {
    CheckpointStore::Options options;
    options.file_system = &memory;
    options.format_major = major;
    auto store = CheckpointStore::Open(kRun, options);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->Save(snapshot).ok());
  }
  const std::string name = CheckpointName(snapshot.step);
  const auto source = Everything(&memory, JoinPath(kRun, name));
  uint64_t states = 0;
  uint64_t whole = 0;
  memory.SetAfterChange([&] {
    states += memory.ForEachCrashState([&](UnsyncedFileSystem* survived) {
      EXPECT_TRUE(Everything(survived, JoinPath(kRun, name)) == source);
      if (survived->LinkStat(kOut).ok()) {
        ++whole;
        const absl::Status verified =
            VerifyCheckpoint(JoinPath(kOut, name), survived, 1);
        EXPECT_TRUE(verified.ok()) << verified;
      }
      return !::testing::Test::HasFailure();
    });
  });
  MigrateRunOptions options = Options(&memory);
  options.checkpoint.rename =
      std::make_shared<const RenameRules>(*RenameRules::Parse(rules));
  auto migrated = MigrateRun(kRun, options);
  ASSERT_TRUE(migrated.ok()) << migrated.status();
  EXPECT_GT(states, 1000u);
  EXPECT_GT(whole, 0u);
  std::cout << "crash states checked: " << states << ", with the result in "
            << whole << std::endl;
}

TEST(MigrateFault, MIG_1_EveryCrashStateHasTheSourceAndAWholeResultOrNone) {
  CheckCrashStates(1, SmallSnapshot(50), "^fc\\. -> head.");
}

TEST(MigrateFault, MIG_1_EveryCrashStateOfALinkedResultHasItWholeOrNot) {
  CheckCrashStates(2, SmallestSnapshotV2(), "^w$ -> v");
}

}  // namespace
}  // namespace reprise
