// A version 2 checkpoint on the real file system: what is saved comes back.
#include "format/v2/save.h"

#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CheckpointStore::Options Options(int threads = 2, uint64_t shard_bytes = 256) {
  CheckpointStore::Options options;
  options.format_major = 2;
  options.threads = threads;
  options.shard_bytes = shard_bytes;
  return options;
}

// Saves and reads back.
absl::StatusOr<LoadedCheckpoint> RoundTrip(const Snapshot& snapshot,
                                           CheckpointStore::Options options) {
  const std::string run = FreshTestFolder();
  auto store = CheckpointStore::Open(run, options);
  if (!store.ok()) return store.status();
  auto digest = (*store)->Save(snapshot);
  if (!digest.ok()) return digest.status();
  const std::string path = JoinPath(
      run,
      snapshot.micro_step() == 0
          ? absl::StrCat("step-", absl::Dec(snapshot.step, absl::kZeroPad12))
          : absl::StrCat("step-", absl::Dec(snapshot.step, absl::kZeroPad12),
                         "-micro-000", snapshot.micro_step()));
  absl::Status verified = VerifyCheckpoint(path);
  if (!verified.ok()) return verified;
  return ReadCheckpoint(path);
}

// Name and content of every file of a folder.
std::map<std::string, std::string> Files(const std::string& folder) {
  std::map<std::string, std::string> files;
  auto entries = FileSystem::Real()->List(folder);
  EXPECT_TRUE(entries.ok()) << entries.status();
  for (const FolderEntry& entry : *entries) {
    files[entry.name] = *FileContent(JoinPath(folder, entry.name));
  }
  return files;
}

// Rules: SHARD-3
TEST(SaveV2, EveryValueComesBack) {
  for (Snapshot snapshot :
       {FullSnapshot(60), FullSnapshot(0), FullSnapshotInStep(60, 3)}) {
    snapshot.optional_features = {"sidecar"};
    snapshot.accepted_missing = {Item::WITNESS};
    snapshot.history = {{1, 2, "migrate 1", "0123456789abcdef", {"renamed x"}}};
    auto loaded = RoundTrip(snapshot, Options());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->format_major, 2u);
    EXPECT_EQ(loaded->value_digest.size(), 16u);
    EXPECT_EQ(TensorDifference(loaded->snapshot, snapshot), "");
    // Saving again gives the same bytes: nothing was lost or changed.
    auto again = RoundTrip(loaded->snapshot, Options());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->manifest_digest, loaded->manifest_digest);
    EXPECT_EQ(again->value_digest, loaded->value_digest);
    const Snapshot& s = loaded->snapshot;
    EXPECT_EQ(s.best.has_value(), true);
    EXPECT_EQ(s.counters->samples, snapshot.step * 10);
    EXPECT_EQ(s.evaluation->last->metrics[1].value, 0.75);
    EXPECT_EQ(s.user.size(), 6u);
    EXPECT_EQ(std::get<uint64_t>(s.user[1].value), uint64_t{1} << 63);
    EXPECT_EQ(std::get<int64_t>(s.user[2].value), -5);
    EXPECT_EQ(s.witness->draws[0].digest, "first draws 0123");
    EXPECT_EQ(s.micro_step(), snapshot.micro_step());
    EXPECT_EQ(s.schedule->state->best, 0.25);
    EXPECT_EQ(s.history[0].notes[0], "renamed x");
    EXPECT_THAT(s.optional_features, ElementsAre("sidecar"));
    EXPECT_EQ(s.config.size(), 3u);
  }
}

TEST(SaveV2, C25_StepsAndSamplesBeyond32BitsAreExact) {
  for (uint64_t step : {(uint64_t{1} << 31) + 7, (uint64_t{1} << 38) + 7}) {
    auto loaded = RoundTrip(FullSnapshot(step), Options());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const Snapshot& s = loaded->snapshot;
    EXPECT_EQ(s.step, step);
    EXPECT_EQ(s.counters->applied + s.counters->skipped, step);
    EXPECT_EQ(s.counters->samples, step * 10);
    EXPECT_EQ(s.sampler->cursor, step * 10);
    EXPECT_EQ(s.schedule->position, step);
    for (const ParameterState& state : s.optimizer->states) {
      EXPECT_EQ(state.step, step) << state.parameter;
    }
    EXPECT_EQ(BaseName(loaded->path),
              absl::StrCat("step-", absl::Dec(step, absl::kZeroPad12)));
  }
  // 2^41 samples: no double between here and there.
  EXPECT_GT(((uint64_t{1} << 38) + 7) * 10, uint64_t{1} << 40);
}

