#include "format/checkpoint_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/envelope.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "format/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CheckpointStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { run_ = JoinPath(FreshTestFolder(), "a run"); }

  std::unique_ptr<CheckpointStore> Open(int keep_last = 3) {
    CheckpointStore::Options options;
    options.keep_last = keep_last;
    auto store = CheckpointStore::Open(run_, options);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  void Save(CheckpointStore* store, uint64_t step) {
    auto digest = store->Save(SmallSnapshot(step));
    ASSERT_TRUE(digest.ok()) << digest.status();
    EXPECT_EQ(digest->size(), 16u);
  }
  std::string Path(const std::string& name) { return JoinPath(run_, name); }
  std::string ManifestOf(const std::string& name) {
    return JoinPath(Path(name), "manifest.ckpt");
  }
  std::vector<std::string> Names(const std::string& folder) {
    std::vector<std::string> names;
    auto entries = FileSystem::Real()->List(folder);
    EXPECT_TRUE(entries.ok()) << entries.status();
    for (const FolderEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }
  void FlipBit(const std::string& name, size_t offset) {
    std::string bytes = *FileContent(ManifestOf(name));
    bytes[offset] ^= 1;
    ASSERT_TRUE(ReplaceFile(ManifestOf(name), bytes).ok());
  }

  std::string run_;
};

TEST_F(CheckpointStoreTest, FreshRunHasNothing) {
  auto store = Open();
  auto found = store->NewestVerified();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->checkpoint.has_value());
  EXPECT_THAT(found->passed_over, IsEmpty());
  EXPECT_THAT(*store->List(), IsEmpty());
  EXPECT_EQ(*store->NextAttempt(std::nullopt), 1u);
}

TEST_F(CheckpointStoreTest, SavesListsAndReadsBack) {
  auto store = Open();
  Save(store.get(), 60);
  auto digest = store->Save(SmallSnapshot(70));
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_THAT(*store->List(), ElementsAre(60, 70));
  auto found = store->NewestVerified();
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->checkpoint.has_value());
  EXPECT_EQ(found->checkpoint->snapshot.step, 70u);
  EXPECT_EQ(found->checkpoint->format_major, 1u);
  EXPECT_EQ(found->checkpoint->path, Path("step-000000000070"));
  EXPECT_EQ(found->checkpoint->manifest_digest, *digest);
  EXPECT_EQ(*FileContent(Path("latest")), "step-000000000070\n");
  EXPECT_THAT(Names(run_), ElementsAre("latest", "lock", "step-000000000060",
                                       "step-000000000070"));
  EXPECT_THAT(store->TakeNotices(), IsEmpty());
}

TEST_F(CheckpointStoreTest, ReadingSaysHowLongItTook) {
  CheckpointStore::Options options;
  options.format_major = kV2Major;
  auto store = CheckpointStore::Open(run_, options);
  ASSERT_TRUE(store.ok()) << store.status();
  const auto digest = (*store)->Save(FullSnapshot(60));
  ASSERT_TRUE(digest.ok()) << digest.status();
  const auto found = (*store)->NewestVerified();
  ASSERT_TRUE(found.ok()) << found.status();
  const ReadTime& time = found->checkpoint->time;
  EXPECT_GT(time.verify_seconds, 0);
  EXPECT_GT(time.seconds, time.verify_seconds);
}

// Rules: COMMIT-4
TEST_F(CheckpointStoreTest, CommittedFilesAreReadOnly) {
  auto store = Open();
  Save(store.get(), 60);
  auto info = FileSystem::Real()->LinkStat(ManifestOf("step-000000000060"));
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->mode & 0222, 0u);
  EXPECT_NE(info->mode & 0400, 0u);
}

TEST_F(CheckpointStoreTest, SameSnapshotSavedTwiceGivesTheSameDigest) {
  std::string first;
  {
    auto store = Open();
    first = *store->Save(SmallSnapshot(60));
    ASSERT_TRUE(store->AbandonAll(2, {}).ok());
    EXPECT_EQ(*store->Save(SmallSnapshot(60)), first);
  }
}

TEST_F(CheckpointStoreTest, RefusesInvalidSnapshotsBeforeWriting) {
  auto store = Open();
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.scaler->scale = 0;
  EXPECT_EQ(RefusalOf(store->Save(snapshot).status()), Refusal::INVALID_VALUE);
  EXPECT_THAT(Names(run_), ElementsAre("lock"));
}

