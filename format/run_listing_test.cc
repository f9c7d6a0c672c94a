#include "format/run_listing.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/envelope.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RunListingTest : public ::testing::Test {
 protected:
  void SetUp() override { run_ = JoinPath(FreshTestFolder(), "run"); }

  std::unique_ptr<CheckpointStore> Open(uint32_t major) {
    CheckpointStore::Options options;
    options.format_major = major;
    auto store = CheckpointStore::Open(run_, options);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  std::string Manifest(const std::string& name) {
    return JoinPath(JoinPath(run_, name), "manifest.ckpt");
  }

  std::string run_;
};

TEST_F(RunListingTest, SaysWhatIsThereWithoutTheLock) {
  auto store = Open(1);
  ASSERT_TRUE(store->Save(SmallSnapshot(10)).ok());
  store = nullptr;
  store = Open(2);
  Snapshot full = FullSnapshot(20);
  full.attempt = 2;
  full.parent = ParentRef{10, std::string(16, 'm'), std::string(16, 'v')};
  full.best->step = 20;
  auto digest = store->Save(full);
  ASSERT_TRUE(digest.ok()) << digest.status();
  Snapshot beyond = FullSnapshot(30);
  beyond.best->step = 20;
  ASSERT_TRUE(store->Save(beyond).ok());
  auto twenty = ReadCheckpoint(JoinPath(run_, "step-000000000020"));
  ASSERT_TRUE(store->ResumeFrom(*twenty, 3).ok());

  auto listing = ListRun(run_);
  ASSERT_TRUE(listing.ok()) << listing.status();
  ASSERT_EQ(listing->checkpoints.size(), 3u);
  const ListedCheckpoint& first = listing->checkpoints[0];
  EXPECT_EQ(first.name, "step-000000000010");
  EXPECT_EQ(first.position->step, 10u);
  EXPECT_EQ(first.major, 1u);
  EXPECT_TRUE(first.status.ok()) << first.status;
  EXPECT_EQ(first.run_id, full.run_id);
  EXPECT_EQ(first.attempt, 1u);
  EXPECT_FALSE(first.parent.has_value());
  EXPECT_FALSE(first.is_best);
  const ListedCheckpoint& second = listing->checkpoints[1];
  EXPECT_EQ(second.major, 2u);
  EXPECT_EQ(second.attempt, 2u);
  EXPECT_EQ(second.parent->step, 10u);
  EXPECT_EQ(second.parent->value_digest, std::string(16, 'v'));
  EXPECT_EQ(second.best->metric, full.best->metric);
  EXPECT_EQ(second.manifest_digest, *digest);
  EXPECT_EQ(second.value_digest, twenty->value_digest);
  EXPECT_TRUE(second.is_best);
  EXPECT_EQ(second.host, full.host);
  uint64_t bytes = 0;
  const std::string folder = JoinPath(run_, second.name);
  auto files = FileSystem::Real()->List(folder);
  ASSERT_TRUE(files.ok()) << files.status();
  for (const FolderEntry& entry : *files) {
    bytes += FileContent(JoinPath(folder, entry.name))->size();
  }
  EXPECT_EQ(second.bytes, bytes);
  const ListedCheckpoint& third = listing->checkpoints[2];
  EXPECT_EQ(third.name, "step-000000000030");
  EXPECT_EQ(third.branch, "abandoned/3");
  EXPECT_EQ(listing->latest, "step-000000000020");
  EXPECT_THAT(listing->leftovers, IsEmpty());
}