// Rules: SHARD-1
TEST(SaveV2, C35_StoredSizeIsTheTensorsBytesAndPadding) {
  const Snapshot snapshot = FullSnapshot(60);
  // Each tensor's bytes once, up to the next multiple of 64; tied ones are one.
  uint64_t most = 0;
  uint64_t least = 0;
  auto count = [&](const Tensor& tensor) {
    if (tensor.name() == "head.weight") return;  // tied to embed.weight
    least += tensor.num_bytes();
    most += (tensor.num_bytes() + 63) / 64 * 64;
  };
  for (const auto* tensors :
       {&snapshot.parameters, &snapshot.buffers, &snapshot.masters,
        &snapshot.ema_weights, &snapshot.user_tensors}) {
    for (const Tensor& tensor : *tensors) count(tensor);
  }
  for (const ParameterState& state : snapshot.optimizer->states) {
    for (const Tensor& moment : state.moments) count(moment);
  }
  auto loaded = RoundTrip(snapshot, Options(2, uint64_t{1} << 30));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  uint64_t stored = 0;
  for (const auto& [name, bytes] : Files(loaded->path)) {
    if (absl::EndsWith(name, ".bin")) stored += bytes.size();
  }
  EXPECT_GE(stored, least);
  EXPECT_LE(stored, (most + 4095) / 4096 * 4096);
}

TEST(SaveV2, TiedTensorsComeBackAsOneStorage) {
  auto loaded = RoundTrip(FullSnapshot(60), Options());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  std::map<std::string, const void*> data;
  for (const Tensor& tensor : loaded->snapshot.parameters) {
    data[tensor.name()] = tensor.data();
  }
  EXPECT_NE(data["embed.weight"], nullptr);
  EXPECT_EQ(data["embed.weight"], data["head.weight"]);
  EXPECT_NE(data["embed.weight"], data["fc.weight"]);
}

TEST(SaveV2, C35_ChannelsLastComesBackChannelsLast) {
  auto loaded = RoundTrip(FullSnapshot(60), Options());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (const Tensor& tensor : loaded->snapshot.parameters) {
    if (tensor.name() != "conv.weight") continue;
    EXPECT_THAT(tensor.strides(), ElementsAre(4, 1, 4, 2));
    EXPECT_EQ(tensor.bytes(), "0123456789abcde1");
  }
}

TEST(SaveV2, C35_EveryDtypeAndOddShapeComesBackBitForBit) {
  Snapshot snapshot = FullSnapshot(60);
  snapshot.user_tensors.clear();
  for (DType dtype : AllDTypes()) {
    std::string bytes(SizeOf(dtype) * 3, '\0');
    // NaN payloads, infinities, -0, denormals: every byte pattern is a value.
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<char>(0xff - 37 * i);
    }
    snapshot.user_tensors.push_back(
        BytesTensor(std::string(Name(dtype)), dtype, {3}, bytes));
    snapshot.user_tensors.push_back(
        BytesTensor(absl::StrCat(Name(dtype), " empty"), dtype, {0}, ""));
    snapshot.user_tensors.push_back(
        BytesTensor(absl::StrCat(Name(dtype), " scalar"), dtype, {},
                    bytes.substr(0, SizeOf(dtype))));
  }
  auto loaded = RoundTrip(snapshot, Options());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(TensorDifference(loaded->snapshot, snapshot), "");
  EXPECT_EQ(loaded->snapshot.user_tensors.size(), 51u);
}