// Rules: COMMIT-5
TEST_F(CheckpointStoreTest, RefusesAStepThatIsThereOrPassed) {
  auto store = Open();
  Save(store.get(), 60);
  for (uint64_t step : {50, 60}) {
    absl::Status status = store->Save(SmallSnapshot(step)).status();
    EXPECT_EQ(RefusalOf(status), Refusal::INVALID_VALUE);
    EXPECT_THAT(std::string(status.message()), HasSubstr("ResumeFrom"));
  }
  EXPECT_THAT(*store->List(), ElementsAre(60));
}

// Rules: COMMIT-5
TEST_F(CheckpointStoreTest, C30_RefusesAnotherRunsSnapshot) {
  auto store = Open();
  Save(store.get(), 60);
  Snapshot other = SmallSnapshot(70);
  other.run_id[0] = 'f';
  EXPECT_EQ(RefusalOf(store->Save(other).status()), Refusal::MISMATCH);
}

TEST_F(CheckpointStoreTest, OptionsOutOfRangeAreRefused) {
  CheckpointStore::Options options;
  options.keep_last = 0;
  EXPECT_EQ(RefusalOf(CheckpointStore::Open(run_, options).status()),
            Refusal::INVALID_VALUE);
}

// Rules: NEWEST-1
TEST_F(CheckpointStoreTest, C26_DamagedNewestIsPassedOverAloud) {
  auto store = Open();
  Save(store.get(), 60);
  Save(store.get(), 70);
  FlipBit("step-000000000070", 100);
  auto found = store->NewestVerified();
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->checkpoint.has_value());
  EXPECT_EQ(found->checkpoint->snapshot.step, 60u);
  ASSERT_EQ(found->passed_over.size(), 1u);
  EXPECT_EQ(found->passed_over[0].name, "step-000000000070");
  EXPECT_EQ(RefusalOf(found->passed_over[0].reason), Refusal::CORRUPT);
  EXPECT_THAT(std::string(found->passed_over[0].reason.message()),
              HasSubstr(ManifestOf("step-000000000070")));
}

// Rules: DIR-3
TEST_F(CheckpointStoreTest, LatestIsNeverTrusted) {
  auto store = Open();
  Save(store.get(), 60);
  Save(store.get(), 70);
  ASSERT_TRUE(ReplaceFile(Path("latest"), "step-000000000060\n").ok());
  EXPECT_EQ((*store->NewestVerified()).checkpoint->snapshot.step, 70u);
  ASSERT_TRUE(ReplaceFile(Path("latest"), "../../etc/passwd").ok());
  EXPECT_EQ((*store->NewestVerified()).checkpoint->snapshot.step, 70u);
  ASSERT_TRUE(FileSystem::Real()->Unlink(Path("latest")).ok());
  EXPECT_EQ((*store->NewestVerified()).checkpoint->snapshot.step, 70u);
}

// Rules: NEWEST-2
TEST_F(CheckpointStoreTest, NewerFormatStopsInsteadOfFallingBack) {
  auto store = Open();
  Save(store.get(), 60);
  Save(store.get(), 70);
  Envelope future;
  future.major = 3;
  future.manifest_length = 3;
  ASSERT_TRUE(ReplaceFile(ManifestOf("step-000000000070"),
                          EncodeEnvelope(future) + "v2!")
                  .ok());
  absl::Status status = store->NewestVerified().status();
  EXPECT_EQ(RefusalOf(status), Refusal::TOO_NEW) << status;
  // An older one of a newer format does not matter.
  Save(store.get(), 80);
  EXPECT_EQ((*store->NewestVerified()).checkpoint->snapshot.step, 80u);
}

// Rules: NEWEST-3
TEST_F(CheckpointStoreTest, NothingReadableForbidsAFreshStart) {
  auto store = Open();
  Save(store.get(), 60);
  FlipBit("step-000000000060", 100);
  absl::Status status = store->NewestVerified().status();
  EXPECT_EQ(RefusalOf(status), Refusal::CORRUPT) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("starts fresh"));
}

