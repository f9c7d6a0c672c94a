#include "format/snapshot.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(Snapshot, ScalarsHaveOneElementAndEmptyExtentsNone) {
  const float value = 1;
  EXPECT_EQ(Tensor::View("s", DType::kF32, {}, &value).num_bytes(), 4u);
  EXPECT_EQ(Tensor::View("e", DType::kF32, {3, 0, 2}, nullptr).num_bytes(), 0u);
  EXPECT_EQ(Tensor::View("m", DType::kBF16, {2, 3}, &value).num_bytes(), 12u);
}

TEST(Snapshot, SharedTensorsKeepTheirOwnerAlive) {
  auto owner = std::make_shared<std::vector<float>>(4, 2.5f);
  std::weak_ptr<std::vector<float>> watch = owner;
  {
    Tensor copy;
    {
      Tensor tensor =
          Tensor::Shared("t", DType::kF32, {4}, owner, owner->data());
      owner.reset();
      copy = tensor;
    }
    ASSERT_FALSE(watch.expired());
    EXPECT_EQ(static_cast<const float*>(copy.data())[3], 2.5f);
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Snapshot, MarkingAgainReplacesTheRecordAndItsStep) {
  Snapshot snapshot;
  snapshot.step = 3;
  EXPECT_EQ(snapshot.Find(Item::OPTIM_MOMENTS), nullptr);
  snapshot.MarkEmpty(Item::OPTIM_MOMENTS);
  snapshot.MarkSaved(Item::OPTIM_KIND);
  snapshot.step = 4;
  snapshot.MarkNotApplicable(Item::OPTIM_MOMENTS, "no momentum");
  ASSERT_EQ(snapshot.inventory.size(), 2u);
  const ItemRecord* record = snapshot.Find(Item::OPTIM_MOMENTS);
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->presence, Presence::PRESENCE_NOT_APPLICABLE);
  EXPECT_EQ(record->as_of_step, 4u);
  EXPECT_EQ(record->reason, "no momentum");
  EXPECT_EQ(snapshot.Find(Item::OPTIM_KIND)->as_of_step, 3u);
}

}  // namespace
}  // namespace reprise
