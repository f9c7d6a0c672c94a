// Tensors as views of mapped files, and readers whose checkpoint is pruned.
#include <errno.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "format/checkpoint_store.h"
#include "format/io/io_error.h"
#include "format/io/testing/unsynced_file_system.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "format/v2/checkpoint_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CheckpointStore::Options Options(FileSystem* files, uint64_t shard_bytes) {
  CheckpointStore::Options options;
  options.file_system = files;
  options.format_major = 2;
  options.keep_last = 1;
  options.shard_bytes = shard_bytes;
  return options;
}

class ViewTest : public ::testing::Test {
 protected:
  void SetUp() override {
    run_ = FreshTestFolder();
    auto store =
        CheckpointStore::Open(run_, Options(FileSystem::Real(), /*shard_bytes=*/
                                            300));
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    ASSERT_TRUE(store_->Save(FullSnapshot(10)).ok());
    path_ = JoinPath(run_, "step-000000000010");
  }
  std::unique_ptr<CheckpointReader> Reader() {
    auto reader = CheckpointReader::Open(path_);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return *std::move(reader);
  }

  std::string run_, path_;
  std::unique_ptr<CheckpointStore> store_;
};

TEST_F(ViewTest, ViewIsTheSnapshotThatReadingGives) {
  auto reader = Reader();
  ASSERT_GT(reader->manifest().shards.size(), 2u);
  auto viewed = reader->View({});
  ASSERT_TRUE(viewed.ok()) << viewed.status();
  EXPECT_EQ(TensorDifference(*viewed, FullSnapshot(10)), "");
  // Ties are one storage, and nothing was copied: what lies together in the
  // shard lies together here.
  EXPECT_EQ(viewed->parameters.size(), FullSnapshot(10).parameters.size());
  for (const Tensor& tensor : viewed->parameters) {
    if (tensor.num_bytes() == 0) continue;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u)
        << tensor.name();
  }
}

TEST_F(ViewTest, ViewOutlivesItsReaderAndTheFiles) {
  auto reader = Reader();
  auto viewed = reader->View({});
  ASSERT_TRUE(viewed.ok()) << viewed.status();
  reader = nullptr;
  ASSERT_TRUE(store_->Save(FullSnapshot(20)).ok());
  EXPECT_THAT(*store_->Prune(), ElementsAre("step-000000000010"));
  EXPECT_EQ(TensorDifference(*viewed, FullSnapshot(10)), "");
}

// Rules: FOLD-5
TEST_F(ViewTest, PruneDoesNotTakeACheckpointFromItsReader) {
  auto reader = Reader();
  ASSERT_TRUE(store_->Save(FullSnapshot(20)).ok());
  EXPECT_THAT(*store_->Prune(), ElementsAre("step-000000000010"));
  EXPECT_EQ(RefusalOf(CheckpointReader::Open(path_).status()), Refusal::ABSENT);
  for (bool view : {false, true}) {
    auto snapshot = view ? reader->View({}) : reader->ReadAll({});
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    EXPECT_EQ(TensorDifference(*snapshot, FullSnapshot(10)), "");
  }
  auto tensor = reader->ReadTensor(0, {});
  EXPECT_TRUE(tensor.ok()) << tensor.status();
}

TEST_F(ViewTest, NothingIsViewedBeforeAllOfItVerifies) {
  const std::string shard = JoinPath(path_, "shard-0000-0001.bin");
  std::string bytes = *FileContent(shard);
  bytes[0] ^= 1;
  ASSERT_TRUE(ReplaceFile(shard, bytes).ok());
  auto viewed = Reader()->View({});
  EXPECT_EQ(RefusalOf(viewed.status()), Refusal::CORRUPT) << viewed.status();
}

TEST_F(ViewTest, FileSystemsThatCannotMapSaySo) {
  UnsyncedFileSystem memory;
  auto store = CheckpointStore::Open("/run", Options(&memory, 300));
  ASSERT_TRUE((*store)->Save(FullSnapshot(10)).ok());
  auto reader = CheckpointReader::Open("/run/step-000000000010", &memory);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(ErrnoOf((*reader)->View({}).status()), EOPNOTSUPP);
  EXPECT_TRUE((*reader)->ReadAll({}).ok());
}

// Everything that is wrong is found in one go, with progress.
TEST_F(ViewTest, C26_AllDamageIsFoundAndNamed) {
  auto damage = FindDamage(path_, {});
  EXPECT_TRUE(damage.empty());
  auto reader = Reader();
  int expected = 0;
  for (const TableEntry& entry : reader->manifest().tensors) {
    if (entry.extents.empty()) continue;
    const ShardInfo& shard = reader->manifest().shards[entry.extents[0].shard];
    const std::string file = JoinPath(path_, ShardName(shard));
    std::string bytes = *FileContent(file);
    bytes[entry.extents[0].offset] ^= 1;
    ASSERT_TRUE(ReplaceFile(file, bytes).ok());
    ++expected;
  }
  ASSERT_TRUE(ReplaceFile(JoinPath(path_, "stray"), "x").ok());
  std::atomic<uint64_t> most{0};
  std::atomic<uint64_t> total{0};
  FindDamageOptions options;
  options.progress = [&](uint64_t done, uint64_t all) {
    if (done > most) most = done;
    total = all;
  };
  damage = FindDamage(path_, options);
  EXPECT_EQ(static_cast<int>(damage.size()), expected + 1);
  for (size_t i = 0; i + 1 < damage.size(); ++i) {
    EXPECT_EQ(RefusalOf(damage[i]), Refusal::CORRUPT);
    EXPECT_THAT(std::string(damage[i].message()),
                HasSubstr("damaged in bytes [0, "));
  }
  EXPECT_THAT(std::string(damage.back().message()), HasSubstr("stray"));
  uint64_t bytes = 0;
  for (const ShardInfo& shard : reader->manifest().shards) bytes += shard.size;
  EXPECT_EQ(total, bytes);
  EXPECT_EQ(most, bytes);
}

}  // namespace
}  // namespace reprise