TEST_F(RunListingTest, WhatCannotBeReadIsListedWithTheReason) {
  auto store = Open(2);
  for (uint64_t step : {10, 20, 30, 40}) {
    ASSERT_TRUE(store->Save(FullSnapshot(step)).ok());
  }
  // Cut, of a newer format, of another kind, and without a manifest.
  const std::string whole = *FileContent(Manifest("step-000000000010"));
  ASSERT_TRUE(ReplaceFile(Manifest("step-000000000010"),
                          whole.substr(0, whole.size() / 2))
                  .ok());
  ASSERT_TRUE(ReplaceFile(Manifest("step-000000000020"),
                          EncodeEnvelope(1000, 0, "new") + "new")
                  .ok());
  ASSERT_TRUE(
      ReplaceFile(Manifest("step-000000000030"), "PK\x03\x04 and so on").ok());
  ASSERT_EQ(unlink(Manifest("step-000000000040").c_str()), 0);
  ASSERT_EQ(mkdir(JoinPath(run_, "step-wrong").c_str(), 0755), 0);
  ASSERT_EQ(mkdir(JoinPath(run_, ".tmp-step-000000000050").c_str(), 0755), 0);
  auto listing = ListRun(run_);
  ASSERT_TRUE(listing.ok()) << listing.status();
  std::vector<Refusal> refusals;
  for (const ListedCheckpoint& checkpoint : listing->checkpoints) {
    refusals.push_back(RefusalOf(checkpoint.status));
  }
  EXPECT_THAT(refusals, ElementsAre(Refusal::TRUNCATED, Refusal::TOO_NEW,
                                    Refusal::NOT_A_CHECKPOINT, Refusal::CORRUPT,
                                    Refusal::CORRUPT));
  EXPECT_EQ(listing->checkpoints[1].major, 1000u);
  EXPECT_FALSE(listing->checkpoints[4].position.has_value());
  EXPECT_THAT(listing->leftovers, ElementsAre(".tmp-step-000000000050"));
}

TEST_F(RunListingTest, C36_HostileManifestsAreRefusedAndCostNothing) {
  auto store = Open(2);
  ASSERT_TRUE(store->Save(FullSnapshot(10)).ok());
  const std::string hostile[] = {
      // A length beyond the manifest, of a field that is wanted.
      std::string("\x0a\xff\xff\xff\xff\x0f", 6),
      // A tag of 0, a tag that never ends, a wire type that does not exist.
      std::string(1, '\0'), std::string(20, '\xff'), std::string("\x0f", 1),
      // Not a message inside.
      std::string("\x0a\x02\xff\xff", 4)};
  for (const std::string& manifest : hostile) {
    ASSERT_TRUE(ReplaceFile(Manifest("step-000000000010"),
                            EncodeEnvelope(2, 0, manifest) + manifest)
                    .ok());
    auto listing = ListRun(run_);
    ASSERT_TRUE(listing.ok());
    EXPECT_EQ(RefusalOf(listing->checkpoints[0].status), Refusal::CORRUPT)
        << listing->checkpoints[0].status;
  }
  const std::string large =
      std::string("\x0a\x80\x80\x80\x04", 5) + std::string(8 << 20, 'x');
  ASSERT_TRUE(ReplaceFile(Manifest("step-000000000010"),
                          EncodeEnvelope(2, 0, large) + large)
                  .ok());
  EXPECT_EQ(RefusalOf(ListRun(run_)->checkpoints[0].status), Refusal::LIMIT);
}

TEST_F(RunListingTest, FoldersThatAreNoneAreRefused) {
  EXPECT_EQ(RefusalOf(ListRun("/no/such/folder").status()), Refusal::ABSENT);
  const std::string file = JoinPath(FreshTestFolder(), "file");
  ASSERT_TRUE(ReplaceFile(file, "x").ok());
  EXPECT_EQ(RefusalOf(ListRun(file).status()), Refusal::NOT_A_CHECKPOINT);
}

TEST_F(RunListingTest, EmptyFolderHasNothing) {
  auto listing = ListRun(FreshTestFolder());
  ASSERT_TRUE(listing.ok()) << listing.status();
  EXPECT_THAT(listing->checkpoints, IsEmpty());
  EXPECT_EQ(listing->latest, "");
}

}  // namespace
}  // namespace reprise
