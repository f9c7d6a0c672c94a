// Several processes write the shards of one checkpoint, one commits it.
#include "format/v2/shared_save.h"

#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRows = 1000;
constexpr int64_t kColumns = 77;

std::string Pattern(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>(i * 131 + i / 256);
  }
  return bytes;
}

// One large tensor (308,000 bytes, so that no chunk ends where a row does), a
// small one, and one that only one process has.
Snapshot Whole() {
  Snapshot snapshot = SmallestSnapshotV2();
  snapshot.parameters = {BytesTensor("big", DType::kF32, {kRows, kColumns},
                                     Pattern(kRows * kColumns * 4)),
                         BytesTensor("small", DType::kU8, {10}, "0123456789"),
                         BytesTensor("own", DType::kU8, {3}, "own"),
                         BytesTensor("empty", DType::kF64, {0, 2}, "")};
  return snapshot;
}

// The same without bytes, as the coordinator has it.
Snapshot Described() {
  Snapshot snapshot = Whole();
  for (Tensor& tensor : snapshot.parameters) {
    if (tensor.num_bytes() == 0) continue;
    tensor =
        Tensor::Elsewhere(tensor.name(), tensor.dtype(), tensor.shape(), {});
  }
  return snapshot;
}

// Rows [begin, end) of "big", refers to `whole`.
LocalSlice Rows(const Snapshot& whole, int64_t begin, int64_t end) {
  const Tensor& big = whole.parameters[0];
  return {Item::MODEL_PARAMS,
          "big",
          "",
          {kRows, kColumns},
          {begin, 0},
          Tensor::View(
              "", DType::kF32, {end - begin, kColumns},
              static_cast<const char*>(big.data()) + begin * kColumns * 4)};
}

LocalSlice Columns(const Snapshot& whole, int64_t begin, int64_t end) {
  const Tensor& big = whole.parameters[0];
  return {Item::MODEL_PARAMS,
          "big",
          "",
          {kRows, kColumns},
          {0, begin},
          Tensor::Strided("", DType::kF32, {kRows, end - begin}, {kColumns, 1},
                          nullptr,
                          static_cast<const char*>(big.data()) + begin * 4)};
}

LocalSlice All(const Snapshot& whole, int index) {
  const Tensor& tensor = whole.parameters[index];
  return {Item::MODEL_PARAMS, tensor.name(), "", {}, {}, tensor};
}

CheckpointStore::Options Options() {
  CheckpointStore::Options options;
  options.format_major = 2;
  return options;
}

SaveV2Options Writing() {
  SaveV2Options options;
  options.shard_bytes = 100'000;
  return options;
}

TEST(SharedSave, TwoProcessesWriteAndACoordinatorCommits) {
  const std::string run = FreshTestFolder();
  auto store = CheckpointStore::Open(run, Options());
  ASSERT_TRUE(store.ok()) << store.status();
  auto folder = (*store)->BeginShared(1, 0);
  ASSERT_TRUE(folder.ok()) << folder.status();
  const Snapshot whole = Whole();
  std::vector<std::string> reports;
  for (uint32_t writer : {0, 1}) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      std::vector<LocalSlice> slices;
      if (writer == 0) {
        slices = {Rows(whole, 0, 613), All(whole, 1)};
      } else {
        slices = {Rows(whole, 613, kRows), All(whole, 2)};
      }
      auto report =
          WriteSlices(FileSystem::Real(), *folder, writer, slices, Writing());
      if (report.ok()) {
        const ssize_t size = static_cast<ssize_t>(report->size());
        if (write(ends[1], report->data(), report->size()) == size) _exit(0);
      }
      _exit(1);
    }
    close(ends[1]);
    std::string report;
    char buffer[4096];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;) {
      report.append(buffer, got);
    }
    close(ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    reports.push_back(report);
  }
  auto digest = (*store)->CommitShared(Described(), reports);
  ASSERT_TRUE(digest.ok()) << digest.status();
  const std::string path = JoinPath(run, "step-000000000001");
  EXPECT_TRUE(VerifyCheckpoint(path).ok()) << VerifyCheckpoint(path);
  auto loaded = ReadCheckpoint(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(TensorDifference(loaded->snapshot, whole), "");
}

