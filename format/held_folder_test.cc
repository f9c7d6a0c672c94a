// A store and a reader keep to the folder that they opened, whatever is renamed
// or put in its place meanwhile; with openat2() and without.
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/io/testing/without_openat2.h"
#include "format/read_checkpoint.h"
#include "format/refusal.h"
#include "format/run_listing.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "format/v2/checkpoint_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kFirst[] = "step-000000000060";

class HeldFolderTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    outside_ = FreshTestFolder();
    run_ = JoinPath(outside_, "run");
    moved_ = JoinPath(outside_, "moved");
    elsewhere_ = JoinPath(outside_, "elsewhere");
    ASSERT_TRUE(FileSystem::Real()->CreateFolder(elsewhere_).ok());
  }
  void TearDown() override {
    EXPECT_TRUE(RemoveRecursively(FileSystem::Real(), outside_).ok());
  }
  std::unique_ptr<CheckpointStore> Open(uint32_t major = 2) {
    CheckpointStore::Options options;
    options.format_major = major;
    options.keep_last = 1;
    options.threads = 1;
    options.shard_bytes = 256;
    auto store = CheckpointStore::Open(run_, options);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  static std::vector<std::string> Names(const std::string& folder) {
    std::vector<std::string> names;
    auto entries = FileSystem::Real()->List(folder);
    EXPECT_TRUE(entries.ok()) << entries.status();
    for (const FolderEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }
  static Snapshot SnapshotOf(uint32_t major, uint64_t step) {
    return major == 1 ? SmallSnapshot(step) : FullSnapshot(step);
  }
  // A snapshot that calls `meanwhile` once, when its last tensor is written.
  static Snapshot Calling(std::function<void()> meanwhile) {
    Snapshot snapshot = FullSnapshot(60);
    auto called = std::make_shared<bool>(false);
    snapshot.user_tensors.push_back(
        Tensor::OnDevice("zz", DType::kU8, {300}, {},
                         [called, meanwhile](uint64_t, size_t size, char* out) {
                           std::fill(out, out + size, 'x');
                           if (!*called) meanwhile();
                           *called = true;
                           return absl::OkStatus();
                         }));
    return snapshot;
  }
  // What somebody does who moves a run away and lets its name lead elsewhere.
  void ReplaceRun() {
    ASSERT_EQ(rename(run_.c_str(), moved_.c_str()), 0);
    ASSERT_EQ(symlink(elsewhere_.c_str(), run_.c_str()), 0);
  }
  void ReplaceByLink(const std::string& path, const std::string& target) {
    ASSERT_EQ(rename(path.c_str(), JoinPath(outside_, "was-there").c_str()), 0);
    ASSERT_EQ(symlink(target.c_str(), path.c_str()), 0);
  }

  std::string outside_, run_, moved_, elsewhere_;
};

INSTANTIATE_TEST_SUITE_P(WithAndWithoutOpenat2, HeldFolderTest,
                         ::testing::Values(0, ENOSYS, EPERM));

// Rules: DIR-7
TEST_P(HeldFolderTest, SavesAndPrunesGoWhereTheRunIsAndNeverElsewhere) {
  WithoutOpenat2(GetParam(), [&] {
    for (uint32_t major : {1, 2}) {
      auto store = Open(major);
      ASSERT_NE(store, nullptr);
      ASSERT_TRUE(store->Save(SnapshotOf(major, 60)).ok());
      ReplaceRun();
      // A checkpoint of the same name, which is nobody's to prune.
      ASSERT_TRUE(
          FileSystem::Real()->CreateFolder(JoinPath(elsewhere_, kFirst)).ok());
      auto saved = store->Save(SnapshotOf(major, 70));
      EXPECT_TRUE(saved.ok()) << saved.status();
      AsyncSaveOptions behind;
      behind.prune = true;
      EXPECT_TRUE(store->SaveAsync(SnapshotOf(major, 80), behind).ok());
      EXPECT_TRUE(store->Wait().ok());
      EXPECT_THAT(Names(moved_),
                  ElementsAre("latest", "lock", "step-000000000080"));
      EXPECT_THAT(Names(elsewhere_), ElementsAre(kFirst));
      auto found = store->NewestVerified();
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(found->checkpoint->snapshot.step, 80u);
      EXPECT_TRUE(ReadCheckpoint(JoinPath(moved_, "step-000000000080")).ok());
      // For the next turn.
      EXPECT_TRUE(store->Close().ok());
      ASSERT_EQ(unlink(run_.c_str()), 0);
      EXPECT_TRUE(RemoveRecursively(FileSystem::Real(), moved_).ok());
      ASSERT_EQ(rmdir(JoinPath(elsewhere_, kFirst).c_str()), 0);
    }
  });
}

// Rules: DIR-7
TEST_P(HeldFolderTest, ASaveUnderWayStaysInTheRunThatIsMoved) {
  WithoutOpenat2(GetParam(), [&] {
    auto store = Open();
    auto saved = store->Save(Calling([&] { ReplaceRun(); }));
    EXPECT_TRUE(saved.ok()) << saved.status();
    EXPECT_THAT(Names(elsewhere_), IsEmpty());
    EXPECT_THAT(Names(moved_), ElementsAre("latest", "lock", kFirst));
    EXPECT_TRUE(VerifyCheckpoint(JoinPath(moved_, kFirst)).ok());
  });
}

// Rules: DIR-7
TEST_P(HeldFolderTest, TheLockIsTheMovedRunsAndNotItsNames) {
  WithoutOpenat2(GetParam(), [&] {
    auto store = Open();
    ReplaceRun();
    EXPECT_EQ(RefusalOf(CheckpointStore::Open(moved_, {}).status()),
              Refusal::LOCKED);
    // Another run now; that nobody holds.
    EXPECT_TRUE(CheckpointStore::Open(run_, {}).ok());
    EXPECT_THAT(Names(elsewhere_), ElementsAre("lock"));
    EXPECT_TRUE(store->Save(FullSnapshot(60)).ok());
    EXPECT_THAT(Names(elsewhere_), ElementsAre("lock"));
  });
}

// Rules: DIR-7
TEST_P(HeldFolderTest, C36_ALinkPlantedInASaveIsRefusedByName) {
  WithoutOpenat2(GetParam(), [&] {
    auto store = Open();
    const std::string temporary = JoinPath(run_, absl::StrCat(".tmp-", kFirst));
    const absl::Status status =
        store->Save(Calling([&] { ReplaceByLink(temporary, elsewhere_); }))
            .status();
    EXPECT_EQ(RefusalOf(status), Refusal::NOT_A_CHECKPOINT) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(temporary));
    EXPECT_THAT(Names(elsewhere_), IsEmpty());
    // The link went with the failed save.
    EXPECT_THAT(Names(run_), ElementsAre("lock"));
    EXPECT_TRUE(store->Save(FullSnapshot(60)).ok());
  });
}

