#include "format/v1/codec.h"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "format/non_finite.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Snapshot RoundTrip(const Snapshot& snapshot) {
  absl::StatusOr<std::string> manifest = EncodeV1(snapshot);
  EXPECT_TRUE(manifest.ok()) << manifest.status();
  if (!manifest.ok()) return Snapshot();
  absl::StatusOr<Snapshot> decoded = DecodeV1(*manifest);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return decoded.ok() ? *std::move(decoded) : Snapshot();
}

void ExpectEqual(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.name(), b.name());
  EXPECT_EQ(a.dtype(), b.dtype());
  EXPECT_EQ(a.shape(), b.shape());
  EXPECT_EQ(a.bytes(), b.bytes()) << a.name();
}

TEST(CodecV1, EveryValueComesBack) {
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.attempt = 3;
  snapshot.parent = ParentRef{50, "fedcba9876543210"};
  const Snapshot again = RoundTrip(snapshot);
  EXPECT_EQ(again.run_id, snapshot.run_id);
  EXPECT_EQ(again.attempt, 3u);
  ASSERT_TRUE(again.parent.has_value());
  EXPECT_EQ(again.parent->step, 50u);
  EXPECT_EQ(again.parent->manifest_digest, "fedcba9876543210");
  EXPECT_EQ(again.step, 60u);
  EXPECT_EQ(again.architecture, "mlp");
  EXPECT_EQ(again.initialisation, "torch-default-v1");
  ASSERT_EQ(again.parameters.size(), 2u);
  ExpectEqual(again.parameters[0], snapshot.parameters[0]);
  ExpectEqual(again.parameters[1], snapshot.parameters[1]);
  ASSERT_EQ(again.buffers.size(), 1u);
  ExpectEqual(again.buffers[0], snapshot.buffers[0]);

  ASSERT_TRUE(again.optimizer.has_value());
  EXPECT_EQ(again.optimizer->kind, "adamw");
  EXPECT_EQ(again.optimizer->arithmetic, "torch-single-tensor-v1");
  ASSERT_EQ(again.optimizer->groups.size(), 2u);
  const ParameterGroup& group = again.optimizer->groups[0];
  EXPECT_EQ(group.name, "decay");
  EXPECT_THAT(group.parameters, ElementsAre("fc.weight"));
  EXPECT_EQ(group.lr, snapshot.optimizer->groups[0].lr);
  EXPECT_EQ(group.base_lr, 0.003);
  EXPECT_EQ(group.weight_decay, 0.01);
  EXPECT_EQ(group.beta1, 0.9);
  EXPECT_EQ(group.beta2, 0.999);
  EXPECT_EQ(group.eps, 1e-8);
  EXPECT_EQ(group.momentum, std::nullopt);
  EXPECT_EQ(again.optimizer->groups[1].weight_decay, 0);
  ASSERT_EQ(again.optimizer->states.size(), 2u);
  EXPECT_EQ(again.optimizer->states[1].parameter, "fc.bias");
  EXPECT_EQ(again.optimizer->states[1].step, 60u);
  ASSERT_EQ(again.optimizer->states[1].moments.size(), 2u);
  ExpectEqual(again.optimizer->states[1].moments[1],
              snapshot.optimizer->states[1].moments[1]);

  ASSERT_TRUE(again.schedule.has_value());
  EXPECT_EQ(again.schedule->form, "warmup-cosine-v1");
  EXPECT_EQ(again.schedule->unit, ScheduleState::Unit::kApplied);
  EXPECT_EQ(again.schedule->position, 60u);
  EXPECT_EQ(again.schedule->horizon, 300u);
  EXPECT_EQ(again.schedule->warmup, 20u);
  EXPECT_EQ(again.schedule->final_fraction, 0.01);
  ASSERT_TRUE(again.scaler.has_value());
  EXPECT_EQ(again.scaler->scale, 65536);
  EXPECT_EQ(again.scaler->growth_tracker, 0u);
  EXPECT_EQ(again.scaler->growth_interval, 20u);
  EXPECT_EQ(again.scaler->growth_factor, 2);
  EXPECT_EQ(again.scaler->backoff_factor, 0.5);
  EXPECT_EQ(again.scaler->min_scale, 0x1p-14);
  EXPECT_EQ(again.scaler->arithmetic, "grad-scaler-v1");
  ASSERT_TRUE(again.sampler.has_value());
  EXPECT_EQ(again.sampler->algorithm, "feistel-v1");
  EXPECT_EQ(again.sampler->seed, 1u);
  EXPECT_EQ(again.sampler->cursor, 600u);
  EXPECT_EQ(again.sampler->batch_size, 10u);
  EXPECT_EQ(again.sampler->dataset_size, 1000u);
  EXPECT_EQ(again.sampler->stream_algorithm, "philox4x32-10");
  EXPECT_EQ(again.sampler->augmentation, "shift2-flip-v1");
  ASSERT_EQ(again.generators.size(), 1u);
  EXPECT_EQ(again.generators[0].name, "cpu");
  EXPECT_EQ(again.generators[0].algorithm, "mt19937");
  EXPECT_EQ(again.generators[0].library, "libtorch 2.11.0");
  EXPECT_EQ(again.generators[0].state, "state at 60");
  ASSERT_EQ(again.config.size(), 2u);
  EXPECT_EQ(again.config[0].path, "optimizer.lr");
  EXPECT_EQ(again.config[0].value, "0.003");
  EXPECT_EQ(again.config[0].rule, ResumeRule::MAY_CHANGE);
  EXPECT_EQ(again.config[0].previous, "0.002");
  EXPECT_EQ(again.config[1].previous, std::nullopt);
  ASSERT_TRUE(again.environment.has_value());
  EXPECT_EQ(again.environment->level, ResumeLevel::BITWISE);
  EXPECT_EQ(again.environment->trainer_version, "0.1.0");
  EXPECT_EQ(again.environment->libtorch_version, "2.11.0");
  EXPECT_EQ(again.environment->compiler, "g++ 12.2");
  EXPECT_EQ(again.environment->device, "cpu");
  EXPECT_EQ(again.environment->device_name, "some processor");
  EXPECT_EQ(again.environment->cpu_capability, "AVX2");
  EXPECT_EQ(again.environment->threads, 1u);
  EXPECT_EQ(again.environment->world_size, 1u);
  EXPECT_EQ(again.environment->autocast_dtype, "fp16");
  EXPECT_FALSE(again.environment->deterministic);
  EXPECT_FALSE(again.environment->allow_tf32);
  EXPECT_EQ(again.environment->kernel_probe, "0123456789abcdef");
  EXPECT_EQ(again.writer, "checkpoint_builder");
  EXPECT_EQ(again.created_unix_nanos, 1700000000000000000);
  EXPECT_EQ(again.host, "test");
  ASSERT_EQ(again.inventory.size(), snapshot.inventory.size());
  for (const ItemRecord& record : snapshot.inventory) {
    const ItemRecord* found = again.Find(record.item);
    ASSERT_NE(found, nullptr) << TextOf(record.item);
    EXPECT_EQ(found->presence, record.presence) << TextOf(record.item);
    EXPECT_EQ(found->as_of_step, record.as_of_step);
    EXPECT_EQ(found->reason, record.reason);
  }
}

