#include "conformance/protocol/sample_ids.h"

#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

TEST(SampleIdsDigest, IsTheSpecifiedOne) {
  EXPECT_EQ(SampleIdsDigest({}), "2d06800538d394c2");
  EXPECT_EQ(SampleIdsDigest({1, 59999}), "ef80d853b456c79a");
}

TEST(SampleIdsDigest, DependsOnTheOrder) {
  EXPECT_NE(SampleIdsDigest({1, 2}), SampleIdsDigest({2, 1}));
}

}  // namespace
}  // namespace reprise::conformance