// Rules: DIR-2 NEWEST-3
TEST_F(CheckpointStoreTest, EntriesWithACheckpointsNameForbidAFreshStart) {
  auto store = Open();
  ASSERT_TRUE(FileSystem::Real()->CreateFolder(Path("step-60")).ok());
  EXPECT_EQ(RefusalOf(store->NewestVerified().status()),
            Refusal::NOT_A_CHECKPOINT);
  // With a good one beside it, it is only reported.
  Save(store.get(), 60);
  auto found = store->NewestVerified();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->checkpoint->snapshot.step, 60u);
  ASSERT_EQ(found->passed_over.size(), 1u);
  EXPECT_EQ(found->passed_over[0].name, "step-60");
}

TEST_F(CheckpointStoreTest, EmptyFoldersAndMissingManifestsAreCorrupt) {
  auto store = Open();
  ASSERT_TRUE(FileSystem::Real()->CreateFolder(Path("step-000000000060")).ok());
  EXPECT_EQ(RefusalOf(store->NewestVerified().status()), Refusal::CORRUPT);
  EXPECT_EQ(RefusalOf(ReadCheckpoint(Path("step-000000000061")).status()),
            Refusal::ABSENT);
}

TEST_F(CheckpointStoreTest, C37_MissingItemsAreNamed) {
  auto store = Open();
  Save(store.get(), 60);
  ASSERT_TRUE(
      RewriteManifest(Path("step-000000000060"),
                      [](checkpoint::v1::Checkpoint* message) {
                        message->mutable_scaler()->clear_growth_tracker();
                      })
          .ok());
  absl::Status status = ReadCheckpoint(Path("step-000000000060")).status();
  EXPECT_EQ(RefusalOf(status), Refusal::MISSING_ITEM);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("scaler.growth_tracker: recorded as SAVED, but field "
                        "scaler.growth_tracker is absent"));
}

// Rules: DIR-5
TEST_F(CheckpointStoreTest, E10_SymbolicLinksAreRefused) {
  auto store = Open();
  Save(store.get(), 60);
  const std::string elsewhere = JoinPath(FreshTestFolder(), "elsewhere");
  // FreshTestFolder emptied the run's parent; make the run anew.
  store.reset();
  store = Open();
  Save(store.get(), 60);
  ASSERT_EQ(rename(Path("step-000000000060").c_str(), elsewhere.c_str()), 0);
  ASSERT_EQ(symlink(elsewhere.c_str(), Path("step-000000000060").c_str()), 0);
  EXPECT_EQ(RefusalOf(ReadCheckpoint(Path("step-000000000060")).status()),
            Refusal::NOT_A_CHECKPOINT);
  EXPECT_EQ(RefusalOf(ReadCheckpoint(Path("step-000000000060/")).status()),
            Refusal::NOT_A_CHECKPOINT);
  ASSERT_TRUE(ReadCheckpoint(elsewhere).ok());
  // The manifest itself as a link.
  ASSERT_EQ(unlink(Path("step-000000000060").c_str()), 0);
  ASSERT_TRUE(FileSystem::Real()->CreateFolder(Path("step-000000000060")).ok());
  ASSERT_EQ(symlink(JoinPath(elsewhere, "manifest.ckpt").c_str(),
                    ManifestOf("step-000000000060").c_str()),
            0);
  EXPECT_EQ(RefusalOf(ReadCheckpoint(Path("step-000000000060")).status()),
            Refusal::NOT_A_CHECKPOINT);
}

TEST_F(CheckpointStoreTest, C36_OtherFilesAndPipesAreNotCheckpoints) {
  ASSERT_NE(Open(), nullptr);
  const std::string folder = Path("step-000000000060");
  ASSERT_TRUE(FileSystem::Real()->CreateFolder(folder).ok());
  ASSERT_TRUE(ReplaceFile(ManifestOf("step-000000000060"),
                          "PK\x03\x04 a zip in our extension")
                  .ok());
  absl::Status status = ReadCheckpoint(folder).status();
  EXPECT_EQ(RefusalOf(status), Refusal::NOT_A_CHECKPOINT);
  EXPECT_THAT(std::string(status.message()), HasSubstr("zip archive"));
  EXPECT_EQ(RefusalOf(ReadCheckpoint(ManifestOf("step-000000000060")).status()),
            Refusal::NOT_A_CHECKPOINT);
  ASSERT_TRUE(FileSystem::Real()->Unlink(ManifestOf("step-000000000060")).ok());
  ASSERT_EQ(mkfifo(ManifestOf("step-000000000060").c_str(), 0600), 0);
  EXPECT_EQ(RefusalOf(ReadCheckpoint(folder).status()),
            Refusal::NOT_A_CHECKPOINT);
}