// Rules: WIRE-6 LOAD-4
TEST(CodecV1, C03_EncodingWhatWasDecodedGivesTheSameBytes) {
  std::string manifest = *EncodeV1(SmallSnapshot(60));
  for (int i = 0; i < 100; ++i) {
    absl::StatusOr<Snapshot> decoded = DecodeV1(manifest);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    absl::StatusOr<std::string> again = EncodeV1(*decoded);
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(*again, manifest) << "round " << i;
  }
}

// Rules: WIRE-6
TEST(CodecV1, C37_SameStateGivesTheSameBytesWhateverTheOrderOfMarking) {
  Snapshot reversed = SmallSnapshot(60);
  std::reverse(reversed.inventory.begin(), reversed.inventory.end());
  std::reverse(reversed.config.begin(), reversed.config.end());
  EXPECT_EQ(*EncodeV1(reversed), *EncodeV1(SmallSnapshot(60)));
}

// Rules: TEN-1 TEN-2
TEST(CodecV1, C35_OddShapesAndValuesComeBackBitForBit) {
  Snapshot snapshot = SmallSnapshot(60);
  // NaN with a payload, signalling NaN, -0, denormal, infinity.
  std::string odd;
  for (uint32_t bits :
       {0x7fc12345u, 0x7f800001u, 0x80000000u, 0x00000001u, 0xff800000u}) {
    odd.append(reinterpret_cast<const char*>(&bits), 4);
  }
  snapshot.buffers = {
      BytesTensor("odd", DType::kF32, {5}, odd),
      BytesTensor("scalar", DType::kI64, {}, std::string("\1\2\3\4\5\6\7\x88")),
      BytesTensor("none", DType::kF64, {0}, ""),
      BytesTensor("none either", DType::kBool, {3, 0, 2}, ""),
      Tensor::View("null", DType::kF16, {0, 7}, nullptr),
      BytesTensor("bool", DType::kBool, {3}, std::string("\0\1\1", 3)),
      BytesTensor("bf16", DType::kBF16, {1, 1, 2}, "\x80\x3f\xc0\x7f"),
      BytesTensor("\xe5\xb1\xa4 1", DType::kU8, {1}, "x"),
  };
  const Snapshot again = RoundTrip(snapshot);
  ASSERT_EQ(again.buffers.size(), snapshot.buffers.size());
  for (size_t i = 0; i < again.buffers.size(); ++i) {
    ExpectEqual(again.buffers[i], snapshot.buffers[i]);
  }
}

