// Saves of a run on a device, over one of plain memory whose streams are queues
// (trainer/cuda/testing/queued_device.h): the whole way from the live state to
// the checkpoint on the disk.
#include "trainer/saver.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones_like.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "format/read_checkpoint.h"
#include "format/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/config/config.h"
#include "trainer/cuda/testing/queued_copier.h"
#include "trainer/data/fingerprint.h"
#include "trainer/data/synthetic.h"
#include "trainer/device/environment.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class SaverOnADevice : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = cuda::TheQueuedDevice();
    ASSERT_NE(device_, nullptr);
    TrainerConfig given;
    for (const auto& [path, value] :
         std::vector<std::pair<std::string, std::string>>{
             {"model.kind", "mlp"},
             {"model.hidden", "8"},
             {"data.batch_size", "16"},
             {"data.name", "synthetic"},
             {"ema.decay", "0.9"},
             {"save.background", "true"}}) {
      ASSERT_TRUE(SetField(&given, path, value).ok()) << path;
    }
    config_ = Resolve(given);
    MakeSyntheticOptions options;
    options.size = 64;
    data_ = MakeSynthetic(options);
    schedule_ = *MakeSchedule(config_, data_);
    auto state = MakeTrainState(config_, data_, at::kCPU);
    ASSERT_TRUE(state.ok()) << state.status();
    state_ = *std::move(state);

    folder_ = FreshFolder("run", /*create=*/true);
    CheckpointStore::Options store;
    store.format_major = kV2Major;
    auto opened = CheckpointStore::Open(folder_, store);
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    auto metrics = MetricsLog::OpenForResume(folder_, 0);
    ASSERT_TRUE(metrics.ok()) << metrics.status();
    metrics_ = std::make_unique<MetricsLog>(*std::move(metrics));
    Progress::Surroundings surroundings;
    surroundings.width = [] { return 80; };
    surroundings.now = [] { return 0.0; };
    surroundings.write = [this](absl::string_view text) {
      absl::StrAppend(&output_, text);
    };
    progress_ = std::make_unique<Progress>(100, 100, surroundings);

    RunInfo run;
    run.run_id = std::string(32, 'a');
    run.config = Flatten(config_);
    run.architecture = "mlp";
    run.fingerprint = FingerprintOf(data_);
    run.environment =
        DescribeEnvironment(at::kCPU, AutocastDType(config_.precision()));
    Saver::Parts parts{&config_.save(), &*schedule_, run,     store_.get(),
                       metrics_.get(),  &*progress_, &watch_, &budget_,
                       std::nullopt,    ""};
    parts.copier = cuda::MakeQueuedCopier();
    ASSERT_NE(parts.copier, nullptr);
    saver_ = std::make_unique<Saver>(std::move(parts));
    device_->TakeCalls();
  }

  // One step; every parameter becomes `value` when the device comes to it.
  void Step(float value) {
    for (const NamedTensor& p : state_->model->Parameters()) {
      p.tensor.mutable_grad() = at::ones_like(p.tensor);
    }
    state_->optimizer->Step();
    device_->Compute([this, value] {
      const at::NoGradGuard no_grad;
      for (const NamedTensor& p : state_->model->Parameters()) {
        p.tensor.detach().fill_(value);
      }
    });
    ++state_->attempted;
    ++state_->applied;
  }

  void Save(bool wait) {
    const absl::Status status = saver_->Save(*state_, wait);
    ASSERT_TRUE(status.ok()) << status;
  }

  // What the parameters of the checkpoint of `step` all are.
  void ExpectSaved(uint64_t step, float value) {
    const auto read =
        ReadCheckpoint(absl::StrCat(folder_, "/", CheckpointName(step)));
    ASSERT_TRUE(read.ok()) << read.status();
    for (const Tensor& tensor : read->snapshot.parameters) {
      const float* elements = static_cast<const float*>(tensor.data());
      for (int64_t i = 0; i < tensor.num_elements(); ++i) {
        ASSERT_EQ(elements[i], value) << tensor.name() << " " << i;
      }
    }
  }

  // Notes the order of what happens.
  struct Watch : public TrainObserver {
    void OnSaveBegin(const Snapshot& state) override {
      events.push_back(absl::StrCat("begin ", state.step));
    }
    void OnSaveEnd(uint64_t step, uint32_t,
                   const absl::StatusOr<std::string>& digest) override {
      events.push_back(absl::StrCat(digest.ok() ? "end " : "failed ", step));
    }
    std::vector<std::string> events;
  };

  cuda::QueuedDevice* device_ = nullptr;
  TrainerConfig config_;
  Dataset data_;
  std::optional<Schedule> schedule_;
  std::optional<TrainState> state_;
  std::string folder_;
  std::string output_;
  Watch watch_;
  TimeBudget budget_;
  std::unique_ptr<CheckpointStore> store_;
  std::unique_ptr<MetricsLog> metrics_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<Saver> saver_;
};

