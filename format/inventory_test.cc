#include "format/inventory.h"

#include <string>

#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "format/v2/items.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Inventory, WholeCheckpointsLackNothing) {
  EXPECT_THAT(LackingFor(FullSnapshot(60), ResumeLevel::BITWISE), IsEmpty());
  EXPECT_EQ(HighestLevel(FullSnapshot(60)), ResumeLevel::BITWISE);
  // Nothing yet, and not of this run, is not missing.
  EXPECT_THAT(LackingFor(FullSnapshot(0), ResumeLevel::BITWISE), IsEmpty());
}

TEST(Inventory, OmittedItemsLowerTheLevelThatNeedsThem) {
  Snapshot snapshot = FullSnapshot(60);
  snapshot.MarkOmitted(Item::RNG_CPU, "not kept");
  EXPECT_EQ(HighestLevel(snapshot), ResumeLevel::SAME_ORDER);
  snapshot.MarkOmitted(Item::SAMPLER_CURSOR, "not kept");
  EXPECT_EQ(HighestLevel(snapshot), ResumeLevel::STATISTICAL);
  snapshot.MarkOmitted(Item::SCALER_GROWTH_TRACKER, "not kept");
  EXPECT_EQ(HighestLevel(snapshot), vocab::RESUME_LEVEL_UNSPECIFIED);
  auto lacking = LackingFor(snapshot, ResumeLevel::BITWISE);
  ASSERT_EQ(lacking.size(), 3u);
  EXPECT_EQ(lacking[0].item, Item::SCALER_GROWTH_TRACKER);
  EXPECT_EQ(lacking[0].reason, "not kept");
}

TEST(Inventory, RequireNamesEverythingThatWasNotAccepted) {
  Snapshot snapshot = FullSnapshot(60);
  snapshot.MarkOmitted(Item::RNG_CPU, "not kept");
  snapshot.MarkOmitted(Item::BEST, "lost");
  absl::Status status = RequireFor(snapshot, ResumeLevel::BITWISE, {});
  EXPECT_EQ(RefusalOf(status), Refusal::MISSING_ITEM);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rng.cpu (not kept), best (lost)"));
  EXPECT_FALSE(RequireFor(snapshot, ResumeLevel::BITWISE, {Item::BEST}).ok());
  EXPECT_TRUE(
      RequireFor(snapshot, ResumeLevel::BITWISE, {Item::BEST, Item::RNG_CPU})
          .ok());
}

TEST(Inventory, WitnessAndUserAreNeverNeeded) {
  Snapshot snapshot = FullSnapshot(60);
  snapshot.MarkOmitted(Item::WITNESS, "-");
  snapshot.MarkOmitted(Item::USER, "-");
  EXPECT_EQ(HighestLevel(snapshot), ResumeLevel::BITWISE);
  EXPECT_EQ(ItemsNeededFor(ResumeLevel::BITWISE).size(),
            ItemsOfV2().size() - 2);
}

TEST(Inventory, StrongerLevelsNeedMore) {
  const auto bitwise = ItemsNeededFor(ResumeLevel::BITWISE);
  const auto order = ItemsNeededFor(ResumeLevel::SAME_ORDER);
  const auto statistical = ItemsNeededFor(ResumeLevel::STATISTICAL);
  EXPECT_LT(statistical.size(), order.size());
  EXPECT_LT(order.size(), bitwise.size());
  for (Item item : statistical) EXPECT_EQ(order.count(item), 1u);
  for (Item item : order) EXPECT_EQ(bitwise.count(item), 1u);
}

TEST(Inventory, VersionOneLacksWhatItDoesNotRecord) {
  auto lacking = LackingFor(SmallSnapshot(60), ResumeLevel::BITWISE);
  EXPECT_FALSE(lacking.empty());
  for (const LackingItem& item : lacking) {
    EXPECT_EQ(item.reason, "not recorded by version 1") << TextOf(item.item);
    EXPECT_EQ(item.presence, Presence::PRESENCE_UNSPECIFIED);
  }
}

}  // namespace
}  // namespace reprise
