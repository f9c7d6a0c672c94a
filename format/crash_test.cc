// What a power failure or a kill at any moment leaves of a run folder: every
// state that POSIX allows is built and opened.
#include <errno.h>

#include <iostream>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/io/testing/unsynced_file_system.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

constexpr char kRun[] = "/data/runs/one";

class CrashTest : public ::testing::Test {
 protected:
  CheckpointStore::Options Options(FileSystem* files, int keep_last = 3) {
    CheckpointStore::Options options;
    options.file_system = files;
    options.keep_last = keep_last;
    return options;
  }

  std::unique_ptr<CheckpointStore> Open(UnsyncedFileSystem* files,
                                        int keep_last = 3) {
    auto store = CheckpointStore::Open(kRun, Options(files, keep_last));
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }

  void Save(CheckpointStore* store, uint64_t step) {
    auto digest = store->Save(SmallSnapshot(step));
    ASSERT_TRUE(digest.ok()) << digest.status();
    digests_[step] = *digest;
  }

  // Step that a new process would go on from, 0 for a fresh start. The folder
  // must be in order: what is there verifies and is what was saved, and
  // nothing is left over.
  uint64_t NewestIn(UnsyncedFileSystem* survived) {
    auto store = CheckpointStore::Open(kRun, Options(survived));
    EXPECT_TRUE(store.ok()) << store.status();
    if (!store.ok()) return 0;
    auto found = (*store)->NewestVerified();
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok()) return 0;
    EXPECT_TRUE(found->passed_over.empty());
    auto entries = survived->List(kRun);
    EXPECT_TRUE(entries.ok()) << entries.status();
    for (const FolderEntry& entry : *entries) {
      if (entry.name[0] == 's') {
        auto read =
            ReadCheckpoint(absl::StrCat(kRun, "/", entry.name), survived);
        EXPECT_TRUE(read.ok()) << read.status();
      }
      EXPECT_TRUE(entry.name == "lock" || entry.name == "latest" ||
                  entry.name == "abandoned" || entry.name[0] == 's')
          << entry.name;
    }
    if (!found->checkpoint.has_value()) return 0;
    const uint64_t step = found->checkpoint->snapshot.step;
    auto digest = digests_.find(step);
    if (digest != digests_.end()) {
      EXPECT_EQ(found->checkpoint->manifest_digest, digest->second);
    }
    return step;
  }

  // Newest steps over every state that may survive now. Stops at the first
  // failure; one says enough.
  std::set<uint64_t> Outcomes(const UnsyncedFileSystem& files) {
    std::set<uint64_t> steps;
    if (HasFailure()) return steps;
    // More would be changes that nobody ever makes durable.
    EXPECT_LE(files.pending(), 10u);
    states_ += files.ForEachCrashState([&](UnsyncedFileSystem* survived) {
      steps.insert(NewestIn(survived));
      return !HasFailure();
    });
    return steps;
  }

  void ReportStates() {
    RecordProperty("crash_states", std::to_string(states_));
    std::cout << "crash states checked: " << states_ << std::endl;
  }

  std::map<uint64_t, std::string> digests_;
  uint64_t states_ = 0;
};

// Rules: COMMIT-1
TEST_F(CrashTest, C28_SaveLeavesThePreviousOrTheNewCheckpoint) {
  UnsyncedFileSystem files;
  auto store = Open(&files);
  Save(store.get(), 10);
  EXPECT_EQ(Outcomes(files), std::set<uint64_t>{10});

  std::set<uint64_t> during;
  int moments = 0;
  files.SetAfterChange([&] {
    ++moments;
    during.merge(Outcomes(files));
  });
  Save(store.get(), 20);
  files.SetAfterChange(nullptr);
  // Both do occur, or the enumeration saw nothing of the commit.
  EXPECT_EQ(during, (std::set<uint64_t>{10, 20}));
  EXPECT_GE(moments, 10);
  // Save has returned: from here on nothing takes the checkpoint away.
  EXPECT_EQ(Outcomes(files), std::set<uint64_t>{20});
  EXPECT_GE(states_, 200u);
  ReportStates();
}

// Rules: COMMIT-2
TEST_F(CrashTest, C28_FirstSaveIntoNewFoldersSurvivesOnceItReturned) {
  UnsyncedFileSystem files;
  std::set<uint64_t> during;
  files.SetAfterChange([&] { during.merge(Outcomes(files)); });
  auto store = Open(&files);
  Save(store.get(), 10);
  files.SetAfterChange(nullptr);
  EXPECT_EQ(during, (std::set<uint64_t>{0, 10}));
  EXPECT_EQ(Outcomes(files), std::set<uint64_t>{10});
  ReportStates();
}

// Rules: COMMIT-1
TEST_F(CrashTest, C28_SaveWithoutRenameNoReplaceIsAsSafe) {
  UnsyncedFileSystem files;
  files.SetRenameNoReplaceError(EINVAL);
  auto store = Open(&files);
  Save(store.get(), 10);
  std::set<uint64_t> during;
  files.SetAfterChange([&] { during.merge(Outcomes(files)); });
  Save(store.get(), 20);
  files.SetAfterChange(nullptr);
  EXPECT_EQ(during, (std::set<uint64_t>{10, 20}));
  EXPECT_EQ(Outcomes(files), std::set<uint64_t>{20});
  ReportStates();
}

// Rules: PRUNE-2 PRUNE-3
TEST_F(CrashTest, C28_PruneNeverLosesTheNewest) {
  UnsyncedFileSystem files;
  auto store = Open(&files, /*keep_last=*/1);
  for (uint64_t step : {10, 20, 30}) Save(store.get(), step);
  std::set<uint64_t> during;
  files.SetAfterChange([&] { during.merge(Outcomes(files)); });
  auto removed = store->Prune();
  files.SetAfterChange(nullptr);
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->size(), 2u);
  EXPECT_EQ(during, std::set<uint64_t>{30});
  ReportStates();
}

// Rules: NEWEST-4
TEST_F(CrashTest, C28_ResumingNeverLosesWhatItAbandons) {
  UnsyncedFileSystem files;
  auto store = Open(&files);
  for (uint64_t step : {10, 20, 30}) Save(store.get(), step);
  auto chosen =
      ReadCheckpoint(absl::StrCat(kRun, "/step-000000000010"), &files);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  std::set<uint64_t> during;
  files.SetAfterChange([&] {
    during.merge(Outcomes(files));
    files.ForEachCrashState([&](UnsyncedFileSystem* survived) {
      for (const char* name : {"step-000000000020", "step-000000000030"}) {
        const bool here =
            ReadCheckpoint(absl::StrCat(kRun, "/", name), survived).ok();
        const bool abandoned =
            ReadCheckpoint(absl::StrCat(kRun, "/abandoned/2/", name), survived)
                .ok();
        EXPECT_TRUE(here != abandoned) << name;
      }
      return !HasFailure();
    });
  });
  ASSERT_TRUE(store->ResumeFrom(*chosen, 2).ok());
  files.SetAfterChange(nullptr);
  EXPECT_EQ(during, (std::set<uint64_t>{10, 20, 30}));
  EXPECT_EQ(Outcomes(files), std::set<uint64_t>{10});
  ReportStates();
}

}  // namespace
}  // namespace reprise
