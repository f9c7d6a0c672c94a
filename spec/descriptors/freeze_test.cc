// The schemas of the tree against the frozen ones beside this file.
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
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

// Options too: which item a field belongs to, whether it may be absent, and
// whether it counts in the value digest, decide about every file.
std::map<std::string, std::string> OptionsOf(
    const google::protobuf::FileDescriptorSet& set) {
  std::map<std::string, std::string> options;
  for (const auto& file : set.file()) {
    for (const auto& type : file.message_type()) {
      for (const auto& field : type.field()) {
        options[absl::StrCat(file.package(), ".", type.name(), ".",
                             field.name())] =
            field.options().ShortDebugString();
      }
    }
  }
  return options;
}

TEST(DescriptorFreeze, CheckpointV2HasLostNothing) {
  const auto frozen =
      ReadDescriptorSet("spec/descriptors/checkpoint_v2.textproto");
  const auto now =
      ReadDescriptorSet("spec/v2/checkpoint_proto-descriptor-set.proto.bin");
  const char* const advice =
      "Files of version 2 are written and read for ever: within a major there "
      "are only additions (spec/VERSIONING.md)";
  EXPECT_THAT(ChangesOf(frozen, now), IsEmpty()) << advice;
  const auto options_now = OptionsOf(now);
  int compared = 0;
  for (const auto& [field, options] : OptionsOf(frozen)) {
    auto found = options_now.find(field);
    ASSERT_NE(found, options_now.end()) << field;
    EXPECT_EQ(found->second, options) << field << ": " << advice;
    compared += !options.empty();
  }
  EXPECT_GE(compared, 80);
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
