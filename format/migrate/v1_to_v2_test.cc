#include "format/migrate/v1_to_v2.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/migrate/unknown_v1.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/v1/codec.h"
#include "format/v1/items.h"
#include "format/v2/items.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const V1Source kSource = {"source digest 16", {}};

Presence PresenceOf(const Snapshot& snapshot, Item item) {
  return snapshot.Find(item)->presence;
}

// Fails the test when the snapshot is no version 1 snapshot.
Snapshot Migrated(const Snapshot& v1) {
  EXPECT_TRUE(EncodeV1(v1).ok()) << EncodeV1(v1).status();
  absl::StatusOr<Snapshot> v2 = MigrateV1ToV2(v1, kSource);
  EXPECT_TRUE(v2.ok()) << v2.status();
  return v2.ok() ? *std::move(v2) : Snapshot();
}

TEST(MigrateV1ToV2,
     MIG_3_WhatVersion1HasNoPlaceForIsOmittedNeverNotApplicable) {
  const Snapshot v1 = SmallSnapshot(60);
  const Snapshot v2 = Migrated(v1);
  EXPECT_EQ(v2.inventory.size(), ItemsOfV2().size());
  int omitted = 0;
  for (Item item : ItemsOfV2()) {
    const ItemRecord* record = v2.Find(item);
    ASSERT_NE(record, nullptr) << TextOf(item);
    EXPECT_EQ(record->as_of_step, 60u);
    const ItemRecord* before = v1.Find(item);
    if (before != nullptr && item != Item::CLIP) {
      EXPECT_EQ(record->presence, before->presence) << TextOf(item);
      EXPECT_EQ(record->reason, before->reason) << TextOf(item);
    } else if (record->presence != Presence::PRESENCE_SAVED) {
      EXPECT_EQ(record->presence, Presence::PRESENCE_OMITTED) << TextOf(item);
      EXPECT_TRUE(absl::StartsWith(record->reason, "not recorded by v1"))
          << TextOf(item) << ": " << record->reason;
      ++omitted;
    }
  }
  // 20 items are new; three counters follow from the file; clip is in the
  // configuration.
  EXPECT_EQ(ItemsNotRecordedByV1().size(), 20u);
  EXPECT_EQ(omitted, 18);
  for (Item item : {Item::MODEL_TIES, Item::EMA_WEIGHTS, Item::ACCUM_COUNT,
                    Item::ACCUM_GRADS, Item::DATA_FINGERPRINT}) {
    EXPECT_EQ(v2.Find(item)->reason, "not recorded by v1") << TextOf(item);
  }
}

TEST(MigrateV1ToV2, MIG_4_WhatFollowsFromTheFileIsFilledIn) {
  Snapshot v1 = SmallSnapshot(61);
  // One of 61 steps was skipped.
  v1.schedule->position = 60;
  for (ParameterState& state : v1.optimizer->states) state.step = 60;
  const Snapshot v2 = Migrated(v1);
  EXPECT_EQ(v2.counters->applied, 60u);
  EXPECT_EQ(v2.counters->skipped, 1u);
  EXPECT_EQ(v2.counters->samples, v1.sampler->cursor);
  for (Item item : {Item::COUNTERS_APPLIED, Item::COUNTERS_SKIPPED,
                    Item::COUNTERS_SAMPLES}) {
    EXPECT_EQ(PresenceOf(v2, item), Presence::PRESENCE_SAVED) << TextOf(item);
  }
  EXPECT_TRUE(v2.mode->training);
  EXPECT_TRUE(v2.mode->modules_in_other_mode.empty());
  EXPECT_EQ(v2.sampler->tail, SamplerState::Tail::kDrop);
  EXPECT_EQ(PresenceOf(v2, Item::CLIP), Presence::PRESENCE_OMITTED);
  EXPECT_THAT(v2.Find(Item::CLIP)->reason, HasSubstr("in the configuration"));
}

TEST(MigrateV1ToV2, MIG_4_ClipThatTheRunHasNotStaysNotApplicable) {
  Snapshot v1 = SmallSnapshot(60);
  v1.MarkNotApplicable(Item::CLIP, "gradients are not clipped");
  const Snapshot v2 = Migrated(v1);
  EXPECT_EQ(PresenceOf(v2, Item::CLIP), Presence::PRESENCE_NOT_APPLICABLE);
  EXPECT_EQ(v2.Find(Item::CLIP)->reason, "gradients are not clipped");
}

