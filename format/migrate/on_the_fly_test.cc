// Reading version 1 gives, to the last bit, what reading its migration gives.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/diff.h"
#include "format/inventory.h"
#include "format/migrate/in_memory_v2.h"
#include "format/migrate/v1_to_v2.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "format/v1/codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

constexpr char kReleased[] = "spec/vectors/released/v1";
constexpr char kVectors[] = "spec/vectors/v1/valid";
constexpr char kRefused[] = "refused-optimizer-steps-disagree";

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  auto entries = FileSystem::Real()->List(folder);
  EXPECT_TRUE(entries.ok()) << entries.status();
  for (const FolderEntry& entry : *entries) names.push_back(entry.name);
  return names;
}

// A manifest of the source tree as a checkpoint folder; the test sees the tree
// as symbolic links, which the library refuses.
std::string Copied(const std::string& from, const std::string& to) {
  std::ifstream file(from, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << from;
  FileSystem* files = FileSystem::Real();
  EXPECT_TRUE(CreateFoldersDurably(files, to).ok());
  EXPECT_TRUE(ReplaceFile(JoinPath(to, "manifest.ckpt"),
                          std::string(std::istreambuf_iterator<char>(file), {}))
                  .ok());
  return to;
}

// Folders with one version 1 checkpoint each: the released ones and the valid
// vectors.
std::vector<std::string> Version1Checkpoints() {
  const std::string root = FreshTestFolder();
  std::vector<std::string> folders;
  for (const std::string& entry : NamesIn(kReleased)) {
    if (entry == "SHA256SUMS" || entry == kRefused) continue;
    for (const std::string& name : NamesIn(JoinPath(kReleased, entry))) {
      if (!IsCheckpointNamed(name)) continue;
      folders.push_back(Copied(
          JoinPath(kReleased, absl::StrCat(entry, "/", name, "/manifest.ckpt")),
          JoinPath(root, absl::StrCat(entry, "/", name))));
    }
  }
  for (const std::string& name : NamesIn(kVectors)) {
    folders.push_back(Copied(
        JoinPath(kVectors, absl::StrCat(name, "/checkpoint/manifest.ckpt")),
        JoinPath(root, absl::StrCat("vector-", name))));
  }
  EXPECT_GE(folders.size(), 17u);
  return folders;
}

// Written by the ordinary save of version 2 and read again.
absl::StatusOr<LoadedCheckpoint> SavedAndRead(const Snapshot& snapshot,
                                              const std::string& run) {
  CheckpointStore::Options options;
  options.format_major = kV2Major;
  auto store = CheckpointStore::Open(run, options);
  if (!store.ok()) return store.status();
  auto saved = (*store)->Save(snapshot);
  if (!saved.ok()) return saved.status();
  const std::string path = JoinPath(run, CheckpointName(snapshot.step));
  absl::Status verified = VerifyCheckpoint(path);
  if (!verified.ok()) return verified;
  return ReadCheckpoint(path);
}

std::vector<std::string> NamesOf(const std::vector<Tensor>& tensors) {
  std::vector<std::string> names;
  for (const Tensor& tensor : tensors) names.push_back(tensor.name());
  return names;
}

// Everything a snapshot holds: its manifest has all values, and the order of
// lists is compared beside it.
void ExpectSame(const Snapshot& a, const Snapshot& b) {
  auto of_a = DraftOf(a);
  auto of_b = DraftOf(b);
  ASSERT_TRUE(of_a.ok() && of_b.ok()) << of_a.status() << of_b.status();
  EXPECT_EQ(of_a->message.SerializeAsString(),
            of_b->message.SerializeAsString());
  EXPECT_EQ(TensorDifference(a, b), "");
  EXPECT_TRUE(Diff(a, b).empty());
  EXPECT_EQ(NamesOf(a.parameters), NamesOf(b.parameters));
  EXPECT_EQ(NamesOf(a.buffers), NamesOf(b.buffers));
  ASSERT_EQ(a.optimizer.has_value(), b.optimizer.has_value());
  if (!a.optimizer.has_value()) return;
  ASSERT_EQ(a.optimizer->states.size(), b.optimizer->states.size());
  for (size_t i = 0; i < a.optimizer->states.size(); ++i) {
    EXPECT_EQ(a.optimizer->states[i].parameter,
              b.optimizer->states[i].parameter);
    EXPECT_EQ(a.optimizer->states[i].step, b.optimizer->states[i].step);
    EXPECT_EQ(NamesOf(a.optimizer->states[i].moments),
              NamesOf(b.optimizer->states[i].moments));
  }
}

TEST(OnTheFly, MIG_2_ReadingVersion1IsReadingItsMigration) {
  for (const std::string& folder : Version1Checkpoints()) {
    SCOPED_TRACE(folder);
    auto read = ReadCheckpoint(folder);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->format_major, 1u);
    ASSERT_EQ(read->value_digest.size(), 16u);
    ASSERT_EQ(read->snapshot.history.size(), 1u);
    EXPECT_EQ(read->snapshot.history[0].source_manifest_digest,
              read->manifest_digest);
    auto migrated = SavedAndRead(read->snapshot, folder + ".migrated");
    ASSERT_TRUE(migrated.ok()) << migrated.status();
    EXPECT_EQ(migrated->format_major, 2u);
    EXPECT_EQ(migrated->value_digest, read->value_digest);
    ExpectSame(read->snapshot, migrated->snapshot);
  }
}