// Rules: TEN-1
TEST(CodecV1, C35_EveryDtypeComesBack) {
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.buffers.clear();
  for (int number = 1; number <= 13; ++number) {
    const DType dtype = static_cast<DType>(number);
    snapshot.buffers.push_back(
        BytesTensor(std::string(Name(dtype)), dtype, {2},
                    std::string(2 * SizeOf(dtype), '\x5a')));
  }
  const Snapshot again = RoundTrip(snapshot);
  ASSERT_EQ(again.buffers.size(), 13u);
  for (size_t i = 0; i < again.buffers.size(); ++i) {
    ExpectEqual(again.buffers[i], snapshot.buffers[i]);
  }
}

TEST(CodecV1, C35_FileSizeIsNearTheLogicalSize) {
  Snapshot snapshot = SmallSnapshot(60);
  const size_t without = EncodeV1(snapshot)->size();
  // A view into a large buffer stores the view only.
  const std::vector<float> large(1 << 20, 1.0f);
  snapshot.buffers.push_back(
      Tensor::View("slice", DType::kF32, {16}, large.data() + 1000));
  EXPECT_LT(EncodeV1(snapshot)->size(), without + 16 * 4 + 64);
}

// Rules: ITEM-6
TEST(CodecV1, C04_NothingYetIsNotMissing) {
  const Snapshot again = RoundTrip(SmallSnapshot(0));
  EXPECT_EQ(again.Find(Item::OPTIM_MOMENTS)->presence,
            Presence::PRESENCE_EMPTY);
  ASSERT_EQ(again.optimizer->states.size(), 2u);
  EXPECT_THAT(again.optimizer->states[0].moments, IsEmpty());

  Snapshot lost = SmallSnapshot(20);
  for (ParameterState& state : lost.optimizer->states) state.moments.clear();
  absl::Status status = EncodeV1(lost).status();
  EXPECT_EQ(RefusalOf(status), Refusal::MISSING_ITEM);
  EXPECT_THAT(std::string(status.message()), HasSubstr("optim.moments"));
}

// Rules: ITEM-6
TEST(CodecV1, C04_StepsWithoutMomentsAreMissingEvenWhenMarkedEmpty) {
  Snapshot lost = SmallSnapshot(20);
  for (ParameterState& state : lost.optimizer->states) state.moments.clear();
  lost.MarkEmpty(Item::OPTIM_MOMENTS);
  EXPECT_EQ(RefusalOf(EncodeV1(lost).status()), Refusal::MISSING_ITEM);
}

// Rules: OPT-4
TEST(CodecV1, C20_StateFollowsNamesNotPositions) {
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.parameters.push_back(
      FloatTensor("fc2.weight", {2, 3}, std::vector<float>(6, 7)));
  snapshot.optimizer->groups[0].parameters.push_back("fc2.weight");
  ParameterState second = snapshot.optimizer->states[0];
  second.parameter = "fc2.weight";
  second.moments = {
      FloatTensor("exp_avg", {2, 3}, std::vector<float>(6, 8)),
      FloatTensor("exp_avg_sq", {2, 3}, std::vector<float>(6, 9))};
  snapshot.optimizer->states.push_back(second);
  std::reverse(snapshot.optimizer->states.begin(),
               snapshot.optimizer->states.end());
  const Snapshot again = RoundTrip(snapshot);
  for (const ParameterState& state : again.optimizer->states) {
    for (const ParameterState& original : snapshot.optimizer->states) {
      if (state.parameter != original.parameter) continue;
      ExpectEqual(state.moments[0], original.moments[0]);
      ExpectEqual(state.moments[1], original.moments[1]);
    }
  }
}

