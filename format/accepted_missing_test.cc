#include "format/accepted_missing.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kDigest[] = "0123456789abcdef";

// Rules: MAN-8
TEST(AcceptedMissing, RecordSaysStepCheckpointAndItems) {
  const MigrationRecord record =
      AcceptedMissingRecord({Item::MODE, Item::SAMPLER_CURSOR}, 7, kDigest);
  EXPECT_EQ(record.from_major, record.to_major);
  EXPECT_EQ(record.program, "accepted_missing");
  EXPECT_EQ(record.source_manifest_digest, kDigest);
  EXPECT_THAT(record.notes, ElementsAre("at step 7: mode sampler.cursor"));
}

TEST(AcceptedMissing, IsFoundAmongOtherRecordsOldestFirst) {
  const MigrationRecord other = {1, 2, "migrate", kDigest, {"at step 3: mode"}};
  const std::vector<MigrationRecord> history = {
      other, AcceptedMissingRecord({Item::MODE}, 7, kDigest), other,
      AcceptedMissingRecord({Item::CLIP, Item::BEST}, 90, kDigest)};
  const std::vector<AcceptedMissing> found = AcceptedMissingIn(history);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].step, 7u);
  EXPECT_EQ(found[0].manifest_digest, kDigest);
  EXPECT_THAT(found[0].items, ElementsAre("mode"));
  EXPECT_EQ(found[1].step, 90u);
  EXPECT_THAT(found[1].items, ElementsAre("clip", "best"));
  EXPECT_FALSE(IsAcceptedMissing(other));
  EXPECT_TRUE(IsAcceptedMissing(history[3]));
}

TEST(AcceptedMissing, WhatIsNoSuchRecordIsPassedOver) {
  const MigrationRecord good = AcceptedMissingRecord({Item::MODE}, 7, kDigest);
  for (const std::vector<std::string>& notes :
       {std::vector<std::string>{},
        {"at step 7: mode", "at step 8: mode"},
        {"at step x: mode"},
        {"mode"},
        {""}}) {
    MigrationRecord bad = good;
    bad.notes = notes;
    EXPECT_THAT(AcceptedMissingIn({bad}), IsEmpty());
  }
}

}  // namespace
}  // namespace reprise