// However the tensors are cut, the value is the same.
TEST(SharedSave, ValueDigestDoesNotDependOnTheSlices) {
  const Snapshot whole = Whole();
  std::map<std::string, std::vector<LocalSlice>> cuts = {
      {"at a row", {Rows(whole, 0, 500), Rows(whole, 500, kRows)}},
      {"inside one chunk",
       {Rows(whole, 0, 3), Rows(whole, 3, 4), Rows(whole, 4, 10),
        Rows(whole, 10, kRows)}},
      {"in three",
       {Rows(whole, 0, 213), Rows(whole, 213, 426), Rows(whole, 426, kRows)}},
      {"in columns", {Columns(whole, 0, 30), Columns(whole, 30, kColumns)}},
  };
  std::string value;
  {
    const std::string run = FreshTestFolder();
    auto store = CheckpointStore::Open(run, Options());
    ASSERT_TRUE((*store)->Save(whole).ok());
    value = ReadCheckpoint(JoinPath(run, "step-000000000001"))->value_digest;
  }
  for (const auto& [name, slices] : cuts) {
    const std::string run = FreshTestFolder();
    auto store = CheckpointStore::Open(run, Options());
    auto folder = (*store)->BeginShared(1, 0);
    ASSERT_TRUE(folder.ok());
    std::vector<std::string> reports;
    for (size_t i = 0; i < slices.size(); ++i) {
      std::vector<LocalSlice> of_writer = {slices[i]};
      if (i == 0) {
        of_writer.push_back(All(whole, 1));
        of_writer.push_back(All(whole, 2));
      }
      auto report =
          WriteSlices(FileSystem::Real(), *folder, static_cast<uint32_t>(7 * i),
                      of_writer, Writing());
      ASSERT_TRUE(report.ok()) << report.status();
      // In any order.
      reports.insert(reports.begin(), *report);
    }
    auto digest = (*store)->CommitShared(Described(), reports);
    ASSERT_TRUE(digest.ok()) << name << ": " << digest.status();
    const std::string path = JoinPath(run, "step-000000000001");
    EXPECT_TRUE(VerifyCheckpoint(path).ok()) << name << VerifyCheckpoint(path);
    auto loaded = ReadCheckpoint(path);
    ASSERT_TRUE(loaded.ok()) << name << ": " << loaded.status();
    EXPECT_EQ(loaded->value_digest, value) << name;
    EXPECT_EQ(TensorDifference(loaded->snapshot, whole), "") << name;
  }
}

TEST(SharedSave, WhatDoesNotFitIsRefusedAndNothingIsLeft) {
  const Snapshot whole = Whole();
  struct Case {
    std::string text;
    Refusal refusal;
    std::vector<LocalSlice> first, second;
  };
  LocalSlice other_dtype = All(whole, 1);
  other_dtype.tensor = BytesTensor("", DType::kI8, {10}, "0123456789");
  LocalSlice unknown = All(whole, 1);
  unknown.name = "unknown";
  const std::vector<Case> cases = {
      {"big: no writer reported it",
       Refusal::MISSING_ITEM,
       {All(whole, 1)},
       {All(whole, 2)}},
      {"slices of 307692 bytes for a tensor of 308000",
       Refusal::CORRUPT,
       {Rows(whole, 0, 500), All(whole, 1)},
       {Rows(whole, 501, kRows), All(whole, 2)}},
      {"for a tensor of 308000",
       Refusal::CORRUPT,
       {Rows(whole, 0, 501), All(whole, 1)},
       {Rows(whole, 500, kRows), All(whole, 2)}},
      {"a writer has another dtype",
       Refusal::MISMATCH,
       {All(whole, 0), other_dtype},
       {All(whole, 2)}},
      {"somebody wrote model.params unknown",
       Refusal::MISMATCH,
       {All(whole, 0), All(whole, 1)},
       {All(whole, 2), unknown}},
  };
  for (const Case& c : cases) {
    const std::string run = FreshTestFolder();
    auto store = CheckpointStore::Open(run, Options());
    auto folder = (*store)->BeginShared(1, 0);
    ASSERT_TRUE(folder.ok());
    auto first =
        WriteSlices(FileSystem::Real(), *folder, 0, c.first, Writing());
    auto second =
        WriteSlices(FileSystem::Real(), *folder, 1, c.second, Writing());
    ASSERT_TRUE(first.ok() && second.ok()) << first.status();
    absl::Status status =
        (*store)->CommitShared(Described(), {*first, *second}).status();
    EXPECT_EQ(RefusalOf(status), c.refusal) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.text));
    EXPECT_EQ(FileSystem::Real()->List(run)->size(), 1u) << c.text;  // lock
  }
}

TEST(SharedSave, ReportedShardsMustBeThere) {
  const Snapshot whole = Whole();
  const std::string run = FreshTestFolder();
  auto store = CheckpointStore::Open(run, Options());
  auto folder = (*store)->BeginShared(1, 0);
  auto report = WriteSlices(FileSystem::Real(), *folder, 0,
                            {All(whole, 0), All(whole, 1), All(whole, 2)},
                            SaveV2Options());
  ASSERT_TRUE(report.ok());
  // The same number twice.
  EXPECT_EQ(
      RefusalOf(
          (*store)->CommitShared(Described(), {*report, *report}).status()),
      Refusal::MISMATCH);
  // The folder went with that failure.
  EXPECT_EQ(RefusalOf((*store)->CommitShared(Described(), {*report}).status()),
            Refusal::ABSENT);
  EXPECT_EQ(RefusalOf((*store)->CommitShared(Described(), {"\xff"}).status()),
            Refusal::CORRUPT);
}

}  // namespace
}  // namespace reprise