// Rules: OPT-4
TEST(CodecV1, C23_MomentsKeepTheirOwnPrecision) {
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.parameters[0] =
      BytesTensor("fc.weight", DType::kF16, {2, 3}, std::string(12, '\x3c'));
  const float near_one = 1.0f + 0x1p-20f;
  snapshot.optimizer->states[0].moments[0] =
      FloatTensor("exp_avg", {2, 3}, std::vector<float>(6, near_one));
  snapshot.optimizer->states[0].moments[1] =
      FloatTensor("exp_avg_sq", {2, 3}, std::vector<float>(6, 1e-10f));
  Snapshot again = RoundTrip(snapshot);
  for (int resume = 0; resume < 10; ++resume) again = RoundTrip(again);
  ExpectEqual(again.parameters[0], snapshot.parameters[0]);
  ExpectEqual(again.optimizer->states[0].moments[0],
              snapshot.optimizer->states[0].moments[0]);
  ExpectEqual(again.optimizer->states[0].moments[1],
              snapshot.optimizer->states[0].moments[1]);
}

// Rules: DATA-2
TEST(CodecV1, C11_EpochEndIsBatchZeroOfTheNext) {
  for (const auto& [cursor, epoch, batch] :
       {std::make_tuple(990u, 0u, 99u), std::make_tuple(1000u, 1u, 0u),
        std::make_tuple(1010u, 1u, 1u)}) {
    Snapshot snapshot = SmallSnapshot(60);
    snapshot.sampler->cursor = cursor;
    const std::string manifest = *EncodeV1(snapshot);
    checkpoint::v1::Checkpoint message;
    ASSERT_TRUE(message.ParseFromString(manifest));
    EXPECT_EQ(message.sampler().epoch(), epoch);
    EXPECT_EQ(message.sampler().batch_index(), batch);
    EXPECT_EQ(DecodeV1(manifest)->sampler->cursor, cursor);
  }
}

// Rules: DATA-1
TEST(CodecV1, C11_DroppedTailsAreNotCounted) {
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.sampler->dataset_size = 1003;
  snapshot.sampler->cursor = 1000;
  EXPECT_EQ(RoundTrip(snapshot).sampler->cursor, 1000u);
  checkpoint::v1::Checkpoint message;
  ASSERT_TRUE(message.ParseFromString(*EncodeV1(snapshot)));
  EXPECT_EQ(message.sampler().epoch(), 1u);
  EXPECT_EQ(message.sampler().batch_index(), 0u);
}

TEST(CodecV1, PositionsFarAwayComeBack) {
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.sampler->cursor =
      uint64_t{10} *
      (std::numeric_limits<uint64_t>::max() / 10 / 100 * 100 - 100);
  EXPECT_EQ(RoundTrip(snapshot).sampler->cursor, snapshot.sampler->cursor);
}

// Rules: SCHED-2
TEST(CodecV1, RunsWithoutScalerScheduleOrSamplerSaySo) {
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.scaler.reset();
  snapshot.schedule.reset();
  snapshot.sampler.reset();
  for (Item item :
       {Item::SCALER_SCALE, Item::SCALER_GROWTH_TRACKER, Item::SCALER_CONFIG,
        Item::SCHED_DEFINITION, Item::SCHED_POSITION, Item::SCHED_UNIT,
        Item::SCHED_HORIZON, Item::SCHED_BASE, Item::SCHED_APPLIED,
        Item::SAMPLER_ALGORITHM, Item::SAMPLER_SEED, Item::SAMPLER_CURSOR,
        Item::SAMPLER_ORDER, Item::DATA_BATCH, Item::RNG_DATA}) {
    snapshot.MarkNotApplicable(item, "this run has none");
  }
  const Snapshot again = RoundTrip(snapshot);
  EXPECT_FALSE(again.scaler.has_value());
  EXPECT_FALSE(again.schedule.has_value());
  EXPECT_FALSE(again.sampler.has_value());
  // A constant learning rate is an option of the group.
  EXPECT_EQ(again.optimizer->groups[0].lr, snapshot.optimizer->groups[0].lr);
}

