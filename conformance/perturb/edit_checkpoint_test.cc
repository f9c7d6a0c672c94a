#include "conformance/perturb/edit_checkpoint.h"

#include <filesystem>
#include <string>

#include "format/checkpoint_store.h"
#include "format/testing/full_snapshot.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

// A run folder with the checkpoints of steps 50 and 60.
std::string RunFolder(const std::string& name) {
  const std::string folder = testing::TempDir() + "/" + name;
  std::filesystem::remove_all(folder);
  CheckpointStore::Options options;
  options.format_major = kV2Major;
  auto store = CheckpointStore::Open(folder, options);
  EXPECT_TRUE(store.ok()) << store.status();
  for (uint64_t step : {50, 60}) {
    const auto saved = (*store)->Save(FullSnapshot(step));
    EXPECT_TRUE(saved.ok()) << saved.status();
  }
  return folder;
}

Snapshot Newest(const std::string& folder) {
  auto loaded = ReadAsStored(folder + "/step-000000000060");
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? loaded->snapshot : Snapshot();
}

TEST(EditCheckpoint, LosesOneItemAndLeavesAValidCheckpoint) {
  const std::string folder = RunFolder("one");
  const Snapshot before = Newest(folder);
  const absl::Status status = LoseItem(folder, Item::SCALER_SCALE);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(VerifyCheckpoint(folder + "/step-000000000060").ok());
  const Snapshot after = Newest(folder);
  EXPECT_NE(after.scaler->scale, before.scaler->scale);
  EXPECT_EQ(after.scaler->growth_tracker, before.scaler->growth_tracker);
  EXPECT_EQ(TensorDifference(before, after), "");
  EXPECT_EQ(after.sampler->cursor, before.sampler->cursor);
  EXPECT_FALSE(after.witness.has_value());
  EXPECT_FALSE(std::filesystem::exists(folder + ".edited"));
}

TEST(EditCheckpoint, EveryItemThatItLosesCanBeReadAgain) {
  int lost = 0;
  for (Item item : LosableItems()) {
    const std::string folder = RunFolder("every");
    const absl::Status status = LoseItem(folder, item);
    if (absl::IsNotFound(status)) continue;
    ASSERT_TRUE(status.ok()) << reprise::TextOf(item) << ": " << status;
    EXPECT_TRUE(VerifyCheckpoint(folder + "/step-000000000060").ok())
        << reprise::TextOf(item);
    ++lost;
  }
  EXPECT_GE(lost, 13);
}

TEST(EditCheckpoint, KeepsTheWeightsWhenNothingElseIsKept) {
  const std::string folder = RunFolder("weights");
  const Snapshot before = Newest(folder);
  const absl::Status status = KeepWeightsOnly(folder);
  ASSERT_TRUE(status.ok()) << status;
  const Snapshot after = Newest(folder);
  ASSERT_EQ(after.parameters.size(), before.parameters.size());
  EXPECT_EQ(after.parameters[0].bytes(), before.parameters[0].bytes());
  EXPECT_EQ(after.schedule->position, 0u);
}

TEST(EditCheckpoint, ShowsTheCheckpointBefore) {
  const std::string folder = RunFolder("older");
  uint64_t older_step = 0;
  const absl::Status status =
      EditNewest(folder, [&](const Snapshot* older, Snapshot* newest) {
        older_step = older == nullptr ? 0 : older->step;
        newest->schedule->position = older->schedule->position;
        return absl::OkStatus();
      });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(older_step, 50u);
}

TEST(EditCheckpoint, ChangesNothingWhenTheEditFailsOrThereIsNothingToEdit) {
  const std::string folder = RunFolder("fails");
  EXPECT_FALSE(EditNewest(folder, [](const Snapshot*, Snapshot* newest) {
                 newest->schedule->position = 0;
                 return absl::AbortedError("no");
               }).ok());
  EXPECT_NE(Newest(folder).schedule->position, 0u);
  EXPECT_FALSE(LoseItem(testing::TempDir() + "/nowhere", Item::BEST).ok());
  EXPECT_EQ(LoseItem(folder, Item::MODEL_TIES).code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace reprise::conformance
