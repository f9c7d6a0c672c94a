// The schemas of the tree against the frozen ones beside this file.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/descriptors/frozen_schema.h"

namespace reprise {
namespace {

using ::testing::IsEmpty;

TEST(DescriptorFreeze, CheckpointV1IsWhatWasReleased) {
  const auto frozen =
      ReadDescriptorSet("spec/descriptors/checkpoint_v1.textproto");
  const auto now =
      ReadDescriptorSet("spec/v1/checkpoint_proto-descriptor-set.proto.bin");
  const char* const advice =
      "reprise.checkpoint.v1 is released and frozen: its files are read for "
      "ever. Undo the change; what has to change goes into a new major "
      "(spec/VERSIONING.md), a package of its own beside this one";
  EXPECT_THAT(ChangesOf(frozen, now), IsEmpty()) << advice;
  EXPECT_THAT(AdditionsTo(frozen, now), IsEmpty()) << advice;
  // Options too, and the order of fields: every byte of the description.
  EXPECT_EQ(now.SerializeAsString(), frozen.SerializeAsString()) << advice;
}

TEST(DescriptorFreeze, VocabularyHasLostNothing) {
  const auto frozen =
      ReadDescriptorSet("spec/descriptors/vocabulary_v1.textproto");
  const auto now = ReadDescriptorSet(
      "spec/vocabulary/v1/vocabulary_proto-descriptor-set.proto.bin");
  EXPECT_THAT(ChangesOf(frozen, now), IsEmpty())
      << "The words of the vocabulary are in released files and programs: add "
         "a new one, and leave the old where it is. A checkpoint that needs "
         "another meaning needs a new major (spec/VERSIONING.md)";
}

}  // namespace
}  // namespace reprise
