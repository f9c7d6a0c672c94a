#include "conformance/judge/count_fault.h"

#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

// 10 steps of 32 samples an epoch, 4 micro-steps a step; resumed from step 15.
constexpr uint64_t kStep = 15;
constexpr Workload kWorkload = {40, 10, 32, 4};

Fault Of(Item item, double found, double expected) {
  return CountFault(kWorkload, kStep, item, found, expected);
}

TEST(CountFault, OneStepOffIsALagOrALead) {
  EXPECT_EQ(Of(Item::SCHED_POSITION, 14, 15), Fault::FAULT_LAG);
  EXPECT_EQ(Of(Item::SCHED_POSITION, 16, 15), Fault::FAULT_LEAD);
}

TEST(CountFault, ZeroIsTheStart) {
  EXPECT_EQ(Of(Item::OPTIM_STEP, 0, 15), Fault::FAULT_RESET);
}

TEST(CountFault, CursorAtTheStartOfItsEpochIsReset) {
  EXPECT_EQ(Of(Item::SAMPLER_CURSOR, 320, 480), Fault::FAULT_RESET);
}

TEST(CountFault, CursorAnEpochOffAtAnEpochsEndIsTheEpochRepeatedOrLeftOut) {
  EXPECT_EQ(Of(Item::SAMPLER_CURSOR, 0, 320), Fault::FAULT_EPOCH_END);
  EXPECT_EQ(Of(Item::SAMPLER_CURSOR, 640, 320), Fault::FAULT_EPOCH_END);
}

TEST(CountFault, OtherUnitsAreNamed) {
  EXPECT_EQ(Of(Item::SCHED_POSITION, 60, 15), Fault::FAULT_UNIT);   // micro
  EXPECT_EQ(Of(Item::SCHED_POSITION, 480, 15), Fault::FAULT_UNIT);  // samples
  EXPECT_EQ(Of(Item::SCHED_POSITION, 1, 15), Fault::FAULT_UNIT);    // epochs
  EXPECT_EQ(Of(Item::SAMPLER_CURSOR, 120, 480), Fault::FAULT_UNIT);
}

TEST(CountFault, WholeEpochsAreToldFromOtherDistances) {
  EXPECT_TRUE(WholeEpochs(kWorkload, 160, 480));
  EXPECT_FALSE(WholeEpochs(kWorkload, 448, 480));
  EXPECT_FALSE(WholeEpochs(Workload(), 160, 480));  // epochs are not known
}

}  // namespace
}  // namespace reprise::conformance