TEST(SaveV2, C35_ViewsAreStoredAsWhatTheyShow) {
  std::vector<int64_t> matrix(24);
  for (int i = 0; i < 24; ++i) matrix[i] = i;
  Snapshot snapshot = FullSnapshot(60);
  // Columns of one matrix touch no common element.
  snapshot.user_tensors = {Tensor::Strided("columns 0", DType::kI64, {6, 2},
                                           {4, 1}, nullptr, matrix.data()),
                           Tensor::Strided("columns 2", DType::kI64, {6, 2},
                                           {4, 1}, nullptr, matrix.data() + 2)};
  auto loaded = RoundTrip(snapshot, Options());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const Tensor& columns = loaded->snapshot.user_tensors[1];
  ASSERT_EQ(columns.name(), "columns 2");
  EXPECT_TRUE(columns.IsRowMajor());
  std::vector<int64_t> got(12);
  ASSERT_TRUE(
      columns.CopyBytes(0, 96, reinterpret_cast<char*>(got.data())).ok());
  EXPECT_THAT(got, ElementsAre(2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23));
}

// Rules: TABLE-8
TEST(SaveV2, C37_PartialOverlapIsRefusedByName) {
  std::vector<float> storage(10);
  Snapshot snapshot = FullSnapshot(60);
  snapshot.user_tensors = {
      Tensor::View("low", DType::kF32, {6}, storage.data()),
      Tensor::View("high", DType::kF32, {6}, storage.data() + 4)};
  absl::Status status = RoundTrip(snapshot, Options()).status();
  EXPECT_EQ(RefusalOf(status), Refusal::INVALID_VALUE);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("user low and user high share some of their bytes"));
  // An expanded view shares bytes with itself.
  snapshot.user_tensors = {Tensor::Strided("expanded", DType::kF32, {4, 3},
                                           {0, 1}, nullptr, storage.data())};
  status = RoundTrip(snapshot, Options()).status();
  EXPECT_EQ(RefusalOf(status), Refusal::INVALID_VALUE);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("expanded: two of its elements share bytes"));
  // Rows and columns of one matrix that cross.
  snapshot.user_tensors = {
      Tensor::Strided("row", DType::kF32, {3}, {1}, nullptr, storage.data()),
      Tensor::Strided("column", DType::kF32, {3}, {3}, nullptr,
                      storage.data() + 1)};
  status = RoundTrip(snapshot, Options()).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("share some of their bytes"));
}

TEST(SaveV2, TiesWithoutARecordAreRefused) {
  Snapshot snapshot = FullSnapshot(60);
  snapshot.MarkNotApplicable(Item::MODEL_TIES, "none");
  absl::Status status = RoundTrip(snapshot, Options()).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("head.weight is the same storage as embed.weight, but "
                        "the record says NOT_APPLICABLE"));
  // Stated storages count where the data are copies.
  snapshot = FullSnapshot(60);
  for (Tensor& tensor : snapshot.parameters) {
    if (tensor.name() != "embed.weight" && tensor.name() != "head.weight") {
      continue;
    }
    tensor = FloatTensor(tensor.name(), {3, 2}, {1, 2, 3, 4, 5, 6});
    tensor.SetStorage(7, 0);
  }
  auto loaded = RoundTrip(snapshot, Options());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
}