TEST(OnTheFly, MIG_8_NoTensorOfAReleasedFileChanges) {
  for (const std::string& folder : Version1Checkpoints()) {
    SCOPED_TRACE(folder);
    auto stored = ReadAsStored(folder);
    auto read = ReadCheckpoint(folder);
    ASSERT_TRUE(stored.ok() && read.ok());
    EXPECT_EQ(TensorDifference(stored->snapshot, read->snapshot), "");
    EXPECT_GT(NamesOf(read->snapshot.parameters).size(), 1u);
  }
}

TEST(OnTheFly, MIG_5_ReleasedFileWhoseCountersDisagreeIsRefusedByName) {
  const std::string name = "step-000000000024";
  const std::string folder = Copied(
      JoinPath(kReleased, absl::StrCat(kRefused, "/", name, "/manifest.ckpt")),
      JoinPath(FreshTestFolder(), name));
  // Version 1 itself allows it.
  EXPECT_TRUE(ReadAsStored(folder).ok());
  EXPECT_TRUE(VerifyCheckpoint(folder).ok());
  const absl::Status status = ReadCheckpoint(folder).status();
  EXPECT_EQ(RefusalOf(status), Refusal::INVALID_VALUE) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("optim.step"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat(name, "/manifest.ckpt")));
}

TEST(OnTheFly, MIG_2_ReleasedFilesHaveAllThatTrainingNeeds) {
  std::set<Item> accepted = ItemsNotRecordedByV1();
  accepted.insert(Item::CLIP);
  int needing = 0;
  for (const std::string& folder : Version1Checkpoints()) {
    if (absl::StrContains(folder, "vector-")) continue;
    auto read = ReadCheckpoint(folder);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(RequireFor(read->snapshot, ResumeLevel::BITWISE, accepted).ok())
        << RequireFor(read->snapshot, ResumeLevel::BITWISE, accepted);
    needing +=
        RequireFor(read->snapshot, ResumeLevel::BITWISE, {}).ok() ? 0 : 1;
  }
  EXPECT_EQ(needing, 10);
}

// Rules: MIG-2 NEWEST-1
TEST(OnTheFly, MIG_2_CheckpointThatCannotBeMigratedIsPassedOverAloud) {
  const std::string run = FreshTestFolder();
  auto store = CheckpointStore::Open(run, {});
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->Save(SmallSnapshot(50)).ok());
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.optimizer->states[0].step = 59;
  ASSERT_TRUE((*store)->Save(snapshot).ok());
  auto found = (*store)->NewestVerified();
  ASSERT_TRUE(found.ok() && found->checkpoint.has_value()) << found.status();
  EXPECT_EQ(found->checkpoint->snapshot.step, 50u);
  ASSERT_EQ(found->passed_over.size(), 1u);
  EXPECT_EQ(found->passed_over[0].name, "step-000000000060");
  EXPECT_THAT(std::string(found->passed_over[0].reason.message()),
              HasSubstr("optim.step"));
}

