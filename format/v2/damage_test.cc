// Damage of every kind to every file of a version 2 checkpoint: it is refused,
// and the message says where.
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/io/testing/unsynced_file_system.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "format/v2/checkpoint_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr char kRun[] = "/r";
constexpr char kShard[] = "shard-0000-0000.bin";

class DamageV2Test : public ::testing::Test {
 protected:
  void Save(const Snapshot& snapshot, uint64_t shard_bytes = 1000) {
    CheckpointStore::Options options;
    options.file_system = &files_;
    options.format_major = 2;
    options.shard_bytes = shard_bytes;
    options.threads = 1;
    auto store = CheckpointStore::Open(kRun, options);
    ASSERT_TRUE(store.ok()) << store.status();
    auto digest = (*store)->Save(snapshot);
    ASSERT_TRUE(digest.ok()) << digest.status();
    folder_ = JoinPath(kRun, CheckpointName(snapshot.step));
    auto entries = files_.List(folder_);
    ASSERT_TRUE(entries.ok());
    for (const FolderEntry& entry : *entries) {
      intact_[entry.name] =
          *FileContent(JoinPath(folder_, entry.name), &files_);
    }
  }

  absl::Status Read() { return ReadCheckpoint(folder_, &files_, 1).status(); }
  absl::Status Verify() { return VerifyCheckpoint(folder_, &files_, 1); }

  void Put(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(ReplaceFile(JoinPath(folder_, name), bytes, &files_).ok());
  }

  UnsyncedFileSystem files_;
  std::string folder_;
  std::map<std::string, std::string> intact_;
};

