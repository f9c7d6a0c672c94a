#include "format/diff.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(Diff, EqualSnapshotsDoNotDiffer) {
  EXPECT_TRUE(Diff(FullSnapshot(60), FullSnapshot(60)).empty());
  Snapshot same = FullSnapshot(60);
  same.attempt = 5;
  same.host = "elsewhere";
  same.created_unix_nanos = 1;
  std::reverse(same.parameters.begin(), same.parameters.end());
  EXPECT_TRUE(Diff(FullSnapshot(60), same).empty());
  EXPECT_TRUE(Diff(SmallSnapshot(60), SmallSnapshot(60)).empty());
}

TEST(Diff, FieldsAreNamedWithItemPathAndBothValues) {
  Snapshot other = FullSnapshot(60);
  other.scaler->scale = 1024;
  other.optimizer->groups[1].lr = 0.5;
  other.user[0].value = std::vector<uint8_t>{7};
  const SnapshotDiff diff = Diff(FullSnapshot(60), other);
  EXPECT_THAT(diff.tensors, IsEmpty());
  ASSERT_EQ(diff.fields.size(), 3u);
  EXPECT_EQ(diff.fields[0].item, Item::SCHED_APPLIED);
  EXPECT_EQ(diff.fields[0].path, "optimizer.groups[no_decay].lr");
  EXPECT_EQ(diff.fields[0].b, "0.5");
  EXPECT_EQ(diff.fields[1].item, Item::SCALER_SCALE);
  EXPECT_EQ(diff.fields[1].a, "65536");
  EXPECT_EQ(diff.fields[1].b, "1024");
  EXPECT_EQ(diff.fields[2].path, "user[bytes].bytes_value");
  EXPECT_EQ(diff.fields[2].a, "00ff");
  EXPECT_EQ(diff.fields[2].b, "07");
  EXPECT_THAT(diff.items(),
              UnorderedElementsAre(Item::SCHED_APPLIED, Item::SCALER_SCALE,
                                   Item::USER));
}

TEST(Diff, C16_LongBytesDifferWhereverTheyDo) {
  Snapshot other = FullSnapshot(60);
  std::string& state = other.generators[0].state;
  state.resize(5056, 's');
  Snapshot same = other;
  ASSERT_TRUE(Diff(other, same).empty());
  state.back() ^= 1;
  const SnapshotDiff diff = Diff(same, other);
  ASSERT_EQ(diff.fields.size(), 1u);
  EXPECT_EQ(diff.fields[0].item, Item::RNG_CPU);
  EXPECT_EQ(diff.fields[0].path, "random.cpu.state");
  EXPECT_THAT(diff.fields[0].a,
              testing::HasSubstr("... (5056 bytes, XXH3-128"));
  EXPECT_NE(diff.fields[0].a, diff.fields[0].b);
}

TEST(Diff, AbsentIsNotZero) {
  Snapshot other = FullSnapshot(60);
  other.best.reset();
  other.MarkEmpty(Item::BEST);
  const SnapshotDiff diff = Diff(FullSnapshot(60), other);
  ASSERT_EQ(diff.fields.size(), 5u);
  EXPECT_EQ(diff.fields[0].path, "presence");
  EXPECT_EQ(diff.fields[0].a, "SAVED");
  EXPECT_EQ(diff.fields[0].b, "EMPTY");
  for (size_t i = 1; i < 5; ++i) EXPECT_EQ(diff.fields[i].b, "absent");
}

TEST(Diff, TensorsThatAreAddedOrOtherwiseMadeAreNamed) {
  Snapshot other = FullSnapshot(60);
  other.user_tensors[0] = BytesTensor("replay", DType::kI8, {3}, "abc");
  other.user_tensors[1] = BytesTensor("nothing", DType::kF64, {0}, "");
  other.user_tensors.push_back(BytesTensor("new", DType::kU8, {1}, "x"));
  other.masters.clear();
  other.MarkNotApplicable(Item::MASTER, "none");
  const SnapshotDiff diff = Diff(FullSnapshot(60), other);
  std::vector<std::string> texts;
  for (const TensorDiff& tensor : diff.tensors) {
    texts.push_back(Describe(tensor));
  }
  EXPECT_THAT(texts, ElementsAre("master conv.weight: only in the first",
                                 "user new: only in the second",
                                 "user nothing: another shape",
                                 "user replay: another dtype"));
}