TEST(MigrateV1ToV2, MIG_4_LearningRateOfARunWithoutScheduleIsSaved) {
  Snapshot v1 = SmallSnapshot(60);
  v1.schedule.reset();
  for (Item item :
       {Item::SCHED_DEFINITION, Item::SCHED_POSITION, Item::SCHED_UNIT,
        Item::SCHED_HORIZON, Item::SCHED_BASE, Item::SCHED_APPLIED}) {
    v1.MarkNotApplicable(item, "constant learning rate");
  }
  const Snapshot v2 = Migrated(v1);
  EXPECT_EQ(PresenceOf(v2, Item::SCHED_APPLIED), Presence::PRESENCE_SAVED);
  EXPECT_EQ(PresenceOf(v2, Item::SCHED_BASE), Presence::PRESENCE_SAVED);
  EXPECT_EQ(PresenceOf(v2, Item::SCHED_POSITION),
            Presence::PRESENCE_NOT_APPLICABLE);
  EXPECT_EQ(v2.optimizer->groups[0].base_lr, 0.003);
  // The optimizer alone says how many steps were applied.
  EXPECT_EQ(v2.counters->applied, 60u);
}

TEST(MigrateV1ToV2, MIG_4_NamedStreamAlgorithmIsAValue) {
  Snapshot v1 = SmallSnapshot(60);
  v1.MarkNotApplicable(Item::RNG_DATA, "counter-based");
  EXPECT_EQ(PresenceOf(Migrated(v1), Item::RNG_DATA), Presence::PRESENCE_SAVED);
  v1.sampler->stream_algorithm.clear();
  v1.sampler->augmentation.clear();
  EXPECT_EQ(PresenceOf(Migrated(v1), Item::RNG_DATA),
            Presence::PRESENCE_NOT_APPLICABLE);
}

TEST(MigrateV1ToV2, MIG_4_GeneratorsComeInTheOrderOfVersion2) {
  Snapshot v1 = SmallSnapshot(60);
  const GeneratorState cpu = v1.generators[0];
  v1.generators = {{"cuda:10", "philox4x32-10", "libtorch 2.11.0", "b"},
                   {"cuda:2", "philox4x32-10", "libtorch 2.11.0", "a"},
                   cpu};
  v1.MarkSaved(Item::RNG_CUDA);
  std::vector<std::string> names;
  for (const GeneratorState& generator : Migrated(v1).generators) {
    names.push_back(generator.name);
  }
  EXPECT_THAT(names, ElementsAre("cpu", "cuda:2", "cuda:10"));
}

void ExpectRefused(const Snapshot& v1, const std::string& text) {
  ASSERT_TRUE(EncodeV1(v1).ok()) << EncodeV1(v1).status();
  const absl::Status status = MigrateV1ToV2(v1, kSource).status();
  EXPECT_EQ(RefusalOf(status), Refusal::INVALID_VALUE) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("optim.step"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(text));
}

TEST(MigrateV1ToV2, MIG_5_ParametersOfUnequalStepsAreRefused) {
  Snapshot v1 = SmallSnapshot(60);
  v1.optimizer->states[1].step = 59;
  ExpectRefused(v1, "parameter fc.bias says 59");
  v1.schedule.reset();
  for (Item item : {Item::SCHED_DEFINITION, Item::SCHED_POSITION,
                    Item::SCHED_UNIT, Item::SCHED_HORIZON}) {
    v1.MarkNotApplicable(item, "constant learning rate");
  }
  ExpectRefused(v1, "parameter fc.weight says that 60");
}

TEST(MigrateV1ToV2, MIG_5_ScheduleAndOptimizerThatDisagreeAreRefused) {
  Snapshot v1 = SmallSnapshot(60);
  v1.schedule->position = 58;
  ExpectRefused(v1, "sched.position says that 58");
  // Counted in another unit, the position says nothing about applied steps.
  v1.schedule->unit = ScheduleState::Unit::kAttempted;
  EXPECT_EQ(Migrated(v1).counters->applied, 60u);
}

TEST(MigrateV1ToV2, MIG_5_MoreAppliedThanAttemptedStepsAreRefused) {
  Snapshot v1 = SmallSnapshot(60);
  v1.schedule->position = 61;
  for (ParameterState& state : v1.optimizer->states) state.step = 61;
  ExpectRefused(v1, "61 steps were applied of 60 attempted ones");
}

TEST(MigrateV1ToV2, MIG_5_ParameterThatNeverTookAStepSaysNothing) {
  Snapshot v1 = SmallSnapshot(60);
  v1.optimizer->states[1].step = 0;
  v1.optimizer->states[1].moments.clear();
  const Snapshot v2 = Migrated(v1);
  EXPECT_EQ(v2.counters->applied, 60u);
  EXPECT_EQ(v2.optimizer->states[1].step, 0u);
}

TEST(MigrateV1ToV2, MIG_5_NothingAppliedYetIsZeroAndNotUnknown) {
  const Snapshot v2 = Migrated(SmallSnapshot(0));
  EXPECT_EQ(v2.counters->applied, 0u);
  EXPECT_EQ(v2.counters->skipped, 0u);
}