// Rules: OPT-4
TEST(CodecV1, SgdWithAndWithoutMomentumComesBack) {
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.optimizer->kind = "sgd";
  for (ParameterGroup& group : snapshot.optimizer->groups) {
    group.beta1 = group.beta2 = group.eps = std::nullopt;
    group.momentum = 0.9;
    group.dampening = 0;
    group.nesterov = true;
  }
  for (ParameterState& state : snapshot.optimizer->states) {
    state.moments.pop_back();
    state.moments[0] =
        BytesTensor("momentum_buffer", DType::kF32, state.moments[0].shape(),
                    std::string(state.moments[0].bytes()));
  }
  Snapshot again = RoundTrip(snapshot);
  EXPECT_EQ(again.optimizer->groups[0].momentum, 0.9);
  EXPECT_EQ(again.optimizer->groups[0].nesterov, true);
  EXPECT_EQ(again.optimizer->states[0].moments[0].name(), "momentum_buffer");

  for (ParameterState& state : snapshot.optimizer->states) {
    state.moments.clear();
  }
  snapshot.MarkNotApplicable(Item::OPTIM_MOMENTS, "momentum is 0");
  again = RoundTrip(snapshot);
  EXPECT_EQ(again.optimizer->states[0].step, 60u);
}

TEST(CodecV1, SingleItemsCanBeOmittedWithAReason) {
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.scaler->growth_tracker = 0;
  snapshot.MarkOmitted(Item::SCALER_GROWTH_TRACKER, "dropped for a test");
  const Snapshot again = RoundTrip(snapshot);
  EXPECT_EQ(again.Find(Item::SCALER_GROWTH_TRACKER)->presence,
            Presence::PRESENCE_OMITTED);
  EXPECT_EQ(again.scaler->scale, 65536);
  EXPECT_EQ(again.scaler->growth_tracker, 0u);
}

// Rules: ENV-13
TEST(CodecV1, C36_SizesBeyondTheLimitAreRefusedBeforeAnyByteIsTouched) {
  const char one_byte = 0;
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{(int64_t{1} << 31) + 8},
        std::vector<int64_t>{int64_t{1} << 40, int64_t{1} << 22},
        std::vector<int64_t>{int64_t{1} << 62, 4}}) {
    Snapshot snapshot = SmallSnapshot(60);
    // Were the data read, this would not survive.
    snapshot.buffers.push_back(
        Tensor::View("huge", DType::kU8, shape, &one_byte));
    EXPECT_EQ(RefusalOf(EncodeV1(snapshot).status()), Refusal::LIMIT);
  }
  // Many tensors that fit each and not together.
  Snapshot snapshot = SmallSnapshot(60);
  for (const char* name : {"a", "b", "c"}) {
    snapshot.buffers.push_back(
        Tensor::View(name, DType::kU8, {int64_t{1} << 30}, &one_byte));
  }
  EXPECT_EQ(RefusalOf(EncodeV1(snapshot).status()), Refusal::LIMIT);
}

// Rules: TEN-5
TEST(CodecV1, NonFiniteTensorsAreStoredAndCanBeListed) {
  Snapshot snapshot = SmallSnapshot(60);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  snapshot.parameters[1] = FloatTensor("fc.bias", {2}, {1, nan});
  snapshot.optimizer->states[0].moments[1] =
      FloatTensor("exp_avg_sq", {2, 3}, {0, 0, 0, 0, 0, inf});
  snapshot.buffers.push_back(
      BytesTensor("half", DType::kF16, {1}, std::string("\x00\xfc", 2)));
  snapshot.buffers.push_back(BytesTensor("largest half", DType::kF16, {1},
                                         std::string("\xff\x7b", 2)));
  snapshot.buffers.push_back(
      BytesTensor("brain", DType::kBF16, {1}, std::string("\x80\x7f", 2)));
  snapshot.buffers.push_back(BytesTensor(
      "double", DType::kF64, {1}, std::string("\0\0\0\0\0\0\xf0\x7f", 8)));
  snapshot.buffers.push_back(BytesTensor("integer", DType::kI32, {1},
                                         std::string("\xff\xff\xff\x7f", 4)));
  EXPECT_THAT(NonFiniteTensors(RoundTrip(snapshot)),
              ElementsAre("fc.bias", "half", "brain", "double",
                          "fc.weight/exp_avg_sq"));
  EXPECT_THAT(NonFiniteTensors(SmallSnapshot(60)), IsEmpty());
}

}  // namespace
}  // namespace reprise
