// Snapshots that are copied behind training, over a device of plain memory
// whose streams are queues: what is queued before Start is in them, what is
// queued after is not.
#include "trainer/checkpoint/staged_tensors.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>

#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "format/snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/cuda/testing/queued_copier.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;

std::string BytesOf(const Tensor& tensor) {
  std::string bytes(tensor.num_bytes(), '?');
  const absl::Status status = tensor.CopyBytes(0, bytes.size(), bytes.data());
  EXPECT_TRUE(status.ok()) << status;
  return bytes;
}

std::string BytesOf(const at::Tensor& tensor) {
  return BytesOf(ViewOf("", tensor));
}

class StagedTensorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = cuda::TheQueuedDevice();
    ASSERT_NE(device_, nullptr);
    copier_ = cuda::MakeQueuedCopier();
    ASSERT_NE(copier_, nullptr);
    device_->TakeCalls();
  }

  cuda::QueuedDevice* device_ = nullptr;
  std::shared_ptr<cuda::HostCopier> copier_;
};

TEST_F(StagedTensorsTest, HoldTheStepThatWasQueuedAndNotTheNext) {
  at::Tensor weights = at::full({4}, 0.f);
  device_->Compute([&] { weights.fill_(1); });
  StagedTensors staged(copier_);
  const Tensor saved = staged.View()("w", weights);
  EXPECT_THAT(device_->TakeCalls(), ElementsAre());
  ASSERT_TRUE(staged.Start().ok());
  device_->Compute([&] { weights.fill_(2); });
  // The caller is past it, and no byte has been copied.
  EXPECT_EQ(device_->CopiesUnderWay(), 1);
  EXPECT_THAT(device_->TakeCalls(),
              ElementsAre("reserve", "begin", "copy", "fence"));
  EXPECT_EQ(BytesOf(saved), BytesOf(at::full({4}, 1.f)));
  EXPECT_THAT(device_->TakeCalls(), ElementsAre("wait"));
  device_->RunCompute();
  EXPECT_EQ(BytesOf(weights), BytesOf(at::full({4}, 2.f)));
  // Waited for once, and the bytes stay.
  EXPECT_EQ(BytesOf(saved), BytesOf(at::full({4}, 1.f)));
  EXPECT_THAT(device_->TakeCalls(), ElementsAre());
}

TEST_F(StagedTensorsTest, ManyReadersWaitOnceAndTheCallerNever) {
  std::vector<at::Tensor> tensors;
  std::vector<Tensor> saved;
  StagedTensors staged(copier_);
  const ViewFunction view = staged.View();
  for (int i = 0; i < 1000; ++i) {
    tensors.push_back(at::full({i % 7 + 1}, static_cast<float>(i)));
    saved.push_back(view("t", tensors.back()));
  }
  absl::Notification go_on;
  device_->BeforeWait(
      [&] { go_on.WaitForNotificationWithTimeout(absl::Seconds(20)); });
  ASSERT_TRUE(staged.Start().ok());
  std::vector<std::string> read(tensors.size());
  std::vector<std::thread> readers;
  for (size_t r = 0; r < 4; ++r) {
    readers.emplace_back([&, r] {
      for (size_t i = r; i < saved.size(); i += 4) read[i] = BytesOf(saved[i]);
    });
  }
  // The next step, with all of them still waiting.
  device_->Compute([&] {
    for (at::Tensor& tensor : tensors) tensor.fill_(-1);
  });
  go_on.Notify();
  for (std::thread& reader : readers) reader.join();
  device_->RunCompute();
  EXPECT_THAT(device_->TakeCalls(),
              ElementsAre("reserve", "begin", "copy", "fence", "wait"));
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i],
              BytesOf(at::full({int64_t(i % 7 + 1)}, static_cast<float>(i))))
        << i;
    EXPECT_EQ(BytesOf(tensors[i])[3], '\xbf');  // -1
  }
}

TEST_F(StagedTensorsTest, AreTheTensorsThatPlainCopiesGive) {
  const at::Tensor whole = at::rand({6, 8});
  const std::vector<std::pair<std::string, at::Tensor>> cases = {
      {"plain", at::rand({3, 5})},
      {"scalar", at::full({}, 3.f)},
      {"empty", at::empty({0, 4})},
      {"transposed", at::rand({3, 5}).t()},
      {"channels last",
       at::rand({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast)},
      {"with gaps", whole.slice(1, 2, 5)},
      {"whole numbers", at::arange(10)},
      {"half", at::rand({9}).to(at::kHalf)},
      {"inside a storage", whole.slice(0, 3, 5)},
      {"learns", at::rand({4}).requires_grad_()},
  };
  StagedTensors staged(copier_);
  const ViewFunction view = staged.View();
  std::vector<Tensor> saved;
  for (const auto& [name, tensor] : cases) saved.push_back(view(name, tensor));
  ASSERT_TRUE(staged.Start().ok());
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& [name, tensor] = cases[i];
    const Tensor plain = ViewOf(name, tensor);
    EXPECT_EQ(saved[i].name(), plain.name());
    EXPECT_EQ(saved[i].dtype(), plain.dtype()) << name;
    EXPECT_EQ(saved[i].shape(), plain.shape()) << name;
    EXPECT_EQ(saved[i].DimensionOrder(), plain.DimensionOrder()) << name;
    EXPECT_EQ(BytesOf(saved[i]), BytesOf(plain)) << name;
  }
}