TEST(MigrateV1ToV2, MIG_5_UnknownNumberOfAppliedStepsStaysUnknown) {
  Snapshot v1 = SmallSnapshot(60);
  v1.schedule->unit = ScheduleState::Unit::kSamples;
  v1.MarkOmitted(Item::OPTIM_STEP, "lost");
  for (ParameterState& state : v1.optimizer->states) state.step = 0;
  const Snapshot v2 = Migrated(v1);
  EXPECT_EQ(PresenceOf(v2, Item::COUNTERS_APPLIED), Presence::PRESENCE_OMITTED);
  EXPECT_EQ(PresenceOf(v2, Item::COUNTERS_SKIPPED), Presence::PRESENCE_OMITTED);
  EXPECT_EQ(PresenceOf(v2, Item::COUNTERS_SAMPLES), Presence::PRESENCE_SAVED);
}

TEST(MigrateV1ToV2, MIG_6_HistorySaysWhatWasDoneAndWhatCouldNotBeKnown) {
  const Snapshot v2 = Migrated(SmallSnapshot(60));
  ASSERT_EQ(v2.history.size(), 1u);
  const MigrationRecord& step = v2.history[0];
  EXPECT_EQ(step.from_major, 1u);
  EXPECT_EQ(step.to_major, 2u);
  EXPECT_EQ(step.program, kV1ToV2Program);
  EXPECT_EQ(step.source_manifest_digest, kSource.manifest_digest);
  EXPECT_THAT(step.notes, Contains(HasSubstr("counters.applied")));
  EXPECT_THAT(step.notes, Contains(HasSubstr("clip: in the configuration")));
  EXPECT_THAT(step.notes,
              Contains(AllOf(HasSubstr("not recorded by v1: model.ties"),
                             HasSubstr("witness"))));
}

TEST(MigrateV1ToV2, MIG_6_IdentityClockAndTensorsStayAsTheyAre) {
  Snapshot v1 = SmallSnapshot(60);
  v1.attempt = 3;
  v1.parent = ParentRef{50, "fedcba9876543210"};
  const Snapshot v2 = Migrated(v1);
  EXPECT_EQ(v2.run_id, v1.run_id);
  EXPECT_EQ(v2.attempt, 3u);
  EXPECT_EQ(v2.parent->manifest_digest, "fedcba9876543210");
  EXPECT_EQ(v2.writer, v1.writer);
  EXPECT_EQ(v2.created_unix_nanos, v1.created_unix_nanos);
  EXPECT_EQ(v2.host, v1.host);
  // The same bytes in memory.
  EXPECT_EQ(v2.parameters[0].data(), v1.parameters[0].data());
  EXPECT_EQ(v2.scaler->arithmetic, "grad-scaler-v1");
}

TEST(MigrateV1ToV2, MIG_7_ContentOfALaterMinorVersionIsCarriedAsNotes) {
  checkpoint::v1::Checkpoint message;
  ASSERT_TRUE(message.ParseFromString(*EncodeV1(SmallSnapshot(60))));
  checkpoint::v1::ItemRecord* record = message.add_inventory();
  record->set_item(Item::EMA_CONFIG);
  record->set_presence(Presence::PRESENCE_OMITTED);
  record->set_as_of_step(60);
  record->set_reason("why not");
  message.mutable_model()
      ->mutable_parameters(1)
      ->GetReflection()
      ->MutableUnknownFields(message.mutable_model()->mutable_parameters(1))
      ->AddVarint(99, 5);
  // Field 99, a varint, 5; field 99 of the manifest, three bytes.
  const std::string manifest =
      message.SerializeAsString() + std::string("\x9a\x06\x03new", 6);
  ASSERT_TRUE(DecodeV1(manifest, 7).ok()) << DecodeV1(manifest, 7).status();
  const std::vector<std::string> unknown = UnknownContentOfV1(manifest, 7);
  EXPECT_THAT(unknown,
              ElementsAre(HasSubstr("record of the item"),
                          "unknown content of the manifest: 9a06036e6577",
                          "unknown content of model.parameters[1]: 980605"));
  EXPECT_THAT(unknown[0], HasSubstr("OMITTED, why not"));
  auto v2 =
      MigrateV1ToV2(*DecodeV1(manifest, 7), {"source digest 16", unknown});
  ASSERT_TRUE(v2.ok()) << v2.status();
  for (const std::string& line : unknown) {
    EXPECT_THAT(v2->history[0].notes, Contains(line));
  }
  EXPECT_TRUE(UnknownContentOfV1(*EncodeV1(SmallSnapshot(60)), 0).empty());
}

}  // namespace
}  // namespace reprise