// Rules: COMMIT-7
TEST(SaveV2, FilesDoNotDependOnThreads) {
  Snapshot snapshot = FullSnapshot(60);
  for (int i = 0; i < 40; ++i) {
    snapshot.user_tensors.push_back(
        BytesTensor(absl::StrCat("t", i), DType::kU8, {i * 7001},
                    std::string(i * 7001, static_cast<char>(i))));
  }
  // Larger than one piece.
  std::string large(20'000'003, '\0');
  for (size_t i = 0; i < large.size(); ++i) {
    large[i] = static_cast<char>(i * 131 + i / 256);
  }
  snapshot.user_tensors.push_back(
      BytesTensor("large", DType::kU8, {20'000'003}, large));
  std::map<std::string, std::string> first;
  for (int threads : {1, 2, 7}) {
    const std::string run = FreshTestFolder();
    auto store = CheckpointStore::Open(run, Options(threads, 100'000));
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE((*store)->Save(snapshot).ok());
    auto files = Files(JoinPath(run, "step-000000000060"));
    EXPECT_GE(files.size(), 8u);
    if (first.empty()) first = files;
    EXPECT_TRUE(files == first) << threads;
    for (int reading : {1, 5}) {
      auto loaded = ReadCheckpoint(JoinPath(run, "step-000000000060"),
                                   FileSystem::Real(), reading);
      ASSERT_TRUE(loaded.ok()) << loaded.status();
      EXPECT_EQ(TensorDifference(loaded->snapshot, snapshot), "");
    }
  }
}

// Rules: VALUE-1 VALUE-3
TEST(SaveV2, ValueDigestIsOfTheStateAlone) {
  const Snapshot snapshot = FullSnapshot(60);
  const std::string value = RoundTrip(snapshot, Options(2, 256))->value_digest;
  // Other packing, clock, host, attempt, machine.
  EXPECT_EQ(RoundTrip(snapshot, Options(1, 1))->value_digest, value);
  EXPECT_EQ(RoundTrip(snapshot, Options(1, 1 << 20))->value_digest, value);
  Snapshot same = snapshot;
  same.created_unix_nanos = 1;
  same.host = "elsewhere";
  same.writer = "another";
  same.attempt = 2;
  same.parent = ParentRef{50, "", "0123456789abcdef"};
  same.history = {{2, 2, "rename", "0123456789abcdef", {}}};
  same.environment->device_name = "another";
  for (ConfigField& field : same.config) {
    if (field.rule == ResumeRule::RECORDED) field.value = "another";
    field.previous = "before";
  }
  EXPECT_EQ(RoundTrip(same, Options())->value_digest, value);
  // And of all of it.
  std::vector<std::function<void(Snapshot*)>> changes = {
      [](Snapshot* s) { s->scaler->growth_tracker += 1; },
      [](Snapshot* s) { s->ema->updates += 1; },
      [](Snapshot* s) { s->config[0].value = "0.004"; },
      [](Snapshot* s) {
        s->user[0].value = std::vector<uint8_t>{0, 254};
      },
      [](Snapshot* s) {
        s->user_tensors[0].SetStorage(1, 0);
        s->user_tensors[0] = BytesTensor("replay", DType::kU8, {3}, "abd");
      },
      [](Snapshot* s) {
        s->user_tensors[0] = BytesTensor("replay", DType::kI8, {3}, "abc");
      },
      [](Snapshot* s) {
        s->user_tensors[1] = BytesTensor("nothing", DType::kF64, {3, 2, 0}, "");
      },
      [](Snapshot* s) { s->mode->training = false; },
      [](Snapshot* s) { s->frozen->pop_back(); },
      [](Snapshot* s) {
        s->best.reset();
        s->MarkEmpty(Item::BEST);
      },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Snapshot changed = snapshot;
    changes[i](&changed);
    auto loaded = RoundTrip(changed, Options());
    ASSERT_TRUE(loaded.ok()) << i << ": " << loaded.status();
    EXPECT_NE(loaded->value_digest, value) << i;
  }
}

TEST(SaveV2, C25_CountersBeyondThirtyTwoBitsAreExact) {
  Snapshot snapshot = FullSnapshot(60);
  const uint64_t step = (uint64_t{1} << 33) + 7;
  const uint64_t samples = (uint64_t{1} << 41) + 10;
  snapshot.step = step;
  for (const ItemRecord& record : std::vector<ItemRecord>(snapshot.inventory)) {
    for (ItemRecord& r : snapshot.inventory) r.as_of_step = step;
    (void)record;
    break;
  }
  snapshot.counters = CounterState{step - 3, 3, samples / 10 * 10};
  snapshot.sampler->cursor = samples / 10 * 10;
  snapshot.sampler->dataset_size = samples * 2;
  for (ParameterState& state : snapshot.optimizer->states) state.step = step;
  auto loaded = RoundTrip(snapshot, Options());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->snapshot.step, step);
  EXPECT_EQ(loaded->snapshot.counters->applied, step - 3);
  EXPECT_EQ(loaded->snapshot.sampler->cursor, samples / 10 * 10);
  EXPECT_EQ(loaded->snapshot.optimizer->states[0].step, step);
}

TEST(SaveV2, FilesAreReadOnlyAndWholePages) {
  const std::string run = FreshTestFolder();
  auto store = CheckpointStore::Open(run, Options(2, 100));
  ASSERT_TRUE((*store)->Save(FullSnapshot(60)).ok());
  const std::string folder = JoinPath(run, "step-000000000060");
  int shards = 0;
  auto entries = FileSystem::Real()->List(folder);
  ASSERT_TRUE(entries.ok());
  for (const FolderEntry& entry : *entries) {
    auto info = FileSystem::Real()->LinkStat(JoinPath(folder, entry.name));
    EXPECT_EQ(info->mode & 0222, 0u) << entry.name;
    if (entry.name.size() == 19) {
      ++shards;
      EXPECT_EQ(info->size % 4096, 0u) << entry.name;
    }
  }
  EXPECT_GE(shards, 3);
}

TEST(SaveV2, TensorsOfADeviceAreCopiedByTheirFunction) {
  const std::string bytes(300'000, 'x');
  Snapshot snapshot = FullSnapshot(60);
  snapshot.user_tensors = {
      Tensor::OnDevice("far", DType::kU8, {300'000}, {},
                       [&bytes](uint64_t offset, size_t size, char* out) {
                         bytes.copy(out, size, offset);
                         return absl::OkStatus();
                       })};
  auto loaded = RoundTrip(snapshot, Options());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE(loaded->snapshot.user_tensors[0].bytes() == bytes);
  snapshot.user_tensors = {
      Tensor::OnDevice("far", DType::kU8, {3}, {}, [](uint64_t, size_t, char*) {
        return absl::InternalError("the device is lost");
      })};
  absl::Status status = RoundTrip(snapshot, Options()).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("user far: the device is lost"));
}

TEST(SaveV2, NothingIsWrittenOfWhatIsRefused) {
  const std::string run = FreshTestFolder();
  auto store = CheckpointStore::Open(run, Options());
  Snapshot snapshot = FullSnapshot(60);
  snapshot.user_tensors = {Tensor::Elsewhere("far", DType::kU8, {3}, {})};
  EXPECT_EQ(RefusalOf((*store)->Save(snapshot).status()),
            Refusal::MISSING_ITEM);
  snapshot = FullSnapshot(60);
  snapshot.scaler->scale = 0;
  EXPECT_EQ(RefusalOf((*store)->Save(snapshot).status()),
            Refusal::INVALID_VALUE);
  EXPECT_EQ(FileSystem::Real()->List(run)->size(), 1u);  // lock
}

TEST(SaveV2, MicroStepsLieBetweenBoundaries) {
  const std::string run = FreshTestFolder();
  {
    auto store = CheckpointStore::Open(run, Options());
    ASSERT_TRUE((*store)->Save(FullSnapshot(60)).ok());
    ASSERT_TRUE((*store)->Save(FullSnapshotInStep(60, 2)).ok());
    EXPECT_FALSE((*store)->Save(FullSnapshotInStep(60, 1)).ok());
    ASSERT_TRUE((*store)->Save(FullSnapshotInStep(60, 3)).ok());
  }
  auto store = CheckpointStore::Open(run, Options());
  auto found = (*store)->NewestVerified();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(BaseName(found->checkpoint->path), "step-000000000060-micro-0003");
  EXPECT_EQ(found->checkpoint->snapshot.micro_step(), 3u);
  auto middle = ReadCheckpoint(JoinPath(run, "step-000000000060-micro-0002"));
  ASSERT_TRUE(middle.ok()) << middle.status();
  auto moved = (*store)->ResumeFrom(*middle, 2);
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_THAT(*moved, ElementsAre("step-000000000060-micro-0003"));
}

TEST(SaveV2, BothVersionsLiveInOneRun) {
  const std::string run = FreshTestFolder();
  {
    auto store = CheckpointStore::Open(run, {});
    ASSERT_TRUE((*store)->Save(SmallSnapshot(50)).ok());
  }
  auto store = CheckpointStore::Open(run, Options());
  ASSERT_TRUE((*store)->Save(FullSnapshot(60)).ok());
  EXPECT_EQ((*store)->NewestVerified()->checkpoint->format_major, 2u);
  EXPECT_EQ(ReadCheckpoint(JoinPath(run, "step-000000000050"))->format_major,
            1u);
}

}  // namespace
}  // namespace reprise