// Rules: DIR-1
TEST_F(CheckpointStoreTest, E9_RenamedFoldersAreAMismatch) {
  auto store = Open();
  Save(store.get(), 60);
  ASSERT_EQ(rename(Path("step-000000000060").c_str(),
                   Path("step-000000000999").c_str()),
            0);
  EXPECT_EQ(RefusalOf(store->NewestVerified().status()), Refusal::MISMATCH);
  // Under a name of the user's own it is readable.
  ASSERT_EQ(rename(Path("step-000000000999").c_str(), Path("mine").c_str()), 0);
  EXPECT_TRUE(ReadCheckpoint(Path("mine")).ok());
}

// Rules: DIR-4
TEST_F(CheckpointStoreTest, LeftoversAreSweptAtOpenAndReported) {
  { ASSERT_NE(Open(), nullptr); }
  ASSERT_TRUE(
      CreateFoldersDurably(FileSystem::Real(), Path(".tmp-step-000000000060/x"))
          .ok());
  ASSERT_TRUE(ReplaceFile(Path(".tmp-latest"), "half").ok());
  ASSERT_TRUE(
      CreateFoldersDurably(FileSystem::Real(), Path(".trash-step-1")).ok());
  auto store = Open();
  EXPECT_THAT(Names(run_), ElementsAre("lock"));
  EXPECT_THAT(
      store->TakeNotices(),
      ElementsAre(HasSubstr(".tmp-latest"), HasSubstr(".tmp-step-000000000060"),
                  HasSubstr(".trash-step-1")));
  EXPECT_THAT(store->TakeNotices(), IsEmpty());
}

// Rules: RUN-2 NEWEST-4
TEST_F(CheckpointStoreTest, ResumingAbandonsWhatLiesBeyond) {
  auto store = Open();
  for (uint64_t step : {60, 70, 80}) Save(store.get(), step);
  FlipBit("step-000000000080", 100);
  auto chosen = ReadCheckpoint(Path("step-000000000060"));
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(*store->NextAttempt(*chosen), 2u);
  auto moved = store->ResumeFrom(*chosen, 2);
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_THAT(*moved, ElementsAre("step-000000000080", "step-000000000070"));
  EXPECT_THAT(*store->List(), ElementsAre(60));
  EXPECT_THAT(Names(Path("abandoned/2")),
              ElementsAre("step-000000000070", "step-000000000080"));
  EXPECT_EQ(*FileContent(Path("latest")), "step-000000000060\n");
  // Never chosen again, and the number is not used twice.
  EXPECT_EQ((*store->NewestVerified()).checkpoint->snapshot.step, 60u);
  EXPECT_EQ(*store->NextAttempt(*chosen), 3u);
  Save(store.get(), 70);
  EXPECT_THAT(*store->List(), ElementsAre(60, 70));
}

TEST_F(CheckpointStoreTest, ResumingFromElsewhereOrAttemptZeroIsRefused) {
  auto store = Open();
  Save(store.get(), 60);
  auto chosen = ReadCheckpoint(Path("step-000000000060"));
  EXPECT_EQ(RefusalOf(store->ResumeFrom(*chosen, 0).status()),
            Refusal::INVALID_VALUE);
  chosen->path = "somewhere/else";
  EXPECT_EQ(RefusalOf(store->ResumeFrom(*chosen, 2).status()), Refusal::ABSENT);
}

// Rules: RUN-2
TEST_F(CheckpointStoreTest, AbandonAllClearsTheWayForAFreshStart) {
  auto store = Open();
  Save(store.get(), 60);
  Save(store.get(), 70);
  FlipBit("step-000000000070", 100);
  ASSERT_TRUE(ReplaceFile(Path("metrics.jsonl"), "{}\n").ok());
  auto moved = store->AbandonAll(2, {"metrics.jsonl", "not-there"});
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_THAT(*moved, ElementsAre("step-000000000070", "step-000000000060",
                                  "metrics.jsonl"));
  EXPECT_THAT(Names(run_), ElementsAre("abandoned", "lock"));
  EXPECT_FALSE(store->NewestVerified()->checkpoint.has_value());
  EXPECT_EQ(*store->NextAttempt(std::nullopt), 3u);
  Snapshot other = SmallSnapshot(10);
  other.run_id[0] = 'f';
  EXPECT_TRUE(store->Save(other).ok());
}

