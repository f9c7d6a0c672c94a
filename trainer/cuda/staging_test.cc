// What a stager asks of the device, and in which order: over a device of plain
// memory whose streams run only when somebody waits (testing/queued_device.h).
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/cuda/cuda_library.h"
#include "trainer/cuda/testing/queued_copier.h"

namespace reprise::cuda {
namespace {

using ::testing::ElementsAre;

class Staging : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    device_ = TheQueuedDevice();
    ASSERT_NE(device_, nullptr);
  }

  void SetUp() override {
    const auto library = CudaLibrary::Load();
    ASSERT_TRUE(library.ok()) << library.status();
    auto stager = (*library)->MakeStager();
    ASSERT_TRUE(stager.ok()) << stager.status();
    stager_ = *std::move(stager);
    device_->TakeCalls();
  }

  static CudaLibrary::Copy Of(const std::string& bytes) {
    return {bytes.data(), bytes.size()};
  }

  static QueuedDevice* device_;
  std::unique_ptr<CudaLibrary::Stager> stager_;
  std::vector<const char*> host_;
};

QueuedDevice* Staging::device_ = nullptr;

TEST_F(Staging, TakesWhatIsQueuedBeforeAndNothingOfWhatIsQueuedAfter) {
  std::string weights = "zero";
  device_->Compute([&] { weights = "one."; });
  ASSERT_TRUE(stager_->Start({Of(weights)}, nullptr, &host_).ok());
  device_->Compute([&] { weights = "two."; });
  // The caller was not stopped, and nothing is there yet.
  EXPECT_EQ(weights, "zero");
  EXPECT_EQ(device_->CopiesUnderWay(), 1);
  ASSERT_TRUE(stager_->Wait().ok());
  EXPECT_EQ(std::string(host_[0], 4), "one.");
  device_->RunCompute();
  EXPECT_EQ(weights, "two.");
}

TEST_F(Staging, LaterWorkOfTheComputeStreamWaitsForTheCopies) {
  std::string weights = "old";
  ASSERT_TRUE(stager_->Start({Of(weights)}, nullptr, &host_).ok());
  device_->Compute([&] { weights = "new"; });
  // The device is ahead of the host.
  device_->RunCompute();
  EXPECT_EQ(weights, "new");
  ASSERT_TRUE(stager_->Wait().ok());
  EXPECT_EQ(std::string(host_[0], 3), "old");
}

TEST_F(Staging, ThousandsOfTensorsAreOneCallAndEachHasItsPlace) {
  std::vector<std::string> tensors;
  std::vector<CudaLibrary::Copy> copies;
  for (int i = 0; i < 3000; ++i) {
    tensors.push_back(std::string(i % 700, static_cast<char>('a' + i % 26)));
  }
  for (const std::string& tensor : tensors) copies.push_back(Of(tensor));
  ASSERT_TRUE(stager_->Start(copies, nullptr, &host_).ok());
  EXPECT_THAT(device_->TakeCalls(),
              ElementsAre("reserve", "begin", "copy", "fence"));
  ASSERT_TRUE(stager_->Wait().ok());
  ASSERT_EQ(host_.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(std::memcmp(host_[i], tensors[i].data(), tensors[i].size()), 0)
        << "tensor " << i;
  }
}

TEST_F(Staging, NothingToCopyIsNoError) {
  ASSERT_TRUE(stager_->Start({}, nullptr, &host_).ok());
  EXPECT_TRUE(host_.empty());
  ASSERT_TRUE(stager_->Start({{nullptr, 0}}, nullptr, &host_).ok());
  EXPECT_EQ(host_.size(), 1u);
  EXPECT_EQ(device_->CopiesUnderWay(), 0);
  EXPECT_TRUE(stager_->Wait().ok());
}

TEST_F(Staging, AFailureNamesItsFirstCauseAndLeavesNoCopyUnderWay) {
  const std::vector<std::string> tensors = {"some", "more"};
  for (const char* call : {"reserve", "begin", "copy", "fence"}) {
    device_->Fail(call);
    const absl::Status status =
        stager_->Start({Of(tensors[0]), Of(tensors[1])}, nullptr, &host_);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << call;
    EXPECT_TRUE(absl::StrContains(status.message(), "CUDA error 700"))
        << status;
    EXPECT_EQ(device_->CopiesUnderWay(), 0) << call;
    // The next one is none the worse.
    ASSERT_TRUE(stager_->Start({Of(tensors[1])}, nullptr, &host_).ok());
    ASSERT_TRUE(stager_->Wait().ok());
    EXPECT_EQ(std::string(host_[0], 4), "more");
  }
}

TEST_F(Staging, AnErrorOfTheCopyItselfComesAtTheWait) {
  const std::string tensor = "some";
  ASSERT_TRUE(stager_->Start({Of(tensor)}, nullptr, &host_).ok());
  device_->Fail("wait");
  const absl::Status status = stager_->Wait();
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "copy to the host: CUDA error 700: an illegal "
                                "memory access"))
      << status;
}

}  // namespace
}  // namespace reprise::cuda