TEST_F(DamageV2Test, C26_EveryFlippedBitIsRefused) {
  Save(SmallestSnapshotV2());
  ASSERT_TRUE(Verify().ok());
  int flips = 0;
  for (const auto& [name, bytes] : intact_) {
    // Digest files are looked at by a verification, and only then.
    const bool digests = name.size() > 23;
    for (size_t i = 0; i < bytes.size(); ++i) {
      // Every bit of what is small, one of each byte of a page of zeros.
      for (int bit = 0; bit < (i < 1000 ? 8 : 1); ++bit) {
        std::string damaged = bytes;
        damaged[i] ^= static_cast<char>(1 << bit);
        Put(name, damaged);
        absl::Status status = digests ? Verify() : Read();
        ASSERT_THAT(TextOf(RefusalOf(status)), AnyOf("CORRUPT", "TRUNCATED"))
            << name << " byte " << i << " bit " << bit << ": " << status;
        ASSERT_THAT(std::string(status.message()), HasSubstr(name));
        ++flips;
      }
    }
    Put(name, bytes);
  }
  EXPECT_GT(flips, 10'000);
  EXPECT_TRUE(Verify().ok());
}

TEST_F(DamageV2Test, C26_EveryTruncationAndExtraByteIsRefused) {
  Save(FullSnapshot(60));
  for (const auto& [name, bytes] : intact_) {
    const bool digests = name.size() > 23;
    for (size_t size = 0; size < bytes.size(); size += 1 + size / 50) {
      Put(name, bytes.substr(0, size));
      absl::Status status = digests ? Verify() : Read();
      ASSERT_EQ(RefusalOf(status), Refusal::TRUNCATED)
          << name << " " << size << ": " << status;
    }
    Put(name, bytes + '\0');
    absl::Status status = digests ? Verify() : Read();
    ASSERT_EQ(RefusalOf(status), Refusal::CORRUPT) << name << ": " << status;
    Put(name, bytes);
  }
  EXPECT_TRUE(Verify().ok());
}

TEST_F(DamageV2Test, C26_EveryMissingFileIsRefused) {
  Save(FullSnapshot(60));
  for (const auto& [name, bytes] : intact_) {
    ASSERT_TRUE(files_.Unlink(JoinPath(folder_, name)).ok());
    absl::Status status = Verify();
    EXPECT_THAT(TextOf(RefusalOf(status)), AnyOf("CORRUPT", "ABSENT")) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
    Put(name, bytes);
  }
  // A file too many is seen by who looks at everything.
  Put("notes.txt", "hello");
  EXPECT_TRUE(Read().ok());
  EXPECT_EQ(RefusalOf(Verify()), Refusal::CORRUPT);
}

// Rules: DIGEST-4
TEST_F(DamageV2Test, C26_DamageIsLocatedByTensorAndBytes) {
  Snapshot snapshot = SmallestSnapshotV2();
  std::string bytes(300'000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(i % 251);
  snapshot.parameters = {
      BytesTensor("big", DType::kU8, {300'000}, bytes),
      BytesTensor("small", DType::kU8, {100}, bytes.substr(0, 100))};
  snapshot.step = 60;
  for (ItemRecord& record : snapshot.inventory) record.as_of_step = 60;
  Save(snapshot, 1 << 20);
  std::string damaged = intact_[kShard];
  damaged[70'000] ^= 1;
  damaged[250'000] ^= 1;
  Put(kShard, damaged);
  EXPECT_THAT(std::string(Read().message()),
              HasSubstr("shard-0000-0000.bin: model.params big: damaged in "
                        "bytes [65536, 131072) of the tensor, offset 65536 of "
                        "the file, and in 1 more places"));
  damaged = intact_[kShard];
  damaged[300'032 + 5] ^= 1;
  Put(kShard, damaged);
  EXPECT_THAT(std::string(Read().message()),
              HasSubstr("small: damaged in bytes [0, 100) of the tensor, "
                        "offset 300032 of the file"));
  // Without its digest file the tensor is named all the same.
  Put("shard-0000-0000.bin.digests", "");
  absl::Status status = Read();
  EXPECT_EQ(RefusalOf(status), Refusal::CORRUPT);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("small: damaged somewhere in its 100 bytes"));
}

TEST_F(DamageV2Test, C26_GapsAndTailsMustBeZero) {
  Save(FullSnapshot(60));
  std::string damaged = intact_[kShard];
  damaged[damaged.size() - 1] = 7;
  Put(kShard, damaged);
  EXPECT_THAT(
      std::string(Read().message()),
      HasSubstr(absl::StrCat("offset ", damaged.size() - 1,
                             ": between tensors: expected 0, found 7")));
}

TEST_F(DamageV2Test, ShardOfAnotherCheckpointIsRefused) {
  Save(SmallestSnapshotV2());
  // The same sizes, another value: only the digest can tell.
  Snapshot other = SmallestSnapshotV2();
  other.parameters = {FloatTensor("w", {2}, {1, -3})};
  CheckpointStore::Options options;
  options.file_system = &files_;
  options.format_major = 2;
  auto store = CheckpointStore::Open("/other", options);
  ASSERT_TRUE((*store)->Save(other).ok());
  Put(kShard,
      *FileContent("/other/step-000000000001/shard-0000-0000.bin", &files_));
  EXPECT_EQ(RefusalOf(Read()), Refusal::CORRUPT);
}

TEST(DamageV2RealTest, C36_LinksAndPipesAreRefusedAndNotFollowed) {
  const std::string run = FreshTestFolder();
  CheckpointStore::Options options;
  options.format_major = 2;
  auto store = CheckpointStore::Open(run, options);
  ASSERT_TRUE((*store)->Save(FullSnapshot(60)).ok());
  const std::string folder = JoinPath(run, "step-000000000060");
  const std::string shard = JoinPath(folder, kShard);
  const std::string moved = JoinPath(run, "moved.bin");
  ASSERT_EQ(rename(shard.c_str(), moved.c_str()), 0);
  ASSERT_EQ(symlink(moved.c_str(), shard.c_str()), 0);
  EXPECT_EQ(RefusalOf(ReadCheckpoint(folder).status()),
            Refusal::NOT_A_CHECKPOINT);
  ASSERT_EQ(unlink(shard.c_str()), 0);
  // Would block for ever where it is opened as a file.
  ASSERT_EQ(mkfifo(shard.c_str(), 0600), 0);
  EXPECT_EQ(RefusalOf(ReadCheckpoint(folder).status()),
            Refusal::NOT_A_CHECKPOINT);
  ASSERT_EQ(unlink(shard.c_str()), 0);
  ASSERT_EQ(mkdir(shard.c_str(), 0700), 0);
  EXPECT_EQ(RefusalOf(ReadCheckpoint(folder).status()),
            Refusal::NOT_A_CHECKPOINT);
  ASSERT_EQ(rmdir(shard.c_str()), 0);
  // Another name of the same file is fine: checkpoints may share bytes.
  ASSERT_EQ(link(moved.c_str(), shard.c_str()), 0);
  EXPECT_TRUE(ReadCheckpoint(folder).ok());
}

// Rules: FOLD-5
TEST(DamageV2RealTest, PruneDoesNotHurtAReader) {
  const std::string run = FreshTestFolder();
  CheckpointStore::Options options;
  options.format_major = 2;
  options.keep_last = 1;
  auto store = CheckpointStore::Open(run, options);
  ASSERT_TRUE((*store)->Save(FullSnapshot(60)).ok());
  auto reader = CheckpointReader::Open(JoinPath(run, "step-000000000060"));
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_TRUE((*store)->Save(FullSnapshot(70)).ok());
  EXPECT_EQ((*store)->Prune()->size(), 1u);
  auto snapshot = (*reader)->ReadAll({});
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(TensorDifference(*snapshot, FullSnapshot(60)), "");
}

}  // namespace
}  // namespace reprise