TEST(Diff, UlpsAreCountedBetweenFiniteValues) {
  const float one = 1;
  const float next = std::nextafter(one, 2.0f);
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor a = FloatTensor("t", {2, 3}, {1, 1, 0, -1, 1, 5});
  const Tensor b = FloatTensor("t", {2, 3}, {1, next, -0.0f, -1, inf, 5});
  auto diff = DiffTensors(a, b);
  ASSERT_TRUE(diff.has_value());
  EXPECT_EQ(diff->elements, 6u);
  EXPECT_EQ(diff->differing, 3u);
  EXPECT_EQ(*diff->first, 1u);
  EXPECT_THAT(diff->first_index, ElementsAre(0, 1));
  EXPECT_EQ(*diff->max_ulp, 1u);
  EXPECT_EQ(diff->non_finite, 1u);
  diff->item = Item::MODEL_PARAMS;
  EXPECT_EQ(Describe(*diff),
            "model.params t: 3 of 6 elements differ, the first at [0, 1], by "
            "at most 1 ulp, 1 of them not finite");
  // Across zero: the smallest numbers of both signs are two apart.
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(*DiffTensors(FloatTensor("t", {1}, {tiny}),
                         FloatTensor("t", {1}, {-tiny}))
                 ->max_ulp,
            2u);
}

TEST(Diff, EveryFloatingTypeHasUlps) {
  struct Case {
    DType dtype;
    std::string one, next, nan;
  };
  for (const Case& c : {
           Case{DType::kBF16, "\x80\x3f", "\x81\x3f", "\xc0\x7f"},
           Case{DType::kF16, std::string("\0\x3c", 2), "\x01\x3c",
                std::string("\0\x7e", 2)},
           Case{DType::kF8E4M3FN, "\x38", "\x39", "\x7f"},
           Case{DType::kF8E5M2, "\x3c", "\x3d", "\x7e"},
       }) {
    auto diff = DiffTensors(BytesTensor("t", c.dtype, {2}, c.one + c.one),
                            BytesTensor("t", c.dtype, {2}, c.next + c.nan));
    ASSERT_TRUE(diff.has_value()) << Name(c.dtype);
    EXPECT_EQ(diff->differing, 2u);
    EXPECT_EQ(*diff->max_ulp, 1u) << Name(c.dtype);
    EXPECT_EQ(diff->non_finite, 1u) << Name(c.dtype);
  }
  auto integers = DiffTensors(BytesTensor("t", DType::kU8, {1}, "a"),
                              BytesTensor("t", DType::kU8, {1}, "b"));
  EXPECT_FALSE(integers->max_ulp.has_value());
}

TEST(Diff, OrderInMemoryIsADifferenceAndValuesAreComparedByPlace) {
  // The same 2 x 3 matrix, row-major and column-major.
  const std::string rows = "abcdef";
  const std::string columns = "adbecf";
  const Tensor a = Tensor::View("t", DType::kU8, {2, 3}, rows.data());
  const Tensor b =
      Tensor::Strided("t", DType::kU8, {2, 3}, {1, 2}, nullptr, columns.data());
  auto diff = DiffTensors(a, b);
  ASSERT_TRUE(diff.has_value());
  EXPECT_EQ(diff->kind, TensorDiff::Kind::kOrder);
  EXPECT_EQ(diff->differing, 0u);
  const std::string changed = "adbeXf";
  diff = DiffTensors(a, Tensor::Strided("t", DType::kU8, {2, 3}, {1, 2},
                                        nullptr, changed.data()));
  EXPECT_EQ(diff->differing, 1u);
  EXPECT_THAT(diff->first_index, ElementsAre(0, 2));
}

TEST(Diff, SnapshotsThatContradictTheirRecordsAreComparedAllTheSame) {
  Snapshot a = FullSnapshot(60);
  a.MarkOmitted(Item::MODEL_PARAMS, "-");
  a.MarkOmitted(Item::OPTIM_KIND, "-");
  EXPECT_TRUE(Diff(a, a).empty());
  Snapshot b = a;
  b.early_stop->patience = 9;
  ASSERT_EQ(Diff(a, b).fields.size(), 1u);
  EXPECT_EQ(Diff(a, b).fields[0].path, "early_stop.patience");
}

TEST(Diff, VersionsCanBeCompared) {
  const SnapshotDiff diff = Diff(SmallSnapshot(60), FullSnapshot(60));
  EXPECT_EQ(diff.items().count(Item::EMA_WEIGHTS), 1u);
  EXPECT_EQ(diff.items().count(Item::SCALER_SCALE), 0u);
}

}  // namespace
}  // namespace reprise
