// The configuration's schema against the one that was frozen at a release.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/descriptors/frozen_schema.h"

namespace reprise {
namespace {

TEST(DescriptorFreeze, TrainerConfigV1HasLostNothing) {
  const auto frozen =
      ReadDescriptorSet("trainer/config/v1/trainer_config.frozen.textproto");
  const auto now = ReadDescriptorSet(
      "trainer/config/v1/trainer_config_proto-descriptor-set.proto.bin");
  EXPECT_THAT(ChangesOf(frozen, now), ::testing::IsEmpty())
      << "Released checkpoints hold these fields by name, and a resumed run "
         "refuses one that it does not know. Keep the field and add another; "
         "what cannot be done that way is reprise.trainer.v2";
}

}  // namespace
}  // namespace reprise
