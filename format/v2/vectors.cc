// One file, as it is one list.
#include "format/v2/vectors.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "format/accepted_missing.h"
#include "format/envelope.h"
#include "format/io/testing/unsynced_file_system.h"
#include "format/read_checkpoint.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "format/v2/items.h"
#include "format/v2/save.h"
#include "format/v2/shared_save.h"

namespace reprise {
namespace {

namespace v2 = ::reprise::checkpoint::v2;
using Files = std::map<std::string, std::string>;

constexpr char kFolder[] = "/vector";
constexpr char kShard[] = "shard-0000-0000.bin";

Files FilesIn(UnsyncedFileSystem* memory) {
  Files files;
  for (const FolderEntry& entry : OrDie(memory->List(kFolder))) {
    files[entry.name] =
        OrDie(FileContent(JoinPath(kFolder, entry.name), memory));
  }
  return files;
}

Files Written(const Snapshot& snapshot, uint64_t shard_bytes = 1 << 20) {
  UnsyncedFileSystem memory;
  OrDie(memory.CreateFolder(kFolder));
  SaveV2Options options;
  options.threads = 1;
  options.shard_bytes = shard_bytes;
  OrDie(WriteV2(&memory, kFolder, OrDie(PlanV2(snapshot, options)), options));
  return FilesIn(&memory);
}

std::string WithEnvelope(const std::string& manifest, uint32_t major = 2,
                         uint32_t minor = 0) {
  return EncodeEnvelope(major, minor, manifest) + manifest;
}

TestVector Refused(const std::string& path, Refusal refusal,
                   const std::string& rules, const std::string& text,
                   Files files) {
  TestVector vector = MakeTestVector(path, rules, files);
  vector.expected.mutable_refused()->set_refusal(refusal);
  vector.expected.mutable_refused()->set_text(text);
  return vector;
}

TestVector Valid(const std::string& path, const std::string& rules,
                 const Files& files) {
  UnsyncedFileSystem memory;
  OrDie(memory.CreateFolder(kFolder));
  for (const auto& [name, bytes] : files) {
    OrDie(ReplaceFile(JoinPath(kFolder, name), bytes, &memory));
  }
  const LoadedCheckpoint read = OrDie(ReadCheckpoint(kFolder, &memory));
  TestVector vector = MakeTestVector(path, rules, files);
  vectors::v1::Valid* valid = vector.expected.mutable_valid();
  ExpectSnapshot(read.snapshot, valid);
  valid->set_value_digest(absl::BytesToHexString(read.value_digest));
  valid->set_verification(RefusalOf(VerifyCheckpoint(kFolder, &memory)));
  return vector;
}

// Manifest of a written snapshot, without its envelope.
std::string ManifestOf(const Files& files) {
  return files.at(kManifestName).substr(kEnvelopeSize);
}

// A checkpoint whose manifest was changed and has the right checksums; its
// shards are left out, as no reader comes to them.
TestVector Edited(const std::string& name, Refusal refusal,
                  const std::string& rules, const std::string& text,
                  const std::function<void(v2::Manifest*)>& edit,
                  const Snapshot& base = FullSnapshot(60)) {
  const std::string manifest =
      EditedManifestV2(ManifestOf(Written(base, 300)), edit);
  return Refused(absl::StrCat("invalid/", name), refusal, rules, text,
                 {{kManifestName, WithEnvelope(manifest)}});
}

Snapshot AtStep(Snapshot snapshot, uint64_t step) {
  snapshot.step = step;
  for (ItemRecord& record : snapshot.inventory) record.as_of_step = step;
  return snapshot;
}

Snapshot EveryDtype() {
  Snapshot snapshot = SmallestSnapshotV2();
  for (DType dtype : AllDTypes()) {
    std::string bytes(SizeOf(dtype) * 3, '\0');
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<char>(0xff - 37 * i);
    }
    snapshot.user_tensors.push_back(
        BytesTensor(std::string(Name(dtype)), dtype, {3}, bytes));
  }
  snapshot.MarkSaved(Item::USER);
  return snapshot;
}

Snapshot OddShapes() {
  Snapshot snapshot = SmallestSnapshotV2();
  snapshot.parameters = {
      BytesTensor("scalar", DType::kI64, {}, std::string(8, '\x11')),
      BytesTensor("nothing", DType::kF64, {3, 0, 2}, ""),
      BytesTensor("nothing else", DType::kF32, {0}, ""),
      BytesTensor("nan with payload, -0, denormal", DType::kF32, {3},
                  std::string("\x45\x23\xc1\x7f\0\0\0\x80\1\0\0\0", 12)),
      BytesTensor("\xe5\xb1\xa4", DType::kU8, {1}, "x"),
      BytesTensor("../../etc/passwd", DType::kU8, {1}, "x"),
      BytesTensor(std::string(1024, 'n'), DType::kU8, {1, 1, 1}, "x")};
  return snapshot;
}

Snapshot ChannelsLast() {
  Snapshot snapshot = SmallestSnapshotV2();
  Tensor dense = BytesTensor("w", DType::kU8, {1, 2, 3, 2}, "0123456789ab");
  snapshot.parameters = {
      Tensor::Strided("w", DType::kU8, {1, 2, 3, 2}, {12, 1, 4, 2},
                      std::make_shared<Tensor>(dense), dense.data())};
  return snapshot;
}

Snapshot Chunks() {
  Snapshot snapshot = SmallestSnapshotV2();
  // Rather compressible, as it is committed: one chunk and a half.
  std::string bytes(98'304, '\0');
  bytes[65'535] = 'a';
  bytes[65'536] = 'b';
  snapshot.parameters = {BytesTensor("w", DType::kU8, {98'304}, bytes)};
  return snapshot;
}

Files InSlices(bool columns) {
  UnsyncedFileSystem memory;
  OrDie(memory.CreateFolder(kFolder));
  Snapshot snapshot = SmallestSnapshotV2();
  const Tensor whole = BytesTensor("w", DType::kU8, {3, 4}, "abcdefghijkl");
  const char* data = static_cast<const char*>(whole.data());
  snapshot.parameters = {Tensor::Elsewhere("w", DType::kU8, {3, 4}, {})};
  std::vector<LocalSlice> slices;
  if (columns) {
    slices = {
        {Item::MODEL_PARAMS,
         "w",
         "",
         {3, 4},
         {0, 0},
         Tensor::Strided("", DType::kU8, {3, 1}, {4, 1}, nullptr, data)},
        {Item::MODEL_PARAMS,
         "w",
         "",
         {3, 4},
         {0, 1},
         Tensor::Strided("", DType::kU8, {3, 3}, {4, 1}, nullptr, data + 1)}};
  } else {
    slices = {{Item::MODEL_PARAMS,
               "w",
               "",
               {3, 4},
               {0, 0},
               Tensor::View("", DType::kU8, {2, 4}, data)},
              {Item::MODEL_PARAMS,
               "w",
               "",
               {3, 4},
               {2, 0},
               Tensor::View("", DType::kU8, {1, 4}, data + 8)}};
  }
  std::vector<std::string> reports;
  for (uint32_t writer = 0; writer < 2; ++writer) {
    reports.push_back(
        OrDie(WriteSlices(&memory, kFolder, writer, {slices[writer]}, {})));
  }
  OrDie(FinishShared(&memory, kFolder, snapshot, reports));
  return FilesIn(&memory);
}

Snapshot Sgd() {
  Snapshot snapshot = FullSnapshot(60);
  snapshot.optimizer->kind = "sgd";
  for (ParameterGroup& group : snapshot.optimizer->groups) {
    group.beta1 = group.beta2 = group.eps = std::nullopt;
    group.momentum = 0;
    group.dampening = 0;
    group.nesterov = false;
  }
  for (ParameterState& state : snapshot.optimizer->states) {
    state.moments.clear();
  }
  snapshot.MarkNotApplicable(Item::OPTIM_MOMENTS, "momentum is 0");
  return snapshot;
}

Snapshot InferenceOnly() {
  const Snapshot full = FullSnapshot(60);
  Snapshot snapshot = SmallestSnapshotV2();
  snapshot.parameters = full.parameters;
  snapshot.buffers = full.buffers;
  for (Item item : ItemsOfV2()) {
    snapshot.MarkOmitted(item, "exported for inference");
  }
  for (Item item : {Item::MODEL_PARAMS, Item::MODEL_BUFFERS, Item::MODEL_TIES,
                    Item::COUNTERS_STEP}) {
    snapshot.MarkSaved(item);
  }
  return snapshot;
}

std::vector<TestVector> ValidVectors() {
  Snapshot resumed = FullSnapshot(60);
  resumed.attempt = 2;
  resumed.parent = ParentRef{50, "", "fedcba9876543210"};
  resumed.accepted_missing = {Item::WITNESS};
  // The attempt after one that began something anew.
  Snapshot resumed_again = FullSnapshot(60);
  resumed_again.attempt = 3;
  resumed_again.parent = ParentRef{50, "", "fedcba9876543210"};
  resumed_again.history = {AcceptedMissingRecord({Item::WITNESS, Item::MODE},
                                                 40, "0123456789abcdef")};
  Snapshot migrated = FullSnapshot(60);
  migrated.attempt = 2;
  migrated.parent = ParentRef{50, "fedcba9876543210", ""};
  migrated.history = {{1, 2, "migrate", "0123456789abcdef", {"renamed a to b"}},
                      {2, 2, "rename", "0123456789abcdef", {}}};
  Snapshot feature = FullSnapshot(60);
  feature.optional_features = {"a-sidecar"};
  Snapshot large = AtStep(SmallestSnapshotV2(), (uint64_t{1} << 33) + 7);
  large.counters =
      CounterState{(uint64_t{1} << 33) + 4, 3, (uint64_t{1} << 41) + 10};
  for (Item item : {Item::COUNTERS_APPLIED, Item::COUNTERS_SKIPPED,
                    Item::COUNTERS_SAMPLES}) {
    large.MarkSaved(item);
  }
  Snapshot partial = FullSnapshot(60);
  partial.sampler->tail = SamplerState::Tail::kPartial;
  partial.sampler->dataset_size = 1003;
  partial.sampler->cursor = partial.counters->samples = 1003 + 20;
  Snapshot span = FullSnapshot(60);
  span.sampler->tail = SamplerState::Tail::kSpan;
  span.sampler->dataset_size = 7;
  Snapshot no_schedule = FullSnapshot(60);
  no_schedule.schedule.reset();
  for (Item item : {Item::SCHED_DEFINITION, Item::SCHED_POSITION,
                    Item::SCHED_UNIT, Item::SCHED_HORIZON, Item::SCHED_STATE}) {
    no_schedule.MarkNotApplicable(item, "the learning rate is constant");
  }
  Snapshot cuda = FullSnapshot(60);
  cuda.generators.push_back(
      {"cuda:0", "philox", "libtorch 2.11.0", "state", 7, 12});
  cuda.generators.push_back(
      {"cuda:3", "philox", "libtorch 2.11.0", "state", 7, 16});
  cuda.MarkSaved(Item::RNG_CUDA);
  Snapshot prefetched = FullSnapshot(60);
  prefetched.sampler->in_flight = {600, 601, 602};
  prefetched.MarkSaved(Item::LOADER_INFLIGHT);
  Snapshot nothing_frozen = FullSnapshot(60);
  nothing_frozen.frozen = std::vector<std::string>();
  Files no_digests = Written(FullSnapshot(60));
  no_digests.erase(absl::StrCat(kShard, ".digests"));
  Files damaged_digests = Written(FullSnapshot(60));
  damaged_digests[absl::StrCat(kShard, ".digests")][20] ^= 1;
  Files extra_file = Written(FullSnapshot(60));
  extra_file["notes.txt"] = "hello";
  return {
      Valid("valid/smallest", "FOLD-1 MAN-1", Written(SmallestSnapshotV2())),
      Valid("valid/full", "MAN-2 TABLE-7 VALUE-4", Written(FullSnapshot(60))),
      Valid("valid/several_shards", "SHARD-1", Written(FullSnapshot(60), 200)),
      Valid("valid/nothing_applied_yet", "ITEM-6 MAN-1",
            Written(FullSnapshot(0))),
      Valid("valid/in_step", "ACC-1 FOLD-4",
            Written(FullSnapshotInStep(60, 3))),
      Valid("valid/resumed", "MAN-6 MAN-8", Written(resumed)),
      Valid("valid/resumed_again", "MAN-7 MAN-8", Written(resumed_again)),
      Valid("valid/migrated", "MAN-6 MAN-7", Written(migrated)),
      Valid("valid/optional_feature", "FEAT-2", Written(feature)),
      Valid("valid/every_dtype", "TABLE-4", Written(EveryDtype())),
      Valid("valid/odd_shapes", "TABLE-3 TABLE-6", Written(OddShapes())),
      Valid("valid/channels_last", "TABLE-5", Written(ChannelsLast())),
      Valid("valid/two_chunks", "DIGEST-2", Written(Chunks())),
      Valid("valid/slices_rows", "TABLE-6 DIGEST-2 COMMIT-8", InSlices(false)),
      Valid("valid/slices_columns", "TABLE-6 DIGEST-2 COMMIT-8",
            InSlices(true)),
      Valid("valid/sgd", "OPT-3 OPT-4", Written(Sgd())),
      Valid("valid/inference_only", "ITEM-5", Written(InferenceOnly())),
      Valid("valid/large_counters", "DATA-5", Written(large)),
      Valid("valid/tail_partial", "DATA-4", Written(partial)),
      Valid("valid/tail_span", "DATA-4", Written(span)),
      Valid("valid/no_schedule", "SCHED-3", Written(no_schedule)),
      Valid("valid/cuda_generators", "RNG-2", Written(cuda)),
      Valid("valid/prefetched", "MAN-1", Written(prefetched)),
      Valid("valid/nothing_frozen", "MAN-2", Written(nothing_frozen)),
      Valid("valid/no_digest_file", "DIGEST-5 FOLD-7", no_digests),
      Valid("valid/damaged_digest_file", "DIGEST-5 FOLD-7", damaged_digests),
      Valid("valid/extra_file", "FOLD-7", extra_file),
  };
}

std::vector<TestVector> FutureVectors() {
  const Files full = Written(FullSnapshot(60));
  const std::string manifest = ManifestOf(full);
  auto with = [&full](const std::string& bytes, uint32_t minor) {
    Files files = full;
    files[kManifestName] = WithEnvelope(bytes, 2, minor);
    return files;
  };
  const std::string unknown_field("\x9a\x06\x03new", 6);
  Envelope newer;
  newer.major = 1000;
  newer.manifest_length = uint64_t{1} << 63;
  return {
      Refused("future/major", Refusal::TOO_NEW, "ENV-8",
              "format version 1000.0",
              {{kManifestName, EncodeEnvelope(newer) + "new"}}),
      Valid("future/minor", "ENV-8", with(manifest, 9)),
      Valid("future/minor_with_a_field", "ENV-8 WIRE-4",
            with(manifest + unknown_field, 9)),
      Valid("future/minor_with_another_value_digest", "VALUE-4",
            with(EditedManifestV2(
                     manifest,
                     [](auto* m) { m->set_value_digest("0123456789abcdef"); },
                     Repair::kEnvelope),
                 9)),
      Valid("future/minor_with_an_item", "WIRE-4 CARRY-1",
            with(EditedManifestV2(
                     manifest,
                     [](auto* m) {
                       v2::ItemRecord* record = m->add_inventory();
                       record->set_item(static_cast<Item>(Item::WITNESS + 1));
                       record->set_presence(Presence::PRESENCE_SAVED);
                       record->set_as_of_step(60);
                     },
                     Repair::kEnvelope),
                 9)),
      Refused("future/minor_with_an_enum_value", Refusal::INVALID_VALUE,
              "MAN-4", "sched.unit",
              with(EditedManifestV2(manifest,
                                    [](auto* m) {
                                      m->mutable_schedule()->set_unit(
                                          static_cast<v2::Schedule::Unit>(9));
                                    }),
                   9)),
      Refused(
          "future/minor_with_a_required_feature", Refusal::UNKNOWN_FEATURE,
          "FEAT-1", "sparse-moments",
          with(EditedManifestV2(
                   manifest + unknown_field,
                   [](auto* m) { m->add_required_features("sparse-moments"); }),
               9)),
  };
}

std::vector<TestVector> UnsupportedVectors() {
  std::vector<TestVector> vectors = {
      Edited("required_feature", Refusal::UNKNOWN_FEATURE, "FEAT-1",
             "\"sparse-moments\"",
             [](auto* m) { m->add_required_features("sparse-moments"); }),
      // What else is wrong is not what is said.
      Edited("required_feature_first", Refusal::UNKNOWN_FEATURE, "FEAT-1",
             "\"sparse-moments\"",
             [](auto* m) {
               m->add_required_features("sparse-moments");
               m->clear_inventory();
               m->clear_tensors();
             }),
      Edited("dtype", Refusal::INVALID_VALUE, "TABLE-4 MAN-4",
             "dtypes has the value 99",
             [](auto* m) {
               m->mutable_tensors()->set_dtypes(0, static_cast<v2::DType>(99));
             }),
      Edited("digest_algorithm", Refusal::INVALID_VALUE, "DIGEST-1",
             "DigestAlgorithm",
             [](auto* m) {
               m->set_digest_algorithm(static_cast<v2::DigestAlgorithm>(7));
             }),
      Edited("optimizer", Refusal::INVALID_VALUE, "OPT-1", "\"lion\"",
             [](auto* m) { m->mutable_optimizer()->set_kind("lion"); }),
  };
  for (TestVector& vector : vectors) {
    vector.path =
        absl::StrCat("unsupported/", vector.path.substr(sizeof("invalid")));
  }
  return vectors;
}

std::vector<TestVector> TornVectors() {
  const Files full = Written(FullSnapshot(60));
  const std::string& manifest = full.at(kManifestName);
  const std::string& shard = full.at(kShard);
  auto with = [&full](const std::string& name, const std::string& bytes) {
    Files files = full;
    files[name] = bytes;
    return files;
  };
  auto without = [&full](const std::string& name) {
    Files files = full;
    files.erase(name);
    return files;
  };
  auto flipped = [](std::string bytes, size_t at) {
    bytes[at] ^= 1;
    return bytes;
  };
  Snapshot other = FullSnapshot(60);
  other.buffers = {FloatTensor("norm.mean", {}, {-1})};
  Files swapped = Written(FullSnapshot(60), 1);
  // Two shards of one size.
  std::swap(swapped["shard-0000-0001.bin"], swapped["shard-0000-0002.bin"]);
  const std::string zeros(shard.size(), '\0');
  return {
      Refused("torn/no_manifest", Refusal::CORRUPT, "FOLD-1",
              "no manifest.ckpt", without(kManifestName)),
      Refused("torn/empty_manifest", Refusal::TRUNCATED, "ENV-3",
              "the file is empty", with(kManifestName, "")),
      Refused("torn/half_an_envelope", Refusal::TRUNCATED, "ENV-3", "found 24",
              with(kManifestName, manifest.substr(0, 24))),
      Refused("torn/half_a_manifest", Refusal::TRUNCATED, "ENV-10",
              "found 1000", with(kManifestName, manifest.substr(0, 1000))),
      Refused("torn/manifest_byte_appended", Refusal::CORRUPT, "ENV-11",
              "after the manifest", with(kManifestName, manifest + '\0')),
      Refused("torn/manifest_bit", Refusal::CORRUPT, "ENV-12",
              "manifest digest", with(kManifestName, flipped(manifest, 700))),
      Refused("torn/version_bit", Refusal::CORRUPT, "ENV-7", "CRC-32",
              with(kManifestName, flipped(manifest, 12))),
      Refused("torn/manifest_of_zeros", Refusal::NOT_A_CHECKPOINT, "ENV-4",
              "never reached the disk",
              with(kManifestName, std::string(manifest.size(), '\0'))),
      Refused("torn/manifest_zip", Refusal::NOT_A_CHECKPOINT, "ENV-4", "zip",
              with(kManifestName, "PK\x03\x04 and so on")),
      Refused("torn/manifest_pickle", Refusal::NOT_A_CHECKPOINT, "ENV-4",
              "pickle", with(kManifestName, "\x80\x02}q.")),
      Refused("torn/no_shard", Refusal::CORRUPT, "FOLD-3", "incomplete copy",
              without(kShard)),
      Refused("torn/empty_shard", Refusal::TRUNCATED, "FOLD-3",
              "bytes, found 0", with(kShard, "")),
      Refused("torn/shard_short_by_a_byte", Refusal::TRUNCATED, "FOLD-3",
              "bytes, found 4095",
              with(kShard, shard.substr(0, shard.size() - 1))),
      Refused("torn/shard_byte_appended", Refusal::CORRUPT, "FOLD-3",
              "bytes, found 4097", with(kShard, shard + '\0')),
      Refused("torn/shard_first_bit", Refusal::CORRUPT, "DIGEST-3",
              "conv.weight: damaged in bytes [0, 16)",
              with(kShard, flipped(shard, 0))),
      Refused("torn/shard_of_zeros", Refusal::CORRUPT, "DIGEST-3",
              "conv.weight", with(kShard, zeros)),
      Refused("torn/shard_second_half_zeros", Refusal::CORRUPT, "DIGEST-3",
              "damaged in bytes",
              with(kShard, shard.substr(0, 200) +
                               std::string(shard.size() - 200, '\0'))),
      Refused("torn/gap_not_zero", Refusal::CORRUPT, "SHARD-2",
              "offset 16: between tensors", with(kShard, flipped(shard, 16))),
      Refused("torn/tail_not_zero", Refusal::CORRUPT, "SHARD-2",
              "offset 4095: between tensors",
              with(kShard, flipped(shard, 4095))),
      Refused("torn/shard_of_another_checkpoint", Refusal::CORRUPT, "DIGEST-3",
              "model.buffers norm.mean",
              with(kShard, Written(other).at(kShard))),
      Refused("torn/shards_swapped", Refusal::CORRUPT, "SHARD-2 DIGEST-3",
              "between tensors", swapped),
      Refused("torn/damage_without_digest_file", Refusal::CORRUPT,
              "DIGEST-3 DIGEST-5", "its digest file cannot say where",
              [&] {
                Files files = with(kShard, flipped(shard, 0));
                files.erase(absl::StrCat(kShard, ".digests"));
                return files;
              }()),
      Refused("torn/root_of_another_value", Refusal::CORRUPT, "DIGEST-3",
              "conv.weight",
              with(kManifestName,
                   WithEnvelope(EditedManifestV2(
                       ManifestOf(full),
                       [](auto* m) {
                         (*m->mutable_tensors()->mutable_root_digests())[0] ^=
                             1;
                       })))),
  };
}

std::vector<TestVector> WireVectors() {
  const std::string manifest = ManifestOf(Written(FullSnapshot(60), 300));
  auto bytes = [](const std::string& name, Refusal refusal,
                  const std::string& rules, const std::string& text,
                  const std::string& message) {
    return Refused(absl::StrCat("invalid/", name), refusal, rules, text,
                   {{kManifestName, WithEnvelope(message)}});
  };
  std::string records;
  for (int i = 0; i < 30'000; ++i) records += std::string("\x2a\x00", 2);
  Envelope hostile;
  hostile.major = 2;
  hostile.manifest_length = uint64_t{1} << 63;
  return {
      Refused("invalid/hostile_length", Refusal::LIMIT, "ENV-9 LIM-2",
              "manifest length 9223372036854775808",
              {{kManifestName, EncodeEnvelope(hostile)}}),
      bytes("empty_message", Refusal::MISSING_ITEM, "RUN-1", "counters.step",
            ""),
      bytes("not_a_message", Refusal::CORRUPT, "WIRE-1", "wire type",
            "not a message"),
      bytes("cut_message", Refusal::CORRUPT, "WIRE-1", "announced",
            manifest.substr(0, manifest.size() - 3)),
      bytes("unknown_field", Refusal::CORRUPT, "WIRE-4", "field 99",
            manifest + std::string("\x9a\x06\x03new", 6)),
      bytes("field_twice", Refusal::CORRUPT, "WIRE-3", "comes twice",
            manifest + "\x10\x3c"),
      bytes(
          "number_too_long", Refusal::CORRUPT, "WIRE-1",
          "longer than ten bytes",
          std::string("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12)),
      bytes("not_utf8", Refusal::CORRUPT, "WIRE-2", "UTF-8",
            std::string("\x1a\x02\xff\xfe", 4)),
      bytes("empty_records", Refusal::MISSING_ITEM, "RUN-1 WIRE-5",
            "counters.step", records),
  };
}

std::vector<TestVector> TableVectors() {
  auto table = [](v2::Manifest* m) { return m->mutable_tensors(); };
  const Refusal corrupt = Refusal::CORRUPT;
  const Refusal invalid = Refusal::INVALID_VALUE;
  // Rows of FullSnapshot: conv.weight, embed.weight, fc.bias, fc.weight,
  // head.weight (an alias of embed.weight), then buffers and the rest.
  return {
      Edited(
          "extent_length_2_63", corrupt, "TABLE-6", "9223372036854775808",
          [=](auto* m) { table(m)->set_extent_lengths(0, uint64_t{1} << 63); }),
      Edited("extent_length_zero", corrupt, "TABLE-6 SHARD-1", "an extent of 0",
             [=](auto* m) { table(m)->set_extent_lengths(0, 0); }),
      Edited("extents_overlap", corrupt, "SHARD-1", "expected 64",
             [=](auto* m) { table(m)->set_extent_offsets(1, 0); }),
      Edited("extent_misaligned", corrupt, "SHARD-1", "at offset 65",
             [=](auto* m) { table(m)->set_extent_offsets(1, 65); }),
      Edited("extent_negative", corrupt, "SHARD-1", "expected 0",
             [=](auto* m) { table(m)->set_extent_offsets(0, ~uint64_t{0}); }),
      Edited("extent_outside", corrupt, "SHARD-1", "expected 64",
             [=](auto* m) { table(m)->set_extent_offsets(1, 1 << 20); }),
      Edited("extent_in_no_shard", corrupt, "SHARD-1", "in shard 4000000000",
             [=](auto* m) { table(m)->set_extent_shards(0, 4000000000); }),
      Edited("shard_size", corrupt, "SHARD-1", "bytes announced",
             [](auto* m) { m->mutable_shards(0)->set_size(8192); }),
      Edited(
          "shard_size_2_63", corrupt, "SHARD-1", "bytes announced",
          [](auto* m) { m->mutable_shards(0)->set_size(uint64_t{1} << 63); }),
      Edited("shard_twice", corrupt, "FOLD-2", "comes twice",
             [](auto* m) { *m->add_shards() = m->shards(0); }),
      Edited("shard_without_extents", corrupt, "SHARD-1", "shard-0009-0000",
             [](auto* m) {
               auto* shard = m->add_shards();
               shard->set_writer(9);
               shard->set_number(0);
               shard->set_size(4096);
             }),
      Edited("shard_without_writer", corrupt, "FOLD-2", "lacks its writer",
             [](auto* m) { m->mutable_shards(0)->clear_writer(); }),
      Edited("shape_overflow", Refusal::LIMIT, "TABLE-4", "2^63 - 1",
             [=](auto* m) {
               table(m)->set_shapes(0, uint64_t{1} << 62);
               table(m)->set_shapes(1, uint64_t{1} << 62);
             }),
      Edited("shape_overflow_to_zero", Refusal::LIMIT, "TABLE-4", "2^63 - 1",
             [=](auto* m) {
               table(m)->set_shapes(0, uint64_t{1} << 32);
               table(m)->set_shapes(1, uint64_t{1} << 32);
             }),
      Edited("shape_other_than_extent", corrupt, "TABLE-6",
             "expected 32 bytes by its shape, found an extent of 16",
             [=](auto* m) { table(m)->set_shapes(0, 4); }),
      Edited("no_extents", corrupt, "TABLE-1 TABLE-6", "column extent_shards",
             [=](auto* m) { table(m)->set_extent_counts(0, 0); }),
      Edited("two_tensors_of_one_name", invalid, "TABLE-2",
             "two tensors of this name",
             [=](auto* m) {
               std::string* text = table(m)->mutable_names()->mutable_text();
               text->replace(text->find("fc.weight"), 9, "fc.bias!!");
               table(m)->mutable_names()->set_lengths(3, 7);
               table(m)->mutable_names()->set_lengths(4, 13);
             }),
      Edited("not_sorted", invalid, "TABLE-2", "not sorted",
             [=](auto* m) {
               table(m)->mutable_names()->mutable_text()->replace(0, 4, "zonv");
             }),
      Edited("item_without_tensors", invalid, "TABLE-2",
             "witness: tensor conv.weight",
             [=](auto* m) { table(m)->set_items(0, Item::WITNESS); }),
      Edited("part_of_a_parameter", invalid, "TABLE-2", "name their part",
             [=](auto* m) {
               auto* parts = table(m)->mutable_parts();
               parts->mutable_text()->insert(0, "x");
               parts->set_lengths(0, 1);
             }),
      Edited("name_empty", Refusal::MISSING_ITEM, "TABLE-3", "without a name",
             [=](auto* m) {
               auto* names = table(m)->mutable_names();
               names->mutable_text()->erase(0, 11);
               names->set_lengths(0, 0);
             }),
      Edited("name_too_long", Refusal::LIMIT, "TABLE-3 LIM-2", "has 1025 bytes",
             [=](auto* m) {
               auto* names = table(m)->mutable_names();
               names->mutable_text()->insert(0, std::string(1014, 'a'));
               names->set_lengths(0, 1025);
             }),
      Edited("name_with_nul", invalid, "TABLE-3", "contains NUL",
             [=](auto* m) {
               (*table(m)->mutable_names()->mutable_text())[1] = '\0';
             }),
      Edited("name_not_utf8", invalid, "TABLE-3", "not UTF-8",
             [=](auto* m) {
               (*table(m)->mutable_names()->mutable_text())[1] = '\xff';
             }),
      Edited("names_do_not_add_up", corrupt, "TABLE-1", "the lengths add up",
             [=](auto* m) {
               table(m)->mutable_names()->set_lengths(0, 0xffffffff);
             }),
      Edited("column_too_short", corrupt, "TABLE-1", "column items",
             [=](auto* m) { table(m)->mutable_items()->RemoveLast(); }),
      Edited("column_too_long", corrupt, "TABLE-1", "column aliases",
             [=](auto* m) { table(m)->add_aliases(0); }),
      Edited("rank_too_high", Refusal::LIMIT, "LIM-2", "rank 33",
             [=](auto* m) { table(m)->set_ranks(0, 33); }),
      Edited("rank_other_than_shape", corrupt, "TABLE-1", "column shapes",
             [=](auto* m) { table(m)->set_ranks(0, 3); }),
      Edited("roots_too_short", corrupt, "TABLE-1", "column root_digests",
             [=](auto* m) { table(m)->mutable_root_digests()->pop_back(); }),
      Edited("too_many_extents", Refusal::LIMIT, "LIM-2", "1025 extents",
             [=](auto* m) { table(m)->set_extent_counts(0, 1025); }),
      Edited("order_no_permutation", corrupt, "TABLE-5", "no permutation",
             [=](auto* m) { table(m)->set_dimension_orders(0, 3); }),
      Edited("order_outside", corrupt, "TABLE-5", "no permutation",
             [=](auto* m) { table(m)->set_dimension_orders(0, 4000000000); }),
      Edited("alias_of_a_later_one", corrupt, "TABLE-7", "no earlier one",
             [=](auto* m) { table(m)->set_aliases(4, 6); }),
      Edited("alias_of_another_shape", corrupt, "TABLE-7",
             "the same storage as model.params fc.bias",
             [=](auto* m) { table(m)->set_aliases(4, 3); }),
      Edited("ties_not_recorded", invalid, "TABLE-9", "model.ties",
             [](auto* m) {
               auto* record = RecordOfV2(m, Item::MODEL_TIES);
               record->set_presence(Presence::PRESENCE_NOT_APPLICABLE);
               record->set_reason("none");
             }),
      Edited("no_table", corrupt, "TABLE-1", "no tensor table",
             [](auto* m) { m->clear_tensors(); }),
  };
}

std::vector<TestVector> RecordVectors() {
  const Refusal missing = Refusal::MISSING_ITEM;
  const Refusal invalid = Refusal::INVALID_VALUE;
  auto mark = [](v2::Manifest* m, Item item, Presence presence,
                 const std::string& reason) {
    auto* record = RecordOfV2(m, item);
    record->set_presence(presence);
    record->set_reason(reason);
  };
  return {
      Edited("no_step", missing, "RUN-1", "counters.step",
             [](auto* m) { m->clear_step(); }),
      Edited("no_run_id", missing, "RUN-1", "run.run_id",
             [](auto* m) { m->mutable_run()->clear_run_id(); }),
      Edited("run_id_not_hex", invalid, "RUN-1", "32 lower-case",
             [](auto* m) { m->mutable_run()->set_run_id("x"); }),
      Edited("attempt_zero", invalid, "RUN-1", "at least 1, found 0",
             [](auto* m) { m->mutable_run()->set_attempt(0); }),
      Edited("parent_of_the_first_attempt", invalid, "RUN-3", "attempt 1",
             [](auto* m) {
               m->mutable_run()->mutable_parent()->set_step(50);
               m->mutable_run()->mutable_parent()->set_value_digest(
                   "0123456789abcdef");
             }),
      Edited("parent_without_digest", missing, "MAN-6",
             "the parent has no digest",
             [](auto* m) {
               m->mutable_run()->set_attempt(2);
               m->mutable_run()->mutable_parent()->set_step(50);
             }),
      Edited("parent_of_a_later_step", invalid, "RUN-3", "lies after step 60",
             [](auto* m) {
               m->mutable_run()->set_attempt(2);
               m->mutable_run()->mutable_parent()->set_step(61);
               m->mutable_run()->mutable_parent()->set_value_digest(
                   "0123456789abcdef");
             }),
      Edited("parent_digest_short", invalid, "MAN-6", "expected 16 bytes",
             [](auto* m) {
               m->mutable_run()->set_attempt(2);
               m->mutable_run()->mutable_parent()->set_step(50);
               m->mutable_run()->mutable_parent()->set_value_digest("short");
             }),
      Edited("history_skips_a_major", invalid, "MAN-7", "from 1 to 3",
             [](auto* m) {
               auto* step = m->add_history();
               step->set_from_major(1);
               step->set_to_major(3);
               step->set_source_manifest_digest("0123456789abcdef");
             }),
      Edited("no_record", missing, "MAN-1", "witness: there is no record",
             [](auto* m) { m->mutable_inventory()->RemoveLast(); }),
      Edited("record_twice", invalid, "MAN-1", "witness: two records",
             [](auto* m) { *m->add_inventory() = m->inventory(49); }),
      Edited("records_out_of_order", invalid, "MAN-1", "out of order",
             [](auto* m) { m->mutable_inventory()->SwapElements(0, 1); }),
      Edited("record_of_no_item", invalid, "MAN-1", "no item of version 2",
             [](auto* m) {
               auto* record = m->add_inventory();
               record->set_item(Item::RUN);
               record->set_presence(Presence::PRESENCE_SAVED);
               record->set_as_of_step(60);
             }),
      Edited("no_presence", invalid, "ITEM-2", "mode: presence",
             [=](auto* m) { RecordOfV2(m, Item::MODE)->clear_presence(); }),
      Edited("no_reason", missing, "ITEM-2", "without a reason",
             [=](auto* m) {
               mark(m, Item::RNG_CUDA, Presence::PRESENCE_OMITTED, "");
             }),
      Edited("reason_for_saved", invalid, "ITEM-2", "with a reason",
             [=](auto* m) {
               mark(m, Item::MODE, Presence::PRESENCE_SAVED, "why not");
             }),
      Edited("empty_that_cannot_be", invalid, "MAN-1",
             "scaler.scale: recorded as EMPTY",
             [=](auto* m) {
               mark(m, Item::SCALER_SCALE, Presence::PRESENCE_EMPTY, "");
             }),
      Edited("empty_after_applied_steps", missing, "ITEM-6",
             "EMPTY after 60 applied steps",
             [=](auto* m) {
               mark(m, Item::OPTIM_STEP, Presence::PRESENCE_EMPTY, "");
               for (auto& group : *m->mutable_optimizer()->mutable_groups()) {
                 group.clear_steps();
               }
             }),
      Edited("of_an_earlier_step", invalid, "ITEM-3", "as of step 59",
             [](auto* m) {
               RecordOfV2(m, Item::SCHED_POSITION)->set_as_of_step(59);
             }),
      Edited("no_as_of_step", missing, "ITEM-3", "as_of_step is absent",
             [](auto* m) {
               RecordOfV2(m, Item::SCHED_POSITION)->clear_as_of_step();
             }),
      Edited("step_not_saved", missing, "MAN-1", "counters.step: always SAVED",
             [=](auto* m) {
               mark(m, Item::COUNTERS_STEP, Presence::PRESENCE_OMITTED, "-");
             }),
      Edited("omitted_with_value", invalid, "MAN-2",
             "scaler.scale: field scaler.scale has a value",
             [=](auto* m) {
               mark(m, Item::SCALER_SCALE, Presence::PRESENCE_OMITTED, "-");
             }),
      Edited("not_applicable_with_tensors", invalid, "MAN-3",
             "model.buffers: there are tensors",
             [=](auto* m) {
               mark(m, Item::MODEL_BUFFERS, Presence::PRESENCE_NOT_APPLICABLE,
                    "none");
             }),
      Edited("saved_without_tensors", missing, "MAN-3",
             "accum.grads: recorded as SAVED",
             [=](auto* m) {
               mark(m, Item::ACCUM_GRADS, Presence::PRESENCE_SAVED, "");
             }),
      Edited(
          "moments_absent", missing, "ITEM-6 OPT-4",
          "optim.moments: parameter fc.bias has taken 5 steps",
          [](auto* m) {
            m->mutable_optimizer()->mutable_groups(1)->set_steps(0, 5);
          },
          FullSnapshot(0)),
  };
}

std::vector<TestVector> FieldVectors() {
  const Refusal missing = Refusal::MISSING_ITEM;
  const Refusal invalid = Refusal::INVALID_VALUE;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  auto absent = [&](const std::string& name, const std::string& text,
                    const std::function<void(v2::Manifest*)>& edit) {
    return Edited(absl::StrCat("absent_", name), missing, "MAN-2 ITEM-4", text,
                  edit);
  };
  return {
      absent("growth_tracker", "scaler.growth_tracker",
             [](auto* m) { m->mutable_scaler()->clear_growth_tracker(); }),
      absent("scaler", "scaler.scale", [](auto* m) { m->clear_scaler(); }),
      absent("scaler_arithmetic", "scaler.arithmetic",
             [](auto* m) { m->mutable_scaler()->clear_arithmetic(); }),
      absent("cursor", "sampler.cursor",
             [](auto* m) { m->mutable_sampler()->clear_cursor(); }),
      absent("ema_updates", "ema.updates",
             [](auto* m) { m->mutable_ema()->clear_updates(); }),
      absent("lr", "sched.applied: recorded as SAVED",
             [](auto* m) {
               m->mutable_optimizer()->mutable_groups(1)->clear_lr();
             }),
      absent("group_name", "optim.groups: field optimizer.groups[0].name",
             [](auto* m) {
               m->mutable_optimizer()->mutable_groups(0)->clear_name();
             }),
      absent("groups", "optim.groups",
             [](auto* m) { m->mutable_optimizer()->clear_groups(); }),
      Edited("steps_of_no_parameter", Refusal::CORRUPT, "OPT-5",
             "0 steps of 1 parameters",
             [](auto* m) {
               m->mutable_optimizer()->mutable_groups(0)->clear_steps();
             }),
      absent(
          "generator_state", "rng.cpu: field random.cpu.state",
          [](auto* m) { m->mutable_random()->mutable_cpu()->clear_state(); }),
      absent("fingerprint", "data.fingerprint",
             [](auto* m) { m->mutable_data()->clear_fingerprint(); }),
      absent("witness", "witness: recorded as SAVED",
             [](auto* m) { m->clear_witness(); }),
      absent("config_value", "config: field config.fields[0].value",
             [](auto* m) {
               m->mutable_config()->mutable_fields(0)->clear_value();
             }),
      absent("mode", "mode: recorded as SAVED",
             [](auto* m) { m->mutable_model()->clear_mode(); }),
      absent("frozen", "frozen.flags: recorded as SAVED",
             [](auto* m) { m->mutable_model()->clear_frozen(); }),
      absent("user_value", "user: bytes has no value",
             [](auto* m) { m->mutable_user(0)->clear_bytes_value(); }),
      Refused("invalid/value_digest", Refusal::CORRUPT, "VALUE-4",
              "value digest",
              {{kManifestName,
                WithEnvelope(EditedManifestV2(
                    ManifestOf(Written(FullSnapshot(60), 300)),
                    [](auto* m) { m->mutable_scaler()->set_scale(1024); },
                    Repair::kEnvelope))}}),
      Edited("enum_unspecified_rule", missing, "MAN-4",
             "config: field config.fields[0].rule",
             [](auto* m) {
               m->mutable_config()->mutable_fields(0)->clear_rule();
             }),
      Edited("scale_zero", invalid, "SCAL-1", "scale 0",
             [](auto* m) { m->mutable_scaler()->set_scale(0); }),
      Edited("scale_infinite", invalid, "SCAL-1", "scale inf",
             [=](auto* m) {
               m->mutable_scaler()->set_scale(static_cast<float>(inf));
             }),
      Edited("tracker_at_interval", invalid, "SCAL-2",
             "growth interval 20, found 20",
             [](auto* m) { m->mutable_scaler()->set_growth_tracker(20); }),
      Edited("growth_interval_zero", invalid, "SCAL-2", "growth interval",
             [](auto* m) { m->mutable_scaler()->set_growth_interval(0); }),
      Edited("growth_factor_one", invalid, "SCAL-3", "growth factor 1",
             [](auto* m) { m->mutable_scaler()->set_growth_factor(1); }),
      Edited("backoff_factor_one", invalid, "SCAL-3", "backoff factor 1",
             [](auto* m) { m->mutable_scaler()->set_backoff_factor(1); }),
      Edited("min_scale_negative", invalid, "SCAL-3", "smallest scale -1",
             [](auto* m) { m->mutable_scaler()->set_min_scale(-1); }),
      Edited("horizon_zero", invalid, "SCHED-1", "sched.horizon",
             [](auto* m) { m->mutable_schedule()->set_horizon(0); }),
      Edited("warmup_beyond_horizon", invalid, "SCHED-1", "warm-up 301",
             [](auto* m) { m->mutable_schedule()->set_warmup(301); }),
      Edited("final_fraction_two", invalid, "SCHED-1", "final fraction 2",
             [](auto* m) { m->mutable_schedule()->set_final_fraction(2); }),
      Edited("plateau_factor_zero", invalid, "SCHED-3", "factor 0",
             [](auto* m) {
               m->mutable_schedule()->mutable_state()->set_factor(0);
             }),
      Edited("beta_one", invalid, "OPT-3", "beta1 1",
             [](auto* m) {
               m->mutable_optimizer()->mutable_groups(0)->set_beta1(1);
             }),
      Edited("beta_absent", missing, "OPT-3", "field beta1 is absent",
             [](auto* m) {
               m->mutable_optimizer()->mutable_groups(0)->clear_beta1();
             }),
      Edited("momentum_of_adam", invalid, "OPT-3", "no option of this",
             [](auto* m) {
               m->mutable_optimizer()->mutable_groups(0)->set_momentum(0.9);
             }),
      Edited("lr_nan", invalid, "OPT-3", "lr nan",
             [=](auto* m) {
               m->mutable_optimizer()->mutable_groups(0)->set_lr(nan);
             }),
      Edited("two_groups_of_one_name", invalid, "OPT-2",
             "two groups are called decay",
             [](auto* m) {
               m->mutable_optimizer()->mutable_groups(1)->set_name("decay");
             }),
      Edited("parameter_in_two_groups", invalid, "OPT-2", "in the groups twice",
             [](auto* m) {
               auto* group = m->mutable_optimizer()->mutable_groups(1);
               group->mutable_parameters()->mutable_text()->append("fc.weight");
               group->mutable_parameters()->add_lengths(9);
               group->add_steps(60);
             }),
      Edited(
          "parameter_of_no_model", invalid, "OPT-2 OPT-5",
          "moments of fc.weight, which is in no group",
          [](auto* m) {
            auto* names =
                m->mutable_optimizer()->mutable_groups(0)->mutable_parameters();
            names->set_text("fc.wrong!");
          }),
      Edited("step_without_moments", invalid, "OPT-4",
             "moments before its first step",
             [](auto* m) {
               m->mutable_optimizer()->mutable_groups(0)->set_steps(0, 0);
             }),
      Edited("batch_size_zero", invalid, "DATA-4", "batch size",
             [](auto* m) { m->mutable_sampler()->set_batch_size(0); }),
      Edited("dataset_smaller_than_a_batch", invalid, "DATA-4",
             "fewer than one batch",
             [](auto* m) { m->mutable_sampler()->set_dataset_size(9); }),
      Edited("cursor_in_a_batch", invalid, "DATA-4", "no whole batches",
             [](auto* m) { m->mutable_sampler()->set_cursor(605); }),
      Edited("samples_other_than_cursor", invalid, "DATA-5",
             "610 samples trained",
             [](auto* m) { m->mutable_counters()->set_samples(610); }),
      Edited("applied_and_skipped", invalid, "DATA-5", "are not 60",
             [](auto* m) { m->mutable_counters()->set_skipped(5); }),
      Edited("accumulation_whole", invalid, "ACC-1", "a whole step",
             [](auto* m) { m->mutable_accumulation()->set_count(4); }),
      Edited("gradients_empty_in_step", missing, "ACC-1",
             "2 micro-steps are done",
             [](auto* m) { m->mutable_accumulation()->set_count(2); }),
      Edited(
          "gradients_at_a_boundary", invalid, "ACC-1", "at a boundary",
          [](auto* m) { m->mutable_accumulation()->set_count(0); },
          FullSnapshotInStep(60, 2)),
      Edited("ema_decay_one", invalid, "EMA-1", "decay 1",
             [](auto* m) { m->mutable_ema()->set_decay(1); }),
      Edited("clip_limit_zero", invalid, "CLIP-1", "limit 0",
             [](auto* m) { m->mutable_clip()->set_limit(0); }),
      Edited("clip_value_with_norm", invalid, "CLIP-1", "only a norm",
             [](auto* m) {
               m->mutable_clip()->set_kind(v2::GradientClip::VALUE);
             }),
      Edited("evaluation_of_a_later_step", invalid, "EVAL-1",
             "the last one is of step 61",
             [](auto* m) {
               m->mutable_evaluation()->mutable_last()->set_step(61);
             }),
      Edited("best_nan", invalid, "EVAL-1", "NaN",
             [=](auto* m) { m->mutable_best()->set_value(nan); }),
      Edited("best_of_a_later_step", invalid, "EVAL-1", "best: is of step 61",
             [](auto* m) { m->mutable_best()->set_step(61); }),
      Edited("min_delta_negative", invalid, "EVAL-1", "smallest difference",
             [](auto* m) { m->mutable_early_stop()->set_min_delta(-1); }),
      Edited("witness_digest_short", invalid, "WIT-1", "next samples",
             [](auto* m) { m->mutable_witness()->set_next_samples("x"); }),
      Edited("witness_of_nothing", missing, "WIT-1", "nothing is in it",
             [](auto* m) { m->mutable_witness()->Clear(); }),
      Edited("fingerprint_short", invalid, "MAN-2", "expected 16 bytes",
             [](auto* m) {
               m->mutable_data()->mutable_fingerprint()->set_digest("x");
             }),
      Edited(
          "generator_not_cpu", invalid, "RNG-2", "generator \"gpu\"",
          [](auto* m) { m->mutable_random()->mutable_cpu()->set_name("gpu"); }),
      Edited("kernel_probe_short", invalid, "ENVT-1", "kernel probe",
             [](auto* m) { m->mutable_environment()->set_kernel_probe("x"); }),
      Edited("threads_zero", invalid, "ENVT-1", "threads 0",
             [](auto* m) { m->mutable_environment()->set_threads(0); }),
      Edited("config_not_sorted", invalid, "MAN-5", "out of order",
             [](auto* m) {
               m->mutable_config()->mutable_fields()->SwapElements(0, 1);
             }),
      Edited("config_twice", invalid, "MAN-5", "comes twice",
             [](auto* m) {
               *m->mutable_config()->add_fields() = m->config().fields(1);
             }),
      Edited("config_in_the_wrong_list", invalid, "CONF-2",
             "wrong list for its rule",
             [](auto* m) {
               m->mutable_config()->mutable_fields(0)->set_rule(
                   ResumeRule::RECORDED);
             }),
      Edited("user_not_sorted", invalid, "MAN-5",
             "user:", [](auto* m) { m->mutable_user()->SwapElements(0, 1); }),
      Edited("frozen_of_no_model", invalid, "OPT-5",
             "head.wrong! is no parameter",
             [](auto* m) {
               m->mutable_model()->mutable_frozen()->set_text(
                   "embed.weighthead.wrong!");
             }),
  };
}

}  // namespace

std::vector<TestVector> VectorsOfV2() {
  return Joined({ValidVectors(), FutureVectors(), UnsupportedVectors(),
                 TornVectors(), WireVectors(), TableVectors(), RecordVectors(),
                 FieldVectors()});
}

}  // namespace reprise
