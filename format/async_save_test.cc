// Saves that are written while training goes on.
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "format/checkpoint_store.h"
#include "format/io/io_error.h"
#include "format/io/testing/fault_injecting_file_system.h"
#include "format/io/testing/forwarding_file_system.h"
#include "format/io/testing/unsynced_file_system.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "format/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Tensors = AsyncSaveOptions::Tensors;
using WhenBusy = AsyncSaveOptions::WhenBusy;

constexpr char kRun[] = "/data/run";
// More operations than a save makes.
constexpr int kMany = 400;

// A disk at which every write waits while it is stopped.
class SlowDisk : public ForwardingFileSystem {
 public:
  using ForwardingFileSystem::ForwardingFileSystem;

  void Stop() {
    std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  void GoOn() {
    std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = false;
    changed_.notify_all();
  }
  // Waits until a write is waiting.
  void AwaitWrite() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return waiting_; });
  }

  absl::Status Before(const Operation& operation) override {
    if (operation.name != "WriteAt") return absl::OkStatus();
    std::unique_lock<std::mutex> lock(mutex_);
    waiting_ = stopped_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !stopped_; });
    waiting_ = false;
    return absl::OkStatus();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  bool waiting_ = false;
};

AsyncSaveOptions Behind(Tensors tensors = Tensors::kCopied,
                        WhenBusy when_busy = WhenBusy::kWait) {
  AsyncSaveOptions options;
  options.tensors = tensors;
  options.when_busy = when_busy;
  return options;
}

std::unique_ptr<CheckpointStore> OpenIn(const std::string& run,
                                        FileSystem* files, uint32_t major = 2,
                                        int keep_last = 3) {
  CheckpointStore::Options options;
  options.file_system = files;
  options.format_major = major;
  options.keep_last = keep_last;
  options.threads = 1;
  options.shard_bytes = 300;
  auto store = CheckpointStore::Open(run, options);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

std::string Name(uint64_t step) { return absl::StrFormat("step-%012d", step); }

// FullSnapshot in the format that can hold it, else SmallSnapshot.
Snapshot SnapshotFor(uint32_t major, uint64_t step) {
  return major == kV1Major ? SmallSnapshot(step) : FullSnapshot(step);
}

class AsyncSaveTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override { run_ = JoinPath(FreshTestFolder(), "run"); }

  std::unique_ptr<CheckpointStore> Open(int keep_last = 3) {
    return OpenIn(run_, &disk_, GetParam(), keep_last);
  }
  Snapshot At(uint64_t step) { return SnapshotFor(GetParam(), step); }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    auto entries = FileSystem::Real()->List(run_);
    EXPECT_TRUE(entries.ok()) << entries.status();
    for (const FolderEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }

  std::string run_;
  SlowDisk disk_{FileSystem::Real()};
};

INSTANTIATE_TEST_SUITE_P(Majors, AsyncSaveTest, ::testing::Values(1, 2));

// Rules: COMMIT-9
TEST_P(AsyncSaveTest, C31_FileHoldsTheStepAtWhichTheSaveBegan) {
  auto store = Open();
  // Live weights, which training changes in place.
  Snapshot snapshot = At(60);
  const Tensor original = snapshot.parameters[0];
  std::vector<float> live(original.num_elements(), 60.0f);
  snapshot.parameters[0] = Tensor::View(original.name(), original.dtype(),
                                        original.shape(), live.data());
  if (GetParam() == kV2Major) {
    // Tied to nothing, stepped through a master.
    snapshot.masters.clear();
    snapshot.MarkNotApplicable(Item::MASTER, "no master weights");
  }
  disk_.Stop();
  auto started = store->SaveAsync(snapshot, Behind());
  ASSERT_TRUE(started.ok()) << started.status();
  EXPECT_EQ(*started, SaveStarted::kStarted);
  for (int step = 61; step < 70; ++step) {
    for (float& weight : live) weight = step;
    snapshot.step = step;
  }
  EXPECT_TRUE(store->IsSaving());
  EXPECT_THAT(store->TakeCommitted(), IsEmpty());
  EXPECT_THAT(store->TakeNotices(), IsEmpty());
  disk_.GoOn();
  ASSERT_TRUE(store->Wait().ok());
  EXPECT_FALSE(store->IsSaving());
  auto loaded = ReadCheckpoint(JoinPath(run_, Name(60)));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->snapshot.step, 60u);
  for (const Tensor& tensor : loaded->snapshot.parameters) {
    if (tensor.name() != original.name()) continue;
    const float* values = static_cast<const float*>(tensor.data());
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      ASSERT_EQ(values[i], 60.0f) << i;
    }
  }
  auto committed = store->TakeCommitted();
  ASSERT_EQ(committed.size(), 1u);
  EXPECT_EQ(committed[0].name, Name(60));
  EXPECT_EQ(committed[0].step, 60u);
  EXPECT_EQ(committed[0].manifest_digest, loaded->manifest_digest);
  // Version 1 itself has none.
  EXPECT_EQ(committed[0].value_digest,
            GetParam() == 1 ? "" : loaded->value_digest);
  EXPECT_GT(committed[0].seconds, 0);
  EXPECT_THAT(store->TakeCommitted(), IsEmpty());
}