// Version 1 does not look at the names of generators so closely.
TEST(OnTheFly, MIG_9_WhatBreaksARuleOfVersion2IsRefusedByThatRule) {
  const std::string run = FreshTestFolder();
  auto store = CheckpointStore::Open(run, {});
  ASSERT_TRUE(store.ok()) << store.status();
  Snapshot v1 = SmallSnapshot(60);
  v1.generators.push_back({"cuda:01", "philox4x32-10", "libtorch", "state"});
  v1.MarkSaved(Item::RNG_CUDA);
  ASSERT_TRUE((*store)->Save(v1).ok());
  const std::string path = JoinPath(run, CheckpointName(60));
  EXPECT_TRUE(ReadAsStored(path).ok());
  const absl::Status status = ReadCheckpoint(path).status();
  EXPECT_EQ(RefusalOf(status), Refusal::INVALID_VALUE) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("cuda:01"));
}

// A run begun in version 1 goes on in version 2, in the same folder.
TEST(OnTheFly, MIG_2_RunBegunInVersion1GoesOnInVersion2) {
  const std::string run = FreshTestFolder();
  {
    auto store = CheckpointStore::Open(run, {});
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->Save(SmallSnapshot(60)).ok());
  }
  CheckpointStore::Options options;
  options.format_major = kV2Major;
  auto store = CheckpointStore::Open(run, options);
  ASSERT_TRUE(store.ok()) << store.status();
  auto found = (*store)->NewestVerified();
  ASSERT_TRUE(found.ok() && found->checkpoint.has_value()) << found.status();
  const LoadedCheckpoint& from = *found->checkpoint;
  auto attempt = (*store)->NextAttempt(from);
  ASSERT_TRUE(attempt.ok()) << attempt.status();
  EXPECT_EQ(*attempt, 2u);
  ASSERT_TRUE((*store)->ResumeFrom(from, *attempt).ok());

  // Ten steps later, with what the file had and everything that it had not.
  Snapshot next = SmallSnapshot(70);
  next.attempt = *attempt;
  next.parent =
      ParentRef{from.snapshot.step, from.manifest_digest, from.value_digest};
  next.history = from.snapshot.history;
  next.accepted_missing = {Item::MODEL_TIES, Item::EMA_WEIGHTS};
  next.counters = CounterState{70, 0, 700};
  next.mode = ModelMode{};
  next.clip = ClipState{ClipState::Kind::kNorm, 1.0, 2.0};
  for (Item item : ItemsNotRecordedByV1()) {
    next.MarkNotApplicable(item, "the run has none");
  }
  for (Item item : {Item::COUNTERS_APPLIED, Item::COUNTERS_SKIPPED,
                    Item::COUNTERS_SAMPLES}) {
    next.MarkSaved(item);
  }
  auto saved = (*store)->Save(next);
  ASSERT_TRUE(saved.ok()) << saved.status();
  auto newest = (*store)->NewestVerified();
  ASSERT_TRUE(newest.ok() && newest->checkpoint.has_value());
  EXPECT_EQ(newest->checkpoint->format_major, 2u);
  EXPECT_EQ(newest->checkpoint->snapshot.history.size(), 1u);
  EXPECT_EQ(newest->checkpoint->snapshot.parent->value_digest,
            from.value_digest);
}

// What was read can be saved at once, with every item answered.
TEST(OnTheFly, MIG_2_WhatWasReadFromVersion1IsSavedAsVersion2) {
  const std::string run = FreshTestFolder();
  {
    auto store = CheckpointStore::Open(run, {});
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->Save(SmallSnapshot(60)).ok());
  }
  auto read = ReadCheckpoint(JoinPath(run, CheckpointName(60)));
  ASSERT_TRUE(read.ok()) << read.status();
  auto in_memory = ToV2InMemory(read->snapshot, {});
  ASSERT_TRUE(in_memory.ok()) << in_memory.status();
  auto saved = SavedAndRead(read->snapshot, run + "-v2");
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->manifest_digest, in_memory->manifest_digest);
}

}  // namespace
}  // namespace reprise
