#include "conformance/fake/store.h"

#include <cerrno>
#include <string>
#include <vector>

#include "format/io/testing/fault_injecting_file_system.h"
#include "format/io/testing/unsynced_file_system.h"
#include "format/refusal.h"
#include "gtest/gtest.h"

namespace reprise::conformance::fake {
namespace {

State StateAt(uint64_t step, uint32_t micro = 0) {
  State state;
  state.mutable_counters()->set_step(step);
  state.mutable_accumulation()->set_count(micro);
  state.set_run_id("run");
  for (int i = 0; i < 10; ++i) {
    state.add_parameters()->set_name(std::string(1 + i, 'p'));
  }
  return state;
}

// Notes what was told to be durable.
class Noting : public SaveWatch {
 public:
  void At(v1::Point point, const State&) override { points.push_back(point); }
  void Durable(const std::string& checkpoint, const State& state) override {
    acknowledged = state.counters().step();
    identity = checkpoint;
  }
  std::vector<v1::Point> points;
  uint64_t acknowledged = 0;
  std::string identity;
};

std::unique_ptr<FileStore> Opened(FileSystem* files, uint32_t keep_last = 3) {
  auto store = FileStore::Open(files, "/run", keep_last);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

TEST(Store, LoadsTheNewestOfStepsAndMicroSteps) {
  UnsyncedFileSystem files;
  auto store = Opened(&files);
  EXPECT_FALSE((*store->Load()).has_value());
  Noting watch;
  ASSERT_TRUE(store->Commit(StateAt(10), &watch).ok());
  ASSERT_TRUE(store->Commit(StateAt(10, 2), &watch).ok());
  EXPECT_EQ((*store->Load())->checkpoint, watch.identity);
  EXPECT_EQ((*store->Load())->state.accumulation().count(), 2u);
  ASSERT_TRUE(store->Commit(StateAt(11), &watch).ok());
  EXPECT_EQ((*store->Load())->state.counters().step(), 11u);
  EXPECT_EQ(store->Newest(), watch.identity);
}

TEST(Store, TellsEveryHoldPointInOrder) {
  UnsyncedFileSystem files;
  auto store = Opened(&files, 1);
  Noting watch;
  ASSERT_TRUE(store->Commit(StateAt(10), &watch).ok());
  EXPECT_EQ(watch.points,
            (std::vector<v1::Point>{v1::S1, v1::S2, v1::S3, v1::S4, v1::S5,
                                    v1::S6, v1::S7}));
  watch.points.clear();
  ASSERT_TRUE(store->Commit(StateAt(20), &watch).ok());
  EXPECT_EQ(watch.points.back(), v1::S8);  // one was removed
}

TEST(Store, C28_AnAcknowledgedCheckpointSurvivesEveryPowerFailure) {
  UnsyncedFileSystem files;
  auto store = Opened(&files, 2);
  Noting watch;
  uint64_t states = 0, begun = 0;
  files.SetAfterChange([&] {
    states += files.ForEachCrashState([&](UnsyncedFileSystem* survived) {
      auto after = FileStore::Open(survived, "/run", 2);
      EXPECT_TRUE(after.ok()) << after.status();
      if (!after.ok()) return false;
      auto loaded = (*after)->Load();
      EXPECT_TRUE(loaded.ok()) << loaded.status();
      if (!loaded.ok()) return false;
      if (!loaded->has_value()) {
        EXPECT_EQ(watch.acknowledged, 0u);
        return !testing::Test::HasFailure();
      }
      const uint64_t step = (*loaded)->state.counters().step();
      EXPECT_GE(step, watch.acknowledged);
      EXPECT_LE(step, begun);
      EXPECT_EQ((*loaded)->state.parameters_size(), 10);
      return !testing::Test::HasFailure();
    });
  });
  for (begun = 10; begun <= 40; begun += 10) {
    ASSERT_TRUE(store->Commit(StateAt(begun), &watch).ok());
  }
  EXPECT_GT(states, 200u);
}

TEST(Store, C29_AFailedOperationLosesNothingAndTheNextSaveWorks) {
  for (int n = 0;; ++n) {
    UnsyncedFileSystem disk;
    FaultInjectingFileSystem files(&disk);
    auto store = Opened(&files);
    Noting watch;
    ASSERT_TRUE(store->Commit(StateAt(10), &watch).ok());
    files.FailOperation(n, ENOSPC);
    const absl::Status status = store->Commit(StateAt(20), &watch);
    if (!files.injected()) {
      EXPECT_GT(n, 15);
      EXPECT_TRUE(status.ok());
      break;
    }
    files.Reset();
    auto loaded = store->Load();
    ASSERT_TRUE(loaded.ok()) << files.injected_operation();
    EXPECT_GE((*loaded)->state.counters().step(), watch.acknowledged);
    EXPECT_TRUE(store->Commit(StateAt(30), &watch).ok())
        << "after " << files.injected_operation();
    EXPECT_EQ((*store->Load())->state.counters().step(), 30u);
  }
}

TEST(Store, ASecondOneIsRefusedWhileTheFirstLives) {
  UnsyncedFileSystem files;
  auto store = Opened(&files);
  absl::Status status = FileStore::Open(&files, "/run", 3).status();
  EXPECT_EQ(RefusalOf(status), Refusal::LOCKED) << status;
  store.reset();
  EXPECT_TRUE(FileStore::Open(&files, "/run", 3).ok());
}

TEST(Store, WhatLiesBeyondIsPutAsideAndNeverOverwritten) {
  UnsyncedFileSystem files;
  auto store = Opened(&files);
  Noting watch;
  for (int again = 0; again < 2; ++again) {
    for (uint64_t step : {10u, 20u}) {
      if (again == 1 && step == 10) continue;
      ASSERT_TRUE(store->Commit(StateAt(step), &watch).ok());
    }
    State resumed = StateAt(10);
    resumed.set_attempt(2);
    ASSERT_TRUE(store->ResumeFrom(resumed).ok());
    EXPECT_EQ(*store->List(), std::vector<std::string>{"step-000000000010"});
  }
  EXPECT_EQ(files.List("/run/abandoned")->size(), 2u);
}

}  // namespace
}  // namespace reprise::conformance::fake