TEST_P(AsyncSaveTest, FilesAreThoseOfASaveInTheForeground) {
  auto store = Open();
  for (Tensors tensors : {Tensors::kCopied, Tensors::kHandedOver}) {
    auto digest = store->Save(At(60));
    ASSERT_TRUE(digest.ok()) << digest.status();
    ASSERT_TRUE(store->AbandonAll(1 + static_cast<int>(tensors), {}).ok());
    auto started = store->SaveAsync(At(60), Behind(tensors));
    ASSERT_TRUE(started.ok()) << started.status();
    ASSERT_TRUE(store->Wait().ok());
    EXPECT_EQ(store->TakeCommitted()[0].manifest_digest, *digest);
    absl::Status whole = VerifyCheckpoint(JoinPath(run_, Name(60)));
    EXPECT_TRUE(whole.ok()) << whole;
    ASSERT_TRUE(store->AbandonAll(3 + static_cast<int>(tensors), {}).ok());
  }
}

TEST_P(AsyncSaveTest, C31_SecondSaveWaitsOrIsSkippedAsAsked) {
  auto store = Open();
  disk_.Stop();
  ASSERT_TRUE(store->SaveAsync(At(60), Behind()).ok());
  auto skipped =
      store->SaveAsync(At(70), Behind(Tensors::kCopied, WhenBusy::kSkip));
  ASSERT_TRUE(skipped.ok()) << skipped.status();
  EXPECT_EQ(*skipped, SaveStarted::kSkipped);
  std::thread later([&] {
    disk_.AwaitWrite();
    disk_.GoOn();
  });
  auto waited = store->SaveAsync(At(80), Behind());
  later.join();
  ASSERT_TRUE(waited.ok()) << waited.status();
  EXPECT_EQ(*waited, SaveStarted::kStarted);
  ASSERT_TRUE(store->Wait().ok());
  EXPECT_THAT(*store->List(), ElementsAre(60, 80));
  auto committed = store->TakeCommitted();
  ASSERT_EQ(committed.size(), 2u);
  EXPECT_EQ(committed[0].step, 60u);
  EXPECT_EQ(committed[1].step, 80u);
  // Nothing in the way: not skipped.
  auto third =
      store->SaveAsync(At(90), Behind(Tensors::kCopied, WhenBusy::kSkip));
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(*third, SaveStarted::kStarted);
}

TEST_P(AsyncSaveTest, WhatCanBeRefusedIsRefusedAtOnceAndNothingIsWritten) {
  auto store = Open();
  Snapshot snapshot = At(60);
  snapshot.scaler->scale = 0;
  auto started = store->SaveAsync(snapshot, Behind());
  EXPECT_EQ(RefusalOf(started.status()), Refusal::INVALID_VALUE);
  EXPECT_FALSE(store->IsSaving());
  EXPECT_THAT(Names(), ElementsAre("lock"));
  ASSERT_TRUE(store->SaveAsync(At(60), Behind()).ok());
  auto again = store->SaveAsync(At(60), Behind());
  EXPECT_EQ(RefusalOf(again.status()), Refusal::INVALID_VALUE);
  EXPECT_THAT(std::string(again.status().message()),
              HasSubstr("there already"));
  EXPECT_TRUE(store->Wait().ok());
}

