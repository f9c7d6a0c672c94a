// What a power failure or a kill at any moment leaves of a run folder with
// version 2 checkpoints: every state that POSIX allows is built and opened.
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/io/testing/unsynced_file_system.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

constexpr char kRun[] = "/data/run";

// Two tensors in two shards, so that their syncs can be told apart.
Snapshot TwoShards(uint64_t step) {
  Snapshot snapshot = SmallestSnapshotV2();
  snapshot.step = step;
  const float value = static_cast<float>(step);
  snapshot.parameters = {FloatTensor("a", {2}, {value, 1}),
                         FloatTensor("b", {3}, {value, 2, 3})};
  for (ItemRecord& record : snapshot.inventory) record.as_of_step = step;
  return snapshot;
}

class CrashV2Test : public ::testing::Test {
 protected:
  static CheckpointStore::Options Options(FileSystem* files, int keep_last) {
    CheckpointStore::Options options;
    options.file_system = files;
    options.keep_last = keep_last;
    options.format_major = 2;
    options.threads = 1;
    options.shard_bytes = 1;
    return options;
  }

  std::unique_ptr<CheckpointStore> Open(UnsyncedFileSystem* files,
                                        int keep_last = 3) {
    auto store = CheckpointStore::Open(kRun, Options(files, keep_last));
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }

  void Save(CheckpointStore* store, uint64_t step) {
    auto digest = store->Save(TwoShards(step));
    ASSERT_TRUE(digest.ok()) << digest.status();
    digests_[step] = *digest;
  }

  // Step that a new process would go on from; every byte of every checkpoint
  // there is right, and nothing is left over.
  uint64_t NewestIn(UnsyncedFileSystem* survived) {
    auto store = CheckpointStore::Open(kRun, Options(survived, 3));
    EXPECT_TRUE(store.ok()) << store.status();
    if (!store.ok()) return 0;
    auto found = (*store)->NewestVerified();
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok()) return 0;
    EXPECT_TRUE(found->passed_over.empty());
    auto entries = survived->List(kRun);
    EXPECT_TRUE(entries.ok());
    for (const FolderEntry& entry : *entries) {
      EXPECT_NE(entry.name[0], '.') << entry.name;
      if (entry.name[0] != 's') continue;
      absl::Status whole =
          VerifyCheckpoint(absl::StrCat(kRun, "/", entry.name), survived, 1);
      EXPECT_TRUE(whole.ok()) << whole;
    }
    if (!found->checkpoint.has_value()) return 0;
    const uint64_t step = found->checkpoint->snapshot.step;
    EXPECT_EQ(TensorDifference(found->checkpoint->snapshot, TwoShards(step)),
              "");
    auto digest = digests_.find(step);
    if (digest != digests_.end()) {
      EXPECT_EQ(found->checkpoint->manifest_digest, digest->second);
    }
    return step;
  }

  // Newest steps over every state that may survive now. Stops at a failure.
  std::set<uint64_t> Outcomes(const UnsyncedFileSystem& files) {
    std::set<uint64_t> steps;
    if (HasFailure()) return steps;
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

// Rules: COMMIT-6
TEST_F(CrashV2Test, C28_SaveLeavesThePreviousOrTheNewCheckpoint) {
  UnsyncedFileSystem files;
  auto store = Open(&files);
  Save(store.get(), 10);
  EXPECT_EQ(Outcomes(files), std::set<uint64_t>{10});
  std::set<uint64_t> during;
  files.SetAfterChange([&] { during.merge(Outcomes(files)); });
  Save(store.get(), 20);
  files.SetAfterChange(nullptr);
  // Both do occur, or the enumeration saw nothing of the commit.
  EXPECT_EQ(during, (std::set<uint64_t>{10, 20}));
  EXPECT_EQ(Outcomes(files), std::set<uint64_t>{20});
  EXPECT_GE(states_, 1000u);
  ReportStates();
}

TEST_F(CrashV2Test, C28_FirstSaveIntoNewFoldersSurvivesOnceItReturned) {
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

TEST_F(CrashV2Test, C28_PruneNeverLosesTheNewest) {
  UnsyncedFileSystem files;
  auto store = Open(&files, /*keep_last=*/1);
  for (uint64_t step : {10, 20}) Save(store.get(), step);
  std::set<uint64_t> during;
  files.SetAfterChange([&] { during.merge(Outcomes(files)); });
  auto removed = store->Prune();
  files.SetAfterChange(nullptr);
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->size(), 1u);
  EXPECT_EQ(during, std::set<uint64_t>{20});
  ReportStates();
}

}  // namespace
}  // namespace reprise