TEST_F(StagedTensorsTest, TiedTensorsAreCopiedOnceAndSeenToBeOne) {
  const at::Tensor embedding = at::rand({5, 4});
  StagedTensors staged(copier_);
  const ViewFunction view = staged.View();
  const Tensor in = view("embed.weight", embedding);
  const Tensor out = view("head.weight", embedding);
  const Tensor other = view("other", at::rand({5, 4}));
  ASSERT_TRUE(staged.Start().ok());
  EXPECT_EQ(device_->CopiesUnderWay(), 2);
  EXPECT_EQ(in.storage()->id, out.storage()->id);
  EXPECT_EQ(in.storage()->offset, out.storage()->offset);
  EXPECT_NE(in.storage()->id, other.storage()->id);
  EXPECT_EQ(BytesOf(in), BytesOf(out));
}

TEST_F(StagedTensorsTest, MemoryOfATensorThatTheRunDropsStaysUntilItIsCopied) {
  auto gradient = std::make_unique<at::Tensor>(at::full({1000}, 5.f));
  StagedTensors staged(copier_);
  const Tensor saved = staged.View()("g", gradient->detach());
  const c10::weak_intrusive_ptr<c10::StorageImpl> storage(
      gradient->storage().getWeakStorageImpl());
  ASSERT_TRUE(staged.Start().ok());
  gradient.reset();
  EXPECT_FALSE(storage.expired());
  EXPECT_EQ(BytesOf(saved), BytesOf(at::full({1000}, 5.f)));
  EXPECT_TRUE(storage.expired());
}

TEST_F(StagedTensorsTest, BytesAreRefusedBeforeStartAndAfterAnErrorByItsCause) {
  const at::Tensor tensor = at::rand({4});
  {
    StagedTensors staged(copier_);
    const Tensor saved = staged.View()("w", tensor);
    char bytes[16];
    EXPECT_FALSE(saved.CopyBytes(0, 16, bytes).ok());
    device_->Fail("copy");
    EXPECT_FALSE(staged.Start().ok());
    EXPECT_TRUE(absl::StrContains(saved.CopyBytes(0, 16, bytes).message(),
                                  "CUDA error 700"));
  }
  StagedTensors staged(copier_);
  const Tensor saved = staged.View()("w", tensor);
  ASSERT_TRUE(staged.Start().ok());
  device_->Fail("wait");
  char bytes[16];
  // To every reader, not only to the one that waited.
  for (int reader = 0; reader < 2; ++reader) {
    EXPECT_TRUE(absl::StrContains(saved.CopyBytes(0, 16, bytes).message(),
                                  "CUDA error 700"));
  }
}

TEST_F(StagedTensorsTest, WhatNobodyReadsIsWaitedForBeforeItsMemoryIsReused) {
  const at::Tensor tensor = at::rand({4});
  {
    StagedTensors staged(copier_);
    (void)staged.View()("w", tensor);
    ASSERT_TRUE(staged.Start().ok());
    EXPECT_EQ(device_->CopiesUnderWay(), 1);
  }
  EXPECT_EQ(device_->CopiesUnderWay(), 0);
}

TEST_F(StagedTensorsTest, SayWhetherEveryElementIsFinite) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const at::ScalarType type :
       {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
    for (const float value : {inf, -inf, nan}) {
      StagedTensors staged(copier_);
      const ViewFunction view = staged.View();
      // Sums of these overflow in their own type.
      (void)view("large", at::full({1000}, 60000).to(type));
      (void)view("counter", at::arange(3));
      EXPECT_TRUE(staged.AllFinite()) << at::toString(type);
      at::Tensor hidden = at::rand({300}).to(type);
      hidden[299].fill_(value);
      (void)view("hidden", hidden);
      (void)view("opposite", at::full({1}, -value).to(type));
      EXPECT_FALSE(staged.AllFinite()) << at::toString(type) << " " << value;
    }
  }
}

}  // namespace
}  // namespace reprise