TEST_P(AsyncSaveTest, PruneBehindFollowsTheCommit) {
  auto store = Open(/*keep_last=*/2);
  AsyncSaveOptions options = Behind();
  options.prune = true;
  for (uint64_t step : {10, 20, 30, 40}) {
    ASSERT_TRUE(store->SaveAsync(At(step), options).ok());
  }
  ASSERT_TRUE(store->Wait().ok());
  EXPECT_THAT(*store->List(), ElementsAre(30, 40));
  auto committed = store->TakeCommitted();
  ASSERT_EQ(committed.size(), 4u);
  EXPECT_THAT(committed[1].pruned, IsEmpty());
  EXPECT_THAT(committed[2].pruned, ElementsAre(Name(10)));
  EXPECT_THAT(committed[3].pruned, ElementsAre(Name(20)));
}

TEST_P(AsyncSaveTest, PruneInTheForegroundWaitsForTheSave) {
  auto store = Open(/*keep_last=*/1);
  ASSERT_TRUE(store->Save(At(10)).ok());
  disk_.Stop();
  ASSERT_TRUE(store->SaveAsync(At(20), Behind()).ok());
  std::thread later([&] {
    disk_.AwaitWrite();
    disk_.GoOn();
  });
  auto removed = store->Prune();
  later.join();
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_THAT(*removed, ElementsAre(Name(10)));
  EXPECT_THAT(*store->List(), ElementsAre(20));
}

TEST_P(AsyncSaveTest, CloseWaitsAndReleasesTheLock) {
  auto store = Open();
  ASSERT_TRUE(store->SaveAsync(At(60), Behind()).ok());
  ASSERT_TRUE(store->Close().ok());
  EXPECT_EQ(store->TakeCommitted().size(), 1u);
  auto next = Open();
  ASSERT_NE(next, nullptr);
  EXPECT_THAT(*next->List(), ElementsAre(60));
  // So does the destructor.
  ASSERT_TRUE(next->SaveAsync(At(70), Behind()).ok());
  next.reset();
  auto last = Open();
  ASSERT_NE(last, nullptr);
  EXPECT_THAT(*last->List(), ElementsAre(60, 70));
}

TEST_P(AsyncSaveTest, C29_LateErrorIsToldOnceByTheNextCallAndTheRunIsAsBefore) {
  FaultInjectingFileSystem faulty(FileSystem::Real());
  auto store = OpenIn(run_, &faulty, GetParam());
  ASSERT_TRUE(store->Save(At(10)).ok());
  using Call = std::function<absl::Status()>;
  uint64_t step = 20;
  const std::vector<std::pair<std::string, Call>> calls = {
      {"Wait", [&] { return store->Wait(); }},
      {"Save", [&] { return store->Save(At(step)).status(); }},
      {"SaveAsync",
       [&] { return store->SaveAsync(At(step), Behind()).status(); }},
      {"Prune", [&] { return store->Prune().status(); }},
      {"BeginShared", [&] { return store->BeginShared(step, 0).status(); }},
      {"Close", [&] { return store->Close(); }},
  };
  for (const auto& [name, call] : calls) {
    const std::vector<std::string> before = Names();
    // Listing comes first, in the foreground; then the folder.
    faulty.FailOperation(3, ENOSPC);
    ASSERT_TRUE(store->SaveAsync(At(step), Behind()).ok()) << name;
    // Looking does not take the error away.
    EXPECT_TRUE(store->List().ok());
    EXPECT_TRUE(store->NewestVerified().ok());
    ASSERT_TRUE(faulty.injected());
    absl::Status status = call();
    EXPECT_EQ(ErrnoOf(status), ENOSPC) << name << ": " << status;
    EXPECT_EQ(RefusalOf(status), Refusal::IO) << name;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("background save of step ", step)))
        << name;
    faulty.Reset();
    EXPECT_EQ(Names(), before) << name;
    EXPECT_THAT(store->TakeCommitted(), IsEmpty()) << name;
    if (name == "Close") break;
    EXPECT_TRUE(store->Wait().ok()) << name << ": told twice";
    ASSERT_TRUE(store->SaveAsync(At(step), Behind()).ok()) << name;
    ASSERT_TRUE(store->Wait().ok()) << name;
    EXPECT_EQ(store->TakeCommitted().size(), 1u) << name;
    step += 10;
  }
}