TEST_F(CheckpointStoreTest, AbandonAllMovesNothingOutsideTheRun) {
  auto store = Open();
  Save(store.get(), 60);
  for (const char* name : {"../x", "lock", "abandoned", ".", "..", "", "a/b"}) {
    EXPECT_EQ(RefusalOf(store->AbandonAll(2, {name}).status()),
              Refusal::INVALID_VALUE)
        << name;
  }
  EXPECT_THAT(*store->List(), ElementsAre(60));
}

// Rules: PRUNE-1
TEST_F(CheckpointStoreTest, E8_PruneKeepsTheNewestVerified) {
  auto store = Open(2);
  for (uint64_t step : {10, 20, 30, 40, 50}) Save(store.get(), step);
  FlipBit("step-000000000050", 100);
  auto removed = store->Prune();
  ASSERT_TRUE(removed.ok()) << removed.status();
  // 50 is damaged: it does not count and stays as evidence.
  EXPECT_THAT(*removed, ElementsAre("step-000000000020", "step-000000000010"));
  EXPECT_THAT(*store->List(), ElementsAre(30, 40, 50));
  EXPECT_THAT(Names(run_), Not(Contains(HasSubstr("trash"))));
  EXPECT_THAT(*store->Prune(), IsEmpty());
}

// Rules: PRUNE-2
TEST_F(CheckpointStoreTest, E8_PruneNeverRemovesTheLastVerified) {
  auto store = Open(1);
  for (uint64_t step : {10, 20, 30}) Save(store.get(), step);
  FlipBit("step-000000000020", 100);
  FlipBit("step-000000000030", 100);
  EXPECT_THAT(*store->Prune(), IsEmpty());
  FlipBit("step-000000000010", 100);
  // It was verified before, so only a new store notices.
  store.reset();
  store = Open(1);
  EXPECT_THAT(*store->Prune(), IsEmpty());
  EXPECT_THAT(*store->List(), ElementsAre(10, 20, 30));
}

// Rules: PRUNE-2
TEST_F(CheckpointStoreTest, E8_PruneKeepsTheOneResumedFromUntilANewerVerifies) {
  auto store = Open(1);
  Save(store.get(), 10);
  Save(store.get(), 20);
  auto found = store->NewestVerified();
  ASSERT_TRUE(store->ResumeFrom(*found->checkpoint, 2).ok());
  Save(store.get(), 30);
  FlipBit("step-000000000030", 100);
  EXPECT_THAT(*store->Prune(), ElementsAre("step-000000000010"));
  Save(store.get(), 40);
  EXPECT_THAT(*store->Prune(),
              ElementsAre("step-000000000030", "step-000000000020"));
}

// Rules: PRUNE-2
TEST_F(CheckpointStoreTest, E8_PruneLeavesNewerFormatsAndMalformedNames) {
  auto store = Open(1);
  for (uint64_t step : {10, 20, 30}) Save(store.get(), step);
  Envelope future;
  future.major = 9;
  ASSERT_TRUE(
      ReplaceFile(ManifestOf("step-000000000010"), EncodeEnvelope(future))
          .ok());
  ASSERT_TRUE(FileSystem::Real()->CreateFolder(Path("step-5")).ok());
  EXPECT_THAT(*store->Prune(), ElementsAre("step-000000000020"));
  EXPECT_THAT(Names(run_), Contains("step-5"));
  EXPECT_THAT(*store->List(), ElementsAre(10, 30));
}

// Rules: DIR-6
TEST_F(CheckpointStoreTest, PathsWithSpacesAndOtherScriptsWork) {
  run_ = JoinPath(FreshTestFolder(), "l\xc3\xa4uft \xe5\xb1\xa4/x y");
  auto store = Open();
  Save(store.get(), 60);
  store.reset();
  // The folder may move between attempts.
  const std::string moved = JoinPath(FreshTestFolder(), "moved");
  run_ = JoinPath(FreshTestFolder(), "run");
  store = Open();
  Save(store.get(), 60);
  store.reset();
  ASSERT_EQ(rename(run_.c_str(), moved.c_str()), 0);
  run_ = moved;
  store = Open();
  EXPECT_EQ((*store->NewestVerified()).checkpoint->snapshot.step, 60u);
}

}  // namespace
}  // namespace reprise