// Rules: DIR-7
TEST_P(HeldFolderTest, C36_ABranchIsNotMovedThroughALink) {
  WithoutOpenat2(GetParam(), [&] {
    auto store = Open();
    ASSERT_TRUE(store->Save(FullSnapshot(60)).ok());
    ASSERT_TRUE(store->Save(FullSnapshot(70)).ok());
    const std::string abandoned = JoinPath(run_, "abandoned");
    ASSERT_EQ(symlink(elsewhere_.c_str(), abandoned.c_str()), 0);
    auto first = ReadCheckpoint(JoinPath(run_, kFirst));
    ASSERT_TRUE(first.ok()) << first.status();
    for (const absl::Status& status :
         {store->ResumeFrom(*first, 2).status(),
          store->AbandonAll(2, {}).status(), store->NextAttempt({}).status(),
          ListRun(run_).status()}) {
      EXPECT_EQ(RefusalOf(status), Refusal::NOT_A_CHECKPOINT) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(abandoned));
    }
    EXPECT_THAT(Names(elsewhere_), IsEmpty());
    EXPECT_THAT(*store->List(), ElementsAre(60, 70));
  });
}

// Rules: DIR-7
TEST_P(HeldFolderTest, AReaderReadsOneFolderAndNotWhatIsPutInItsPlace) {
  WithoutOpenat2(GetParam(), [&] {
    const std::string path = JoinPath(run_, kFirst);
    auto store = Open();
    ASSERT_TRUE(store->Save(FullSnapshot(60)).ok());
    auto reader = CheckpointReader::Open(path);
    ASSERT_TRUE(reader.ok()) << reader.status();
    ReplaceByLink(path, elsewhere_);
    // Digest files are opened only now.
    const absl::Status whole = (*reader)->Verify(2);
    EXPECT_TRUE(whole.ok()) << whole;
    EXPECT_EQ(TensorDifference(*(*reader)->ReadAll({}), FullSnapshot(60)), "");
    // Who comes now is told.
    for (const absl::Status& status :
         {CheckpointReader::Open(path).status(), VerifyCheckpoint(path),
          ReadCheckpoint(path).status()}) {
      EXPECT_EQ(RefusalOf(status), Refusal::NOT_A_CHECKPOINT);
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(path), HasSubstr("symbolic link")));
    }
  });
}

}  // namespace
}  // namespace reprise