// A process that is killed while a save waits for the disk.
TEST_P(AsyncSaveTest, C27_KillWhileASaveIsWrittenLeavesTheOneBefore) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto store = Open();
    if (!store->Save(At(10)).ok()) _exit(1);
    disk_.Stop();
    if (!store->SaveAsync(At(20), Behind()).ok()) _exit(2);
    disk_.AwaitWrite();
    if (write(ready[1], "r", 1) != 1) _exit(3);
    pause();
    _exit(4);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_THAT(Names(), testing::Contains(absl::StrCat(".tmp-", Name(20))));
  ASSERT_EQ(kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  close(ready[0]);
  close(ready[1]);
  auto store = Open();
  auto found = store->NewestVerified();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->checkpoint->snapshot.step, 10u);
  EXPECT_THAT(found->passed_over, IsEmpty());
  EXPECT_THAT(Names(), ElementsAre("latest", "lock", Name(10)));
}

// Every operation of a save behind fails once.
TEST_P(AsyncSaveTest, C29_EveryFailedOperationLeavesTheRunAsItWas) {
  int failed = 0;
  for (int n = 0; n < kMany; ++n) {
    UnsyncedFileSystem memory;
    FaultInjectingFileSystem faulty(&memory);
    auto store = OpenIn(kRun, &faulty, GetParam());
    ASSERT_TRUE(store->Save(At(10)).ok());
    auto before = *memory.List(kRun);
    faulty.FailOperation(n, EIO);
    absl::Status status = store->SaveAsync(At(20), Behind()).status();
    status.Update(store->Wait());
    if (!faulty.injected()) {
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_GT(n, 9);
      break;
    }
    const std::string hit = faulty.injected_operation();
    faulty.Reset();
    if (status.ok()) {
      EXPECT_THAT(store->TakeNotices(), ElementsAre(HasSubstr("latest")))
          << hit;
      EXPECT_EQ(store->TakeCommitted().size(), 1u) << hit;
      continue;
    }
    ++failed;
    EXPECT_EQ(ErrnoOf(status), EIO) << hit;
    EXPECT_THAT(store->TakeCommitted(), IsEmpty()) << hit;
    auto after = *memory.List(kRun);
    ASSERT_EQ(after.size(), before.size()) << hit;
    ASSERT_TRUE(store->SaveAsync(At(20), Behind()).ok()) << hit;
    ASSERT_TRUE(store->Wait().ok()) << hit;
    auto found = store->NewestVerified();
    ASSERT_TRUE(found.ok()) << hit;
    EXPECT_EQ(found->checkpoint->snapshot.step, 20u) << hit;
  }
  EXPECT_GE(failed, 9);
}

// What a power failure at any moment of a save behind may leave.
TEST(AsyncCrashTest, C28_SaveBehindLeavesThePreviousOrTheNewCheckpoint) {
  UnsyncedFileSystem files;
  Snapshot snapshot = SmallestSnapshotV2();
  auto at = [&](uint64_t step) {
    snapshot.step = step;
    for (ItemRecord& record : snapshot.inventory) record.as_of_step = step;
    return snapshot;
  };
  auto store = OpenIn(kRun, &files);
  ASSERT_TRUE(store->Save(at(10)).ok());
  std::set<uint64_t> during;
  uint64_t states = 0;
  // On the store's thread, while this one waits.
  files.SetAfterChange([&] {
    if (HasFailure()) return;
    states += files.ForEachCrashState([&](UnsyncedFileSystem* survived) {
      auto again = OpenIn(kRun, survived);
      auto found = again->NewestVerified();
      EXPECT_TRUE(found.ok()) << found.status();
      if (!found.ok()) return false;
      EXPECT_THAT(found->passed_over, IsEmpty());
      EXPECT_TRUE(found->checkpoint.has_value());
      if (!found->checkpoint.has_value()) return false;
      during.insert(found->checkpoint->snapshot.step);
      return !HasFailure();
    });
  });
  ASSERT_TRUE(store->SaveAsync(at(20), Behind()).ok());
  ASSERT_TRUE(store->Wait().ok());
  files.SetAfterChange(nullptr);
  EXPECT_EQ(during, (std::set<uint64_t>{10, 20}));
  EXPECT_GE(states, 300u);
  std::cout << "crash states checked: " << states << std::endl;
}

