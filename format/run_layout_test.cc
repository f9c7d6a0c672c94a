#include "format/run_layout.h"

#include <limits>

#include "gtest/gtest.h"

namespace reprise {
namespace {

// Rules: DIR-1
TEST(RunLayout, NamesComeBack) {
  for (uint64_t step :
       {uint64_t{0}, uint64_t{60}, uint64_t{999999999999},
        uint64_t{1000000000000}, std::numeric_limits<uint64_t>::max()}) {
    auto position = ParseCheckpointName(CheckpointName(step));
    ASSERT_TRUE(position.has_value()) << CheckpointName(step);
    EXPECT_EQ(position->step, step);
    EXPECT_FALSE(position->micro.has_value());
  }
  EXPECT_EQ(CheckpointName(60), "step-000000000060");
}

// Rules: DIR-1
TEST(RunLayout, MicroStepsLieAfterTheirBoundary) {
  auto boundary = ParseCheckpointName("step-000000000060");
  auto micro = ParseCheckpointName("step-000000000060-micro-0002");
  auto next = ParseCheckpointName("step-000000000061");
  ASSERT_TRUE(boundary && micro && next);
  EXPECT_EQ(micro->micro, 2u);
  EXPECT_TRUE(*boundary < *micro);
  EXPECT_TRUE(*micro < *next);
  EXPECT_FALSE(*next < *boundary);
}

// Rules: DIR-1
TEST(RunLayout, RefusesNamesThatAreNotWrittenExactly) {
  for (const char* name :
       {"step-60", "step-0000000000060", "step-00000000006x", "step-",
        "step-000000000060 ", "step-000000000060.bak", "Step-000000000060",
        "step--00000000060", "step-+00000000060", "step-000000000060-micro-2",
        "step-000000000060-micro-", "step-99999999999999999999999999",
        ".tmp-step-000000000060", "latest", ""}) {
    EXPECT_FALSE(ParseCheckpointName(name).has_value()) << name;
  }
}

// Rules: DIR-2 DIR-4
TEST(RunLayout, TellsCheckpointsLeftoversAndTheRestApart) {
  EXPECT_TRUE(IsCheckpointNamed("step-60"));
  EXPECT_FALSE(IsCheckpointNamed("latest"));
  EXPECT_FALSE(IsCheckpointNamed(".tmp-step-000000000060"));
  EXPECT_TRUE(IsLeftover(".tmp-x"));
  EXPECT_TRUE(IsLeftover(".trash-step-000000000060"));
  EXPECT_FALSE(IsLeftover("step-000000000060"));
}

}  // namespace
}  // namespace reprise