TEST_F(SaverOnADevice, ASaveBehindReturnsBeforeAByteIsCopiedAndHoldsItsStep) {
  Step(1);
  absl::Notification go_on;
  device_->BeforeWait(
      [&] { go_on.WaitForNotificationWithTimeout(absl::Seconds(20)); });
  Save(/*wait=*/false);
  // Training goes on while the writer waits for the device.
  EXPECT_GT(device_->CopiesUnderWay(), 0);
  EXPECT_TRUE(store_->IsSaving());
  Step(2);
  ASSERT_TRUE(saver_->Poll().ok());
  EXPECT_THAT(watch_.events, ElementsAre("begin 1"));
  go_on.Notify();
  Save(/*wait=*/true);
  EXPECT_THAT(watch_.events,
              ElementsAre("begin 1", "end 1", "begin 2", "end 2"));
  ExpectSaved(1, 1);
  ExpectSaved(2, 2);
}

TEST_F(SaverOnADevice, TheNextSaveWaitsUntilThePinnedMemoryIsFree) {
  for (int step = 1; step <= 5; ++step) {
    Step(static_cast<float>(step));
    Save(/*wait=*/false);
  }
  Step(6);
  Save(/*wait=*/true);
  // Each one was waited for before the next was begun.
  std::vector<std::string> expected;
  for (int save = 0; save < 6; ++save) {
    for (const char* call : {"reserve", "begin", "copy", "fence", "wait"}) {
      expected.push_back(call);
    }
  }
  EXPECT_EQ(device_->TakeCalls(), expected);
  for (int step = 4; step <= 6; ++step) ExpectSaved(step, step);
}

TEST_F(SaverOnADevice, TheCheckpointIsTheOneThatPlainCopiesGive) {
  Step(1);
  device_->RunCompute();
  state_->ema->Update();
  const Snapshot plain = saver_->Capture(*state_);
  Save(/*wait=*/true);
  EXPECT_THAT(device_->TakeCalls(),
              ElementsAre("reserve", "begin", "copy", "fence", "wait"));
  const auto read =
      ReadCheckpoint(absl::StrCat(folder_, "/", CheckpointName(1)));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_FALSE(plain.ema_weights.empty());
  const std::vector<
      std::pair<const std::vector<Tensor>*, const std::vector<Tensor>*>>
      lists = {{&plain.parameters, &read->snapshot.parameters},
               {&plain.buffers, &read->snapshot.buffers},
               {&plain.ema_weights, &read->snapshot.ema_weights}};
  for (const auto& [expected, found] : lists) {
    ASSERT_EQ(expected->size(), found->size());
    for (const Tensor& e : *expected) {
      for (const Tensor& f : *found) {
        if (f.name() != e.name()) continue;
        EXPECT_EQ(f.bytes(), e.bytes()) << e.name();
      }
    }
  }
}

TEST_F(SaverOnADevice, AnErrorOfTheDeviceComesAtTheNextBoundaryWithItsCause) {
  Step(1);
  device_->Fail("wait");
  Save(/*wait=*/false);
  while (store_->IsSaving()) std::this_thread::yield();
  const absl::Status late = saver_->Poll();
  EXPECT_THAT(std::string(late.message()), HasSubstr("save of step 1"));
  EXPECT_THAT(std::string(late.message()), HasSubstr("CUDA error 700"));
  EXPECT_THAT(watch_.events, ElementsAre("begin 1", "failed 1"));
  EXPECT_EQ(store_->List()->size(), 0u);
  // The same step again, from the same state.
  Save(/*wait=*/true);
  ExpectSaved(1, 1);
}

TEST_F(SaverOnADevice, WithoutPinnedMemoryThereArePlainCopiesAndOneLineSaysIt) {
  device_->Fail("reserve");
  for (int step = 1; step <= 3; ++step) {
    Step(static_cast<float>(step));
    device_->RunCompute();
    Save(/*wait=*/false);
  }
  Save(/*wait=*/true);
  for (int step = 1; step <= 3; ++step) ExpectSaved(step, step);
  EXPECT_THAT(device_->TakeCalls(), ElementsAre("reserve"));
  EXPECT_THAT(output_, HasSubstr("plain copies from here on"));
  EXPECT_EQ(output_.find("plain copies"), output_.rfind("plain copies"));
}

TEST_F(SaverOnADevice, AStateThatIsNotFiniteIsNamedMarkedAndSavedAtOnce) {
  Step(1);
  device_->RunCompute();
  {
    const at::NoGradGuard no_grad;
    state_->model->Parameters()[0].tensor.detach().flatten()[0].fill_(
        std::numeric_limits<float>::quiet_NaN());
  }
  Save(/*wait=*/false);
  EXPECT_THAT(watch_.events, ElementsAre("begin 1", "end 1"));
  EXPECT_THAT(std::string(saver_->CheckFinite().message()),
              HasSubstr(state_->model->Parameters()[0].name));
  EXPECT_THAT(device_->TakeCalls(), Not(testing::Contains("copy")));
}

}  // namespace
}  // namespace reprise