// Views with gaps, transposed, tied and empty ones, from a device, and a
// second, larger save into the memory of the first.
TEST(AsyncStagingTest, C35_OddTensorsAreCopiedAsTheyAre) {
  const std::string run = JoinPath(FreshTestFolder(), "run");
  auto store = OpenIn(run, FileSystem::Real());
  std::vector<float> values(4096 * 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  std::atomic<int> copies{0};
  uint64_t step = 10;
  for (int64_t rows : {8, 4096}) {
    Snapshot snapshot = SmallestSnapshotV2();
    snapshot.step = step;
    for (ItemRecord& record : snapshot.inventory) record.as_of_step = step;
    snapshot.MarkSaved(Item::MODEL_TIES);
    snapshot.MarkSaved(Item::MODEL_BUFFERS);
    snapshot.parameters = {
        Tensor::Strided("transposed", DType::kF32, {3, rows}, {1, 3}, nullptr,
                        values.data()),
        Tensor::Strided("tied", DType::kF32, {3, rows}, {1, 3}, nullptr,
                        values.data()),
        Tensor::View("empty", DType::kF32, {0}, nullptr),
        BytesTensor("scalar", DType::kF64, {}, std::string(8, 'x')),
        Tensor::OnDevice("device", DType::kI32, {rows, 2}, {1, 0},
                         [&](uint64_t offset, size_t size, char* out) {
                           ++copies;
                           for (size_t i = 0; i < size; ++i) {
                             out[i] = static_cast<char>(offset + i);
                           }
                           return absl::OkStatus();
                         }),
    };
    std::vector<float> sliced(values.begin(), values.end());
    snapshot.buffers = {Tensor::Strided("sliced", DType::kF32, {rows / 2, 2},
                                        {6, 1}, nullptr, sliced.data())};
    auto digest = store->Save(snapshot);
    ASSERT_TRUE(digest.ok()) << digest.status();
    ASSERT_TRUE(store->AbandonAll(step, {}).ok());
    copies = 0;
    ASSERT_TRUE(store->SaveAsync(snapshot, Behind()).ok());
    const int copied = copies;
    EXPECT_GT(copied, 0);
    std::fill(sliced.begin(), sliced.end(), -1);
    ASSERT_TRUE(store->Wait().ok());
    EXPECT_EQ(copies, copied) << "a device was asked after SaveAsync returned";
    EXPECT_EQ(store->TakeCommitted()[0].manifest_digest, *digest);
    step += 10;
  }
}

TEST(AsyncStagingTest, FailedCopyIsToldAtOnceAndNothingIsWritten) {
  const std::string run = JoinPath(FreshTestFolder(), "run");
  auto store = OpenIn(run, FileSystem::Real());
  Snapshot snapshot = SmallestSnapshotV2();
  snapshot.parameters = {
      Tensor::OnDevice("w", DType::kF32, {2}, {}, [](uint64_t, size_t, char*) {
        return MakeRefusal(Refusal::IO, "the device fell off the bus");
      })};
  auto started = store->SaveAsync(snapshot, Behind());
  EXPECT_THAT(std::string(started.status().message()),
              HasSubstr("model.params w: the device fell off the bus"));
  EXPECT_EQ(FileSystem::Real()->List(run)->size(), 1u);  // the lock
  snapshot.parameters = {FloatTensor("w", {2}, {1, -2})};
  EXPECT_TRUE(store->SaveAsync(snapshot, Behind()).ok());
  EXPECT_TRUE(store->Close().ok());
}

TEST(AsyncStagingTest, HandedOverTensorsAreHeldUntilTheSaveEndsAndNotLonger) {
  const std::string run = JoinPath(FreshTestFolder(), "run");
  SlowDisk disk(FileSystem::Real());
  auto store = OpenIn(run, &disk);
  auto owner = std::make_shared<std::vector<float>>(2, 3.0f);
  Snapshot snapshot = SmallestSnapshotV2();
  snapshot.parameters = {
      Tensor::Shared("w", DType::kF32, {2}, owner, owner->data())};
  disk.Stop();
  ASSERT_TRUE(
      store->SaveAsync(std::move(snapshot), Behind(Tensors::kHandedOver)).ok());
  EXPECT_EQ(owner.use_count(), 2);
  disk.GoOn();
  ASSERT_TRUE(store->Wait().ok());
  EXPECT_EQ(owner.use_count(), 1);
  // A copied one is let go of before SaveAsync returns.
  Snapshot next = SmallestSnapshotV2();
  next.step = 2;
  for (ItemRecord& record : next.inventory) record.as_of_step = 2;
  next.parameters = {
      Tensor::Shared("w", DType::kF32, {2}, owner, owner->data())};
  disk.Stop();
  ASSERT_TRUE(store->SaveAsync(std::move(next), Behind()).ok());
  EXPECT_EQ(owner.use_count(), 1);
  disk.GoOn();
  EXPECT_TRUE(store->Close().ok());
}

}  // namespace
}  // namespace reprise
