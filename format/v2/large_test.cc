// A tensor beyond 2^31 bytes: nothing between its ends is 31 bits wide.
#include <cstring>
#include <string>

#include "format/checkpoint_store.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(LargeV2, C25_TensorOfTwoToTheThirtyOnePlusEightBytes) {
  constexpr int64_t kBytes = (int64_t{1} << 31) + 8;
  Snapshot snapshot = SmallestSnapshotV2();
  // Zeros with marks at both ends, made while they are written.
  snapshot.parameters = {
      Tensor::OnDevice("w", DType::kI64, {kBytes / 8}, {},
                       [](uint64_t offset, size_t size, char* out) {
                         std::memset(out, 0, size);
                         if (offset == 0) std::memcpy(out, "first ++", 8);
                         if (offset + size == kBytes)
                           std::memcpy(out + size - 8, "last +++", 8);
                         return absl::OkStatus();
                       })};
  const std::string run = FreshTestFolder();
  CheckpointStore::Options options;
  options.format_major = 2;
  {
    auto store = CheckpointStore::Open(run, options);
    ASSERT_TRUE(store.ok()) << store.status();
    auto digest = (*store)->Save(snapshot);
    ASSERT_TRUE(digest.ok()) << digest.status();
  }
  auto loaded = ReadCheckpoint(JoinPath(run, "step-000000000001"));
  EXPECT_TRUE(RemoveRecursively(FileSystem::Real(), run).ok());  // it is large
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const absl::string_view bytes = loaded->snapshot.parameters[0].bytes();
  ASSERT_EQ(bytes.size(), static_cast<size_t>(kBytes));
  EXPECT_EQ(bytes.substr(0, 16),
            absl::string_view("first ++\0\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(bytes.substr(kBytes - 16),
            absl::string_view("\0\0\0\0\0\0\0\0last +++", 16));
  EXPECT_EQ(bytes.find_first_not_of('\0', 8), static_cast<size_t>(kBytes - 8));
}

}  // namespace
}  // namespace reprise
