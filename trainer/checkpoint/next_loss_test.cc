#include "trainer/checkpoint/next_loss.h"

#include <filesystem>
#include <string>

#include "format/testing/checkpoint_builder.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

const std::string kDigest(16, 'd');

TEST(NextLoss, ComesBackForTheSameCheckpointAndNoOther) {
  const std::string run = FreshTestFolder();
  EXPECT_EQ(ReadNextLoss(run, "step-000000000060", kDigest), std::nullopt);
  const absl::Status status =
      WriteNextLoss(run, "step-000000000060", {kDigest, 61, 0.1f});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(std::filesystem::exists(run + "/witness/step-000000000060.pb"));
  EXPECT_EQ(ReadNextLoss(run, "step-000000000060", kDigest), 0.1f);
  EXPECT_EQ(ReadNextLoss(run, "step-000000000060", std::string(16, 'e')),
            std::nullopt);
  EXPECT_EQ(ReadNextLoss(run, "step-000000000070", kDigest), std::nullopt);
}

TEST(NextLoss, CutFileIsNone) {
  const std::string run = FreshTestFolder();
  ASSERT_TRUE(WriteNextLoss(run, "step-000000000060", {kDigest, 61, 2}).ok());
  const std::string path = run + "/witness/step-000000000060.pb";
  for (size_t left = std::filesystem::file_size(path); left-- > 0;) {
    std::filesystem::resize_file(path, left);
    EXPECT_EQ(ReadNextLoss(run, "step-000000000060", kDigest), std::nullopt)
        << left;
  }
}

TEST(NextLoss, GoesWithItsCheckpoint) {
  const std::string run = FreshTestFolder();
  ASSERT_TRUE(WriteNextLoss(run, "step-000000000060", {kDigest, 61, 2}).ok());
  RemoveNextLoss(run, "step-000000000060");
  RemoveNextLoss(run, "step-000000000060");
  EXPECT_EQ(ReadNextLoss(run, "step-000000000060", kDigest), std::nullopt);
}

TEST(NextLoss, FolderThatCannotBeMadeIsAnErrorByName) {
  const absl::Status status = WriteNextLoss("/proc/no/such", "step", {});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("/proc/no/such/witness"), std::string::npos);
}

}  // namespace
}  // namespace reprise
