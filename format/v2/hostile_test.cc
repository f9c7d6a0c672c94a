// Files made to hurt a reader: each is refused with a type, in little memory.
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/envelope.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "format/v2/codec.h"
#include "format/v2/limits.h"
#include "format/v2/save.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

// Every allocation of this program is counted.
namespace {
std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> peak_bytes{0};
void* Counted(size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  const int64_t live = live_bytes +=
      static_cast<int64_t>(malloc_usable_size(memory));
  int64_t peak = peak_bytes;
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live)) {
  }
  return memory;
}
void Uncounted(void* memory) {
  if (memory == nullptr) return;
  live_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}
}  // namespace
void* operator new(size_t size) { return Counted(size); }
void* operator new[](size_t size) { return Counted(size); }
// What is not replaced is a sanitizer's own, and its memory not free()'s.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return Counted(size);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return Counted(size);
}
void operator delete(void* memory) noexcept { Uncounted(memory); }
void operator delete[](void* memory) noexcept { Uncounted(memory); }
void operator delete(void* memory, size_t) noexcept { Uncounted(memory); }
void operator delete[](void* memory, size_t) noexcept { Uncounted(memory); }

namespace reprise {
namespace {

namespace v2 = ::reprise::checkpoint::v2;
using ::testing::HasSubstr;

std::string Manifest(const Snapshot& snapshot, uint64_t shard_bytes = 300) {
  SaveV2Options options;
  options.shard_bytes = shard_bytes;
  auto plan = PlanV2(snapshot, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  for (TableEntry& entry : plan->draft.tensors) entry.root.assign(16, 'r');
  auto encoded = EncodeV2(plan->draft, plan->shards);
  EXPECT_TRUE(encoded.ok()) << encoded.status();
  return encoded->manifest;
}

// Bytes of memory beyond what was live that decoding needed at its peak.
int64_t PeakOfDecoding(const std::string& manifest, absl::Status* status) {
  const int64_t before = live_bytes;
  peak_bytes = before;
  *status = DecodeV2(manifest).status();
  return peak_bytes - before;
}

struct Case {
  std::string text;
  Refusal refusal;
  std::function<void(v2::Manifest*)> edit;
};

TEST(HostileV2, C36_TablesThatLieAreRefusedByNameInLittleMemory) {
  auto table = [](v2::Manifest* m) { return m->mutable_tensors(); };
  // Rows of FullSnapshot by place: model.params conv.weight, embed.weight,
  // fc.bias, fc.weight, head.weight (an alias), ...
  const std::vector<Case> cases = {
      {"extent of 9223372036854775808", Refusal::CORRUPT,
       [&](auto* m) { table(m)->set_extent_lengths(0, uint64_t{1} << 63); }},
      {"extent of 18446744073709551615", Refusal::CORRUPT,
       [&](auto* m) { table(m)->set_extent_lengths(0, ~uint64_t{0}); }},
      {"expected 64", Refusal::CORRUPT,
       [&](auto* m) { table(m)->set_extent_offsets(1, 0); }},  // overlapping
      {"embed.weight: at offset 64 of shard-0000-0000.bin, expected 0",
       Refusal::CORRUPT,
       [&](auto* m) { table(m)->set_extent_offsets(0, ~uint64_t{0}); }},
      {"fc.bias: at offset 128 of shard-0000-0000.bin, expected 64",
       Refusal::CORRUPT,  // outside
       [&](auto* m) { table(m)->set_extent_offsets(1, 1 << 20); }},
      {"in shard 4000000000", Refusal::CORRUPT,
       [&](auto* m) { table(m)->set_extent_shards(0, 4000000000); }},
      {"2^63 - 1", Refusal::LIMIT,
       [&](auto* m) {
         table(m)->set_shapes(0, uint64_t{1} << 62);
         table(m)->set_shapes(1, uint64_t{1} << 62);
       }},
      {"2^63 - 1", Refusal::LIMIT,  // whose product is 0 modulo 2^64
       [&](auto* m) {
         table(m)->set_shapes(0, uint64_t{1} << 32);
         table(m)->set_shapes(1, uint64_t{1} << 32);
       }},
      {"two tensors of this name", Refusal::INVALID_VALUE,
       [&](auto* m) {
         std::string* text = table(m)->mutable_names()->mutable_text();
         text->replace(text->find("fc.weight"), 9, "fc.bias!!");
         table(m)->mutable_names()->set_lengths(3, 7);
         table(m)->mutable_names()->set_lengths(4, 13);
       }},
      {"the table is not sorted", Refusal::INVALID_VALUE,
       [&](auto* m) {
         std::string* text = table(m)->mutable_names()->mutable_text();
         text->replace(0, 4, "zonv");
       }},
      {"the lengths add up to", Refusal::CORRUPT,
       [&](auto* m) { table(m)->mutable_names()->set_lengths(0, 0xffffffff); }},
      {"rank 4000000000", Refusal::LIMIT,
       [&](auto* m) { table(m)->set_ranks(0, 4000000000); }},
      {"column shapes", Refusal::CORRUPT,
       [&](auto* m) { table(m)->set_ranks(0, 5); }},
      {"column items", Refusal::CORRUPT,
       [&](auto* m) { table(m)->mutable_items()->RemoveLast(); }},
      {"column root_digests", Refusal::CORRUPT,
       [&](auto* m) { table(m)->mutable_root_digests()->pop_back(); }},
      {"4000000000 extents", Refusal::LIMIT,
       [&](auto* m) { table(m)->set_extent_counts(0, 4000000000); }},
      {"column extent_shards", Refusal::CORRUPT,
       [&](auto* m) { table(m)->set_extent_counts(0, 2); }},
      {"no extents for", Refusal::CORRUPT,
       [&](auto* m) {
         table(m)->set_extent_counts(0, 0);
         for (auto* column : {table(m)->mutable_extent_offsets(),
                              table(m)->mutable_extent_lengths()}) {
           column->erase(column->begin());
         }
         table(m)->mutable_extent_shards()->erase(
             table(m)->extent_shards().begin());
       }},
      {"dimension order is no permutation", Refusal::CORRUPT,
       [&](auto* m) { table(m)->set_dimension_orders(0, 3); }},
      {"dimension order is no permutation", Refusal::CORRUPT,
       [&](auto* m) { table(m)->set_dimension_orders(0, 4000000000); }},
      {"which is no earlier one", Refusal::CORRUPT,
       [&](auto* m) { table(m)->set_aliases(4, 4000000000); }},
      {"the same storage as model.params fc.bias", Refusal::CORRUPT,
       [&](auto* m) { table(m)->set_aliases(4, 3); }},
      {"dtypes has the value 99", Refusal::INVALID_VALUE,
       [&](auto* m) { table(m)->set_dtypes(0, static_cast<v2::DType>(99)); }},
      {"the item has no tensors", Refusal::INVALID_VALUE,
       [&](auto* m) { table(m)->set_items(0, Item::WITNESS); }},
      {"comes twice or out of order", Refusal::CORRUPT,
       [&](auto* m) { *m->add_shards() = m->shards(0); }},
      {"bytes announced for extents that end at", Refusal::CORRUPT,
       [&](auto* m) { m->mutable_shards(0)->set_size(uint64_t{1} << 63); }},
      {"lacks its writer", Refusal::CORRUPT,
       [&](auto* m) { m->mutable_shards(0)->clear_writer(); }},
      {"there is no tensor table", Refusal::CORRUPT,
       [&](auto* m) { m->clear_tensors(); }},
      {"contains NUL", Refusal::INVALID_VALUE,
       [&](auto* m) {
         (*table(m)->mutable_names()->mutable_text())[1] = '\0';
       }},
      {"not UTF-8", Refusal::INVALID_VALUE,
       [&](auto* m) {
         (*table(m)->mutable_names()->mutable_text())[1] = '\xff';
       }},
      {"steps of 1 parameters", Refusal::CORRUPT,
       [&](auto* m) {
         m->mutable_optimizer()->mutable_groups(0)->add_steps(1);
       }},
      {"DigestAlgorithm", Refusal::INVALID_VALUE,
       [&](auto* m) {
         m->set_digest_algorithm(static_cast<v2::DigestAlgorithm>(7));
       }},
  };
  const std::string manifest = Manifest(FullSnapshot(60));
  ASSERT_TRUE(DecodeV2(manifest).ok());
  for (const Case& c : cases) {
    const std::string edited = EditedManifestV2(manifest, c.edit);
    absl::Status status;
    const int64_t peak = PeakOfDecoding(edited, &status);
    EXPECT_EQ(RefusalOf(status), c.refusal) << c.text << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.text));
    EXPECT_LE(peak, int64_t{64} << 20) << c.text;
  }
}

TEST(HostileV2, C36_SlicesMustFillTheTensorExactly) {
  Snapshot snapshot = SmallestSnapshotV2();
  snapshot.parameters = {FloatTensor("w", {4, 2}, std::vector<float>(8, 1))};
  const std::string manifest = Manifest(snapshot);
  // Two slices: rows [0, a) and [b, b + c).
  auto sliced = [&](uint64_t a, uint64_t b, uint64_t c) {
    return DecodeV2(
               EditedManifestV2(
                   manifest,
                   [&](v2::Manifest* m) {
                     v2::TensorTable* t = m->mutable_tensors();
                     t->set_extent_counts(0, 2);
                     t->set_extent_lengths(0, a * 8);
                     t->add_extent_shards(0);
                     t->add_extent_offsets(64);
                     t->add_extent_lengths(c * 8);
                     for (uint64_t start :
                          {uint64_t{0}, uint64_t{0}, b, uint64_t{0}}) {
                       t->add_slice_starts(start);
                     }
                     for (uint64_t size : {a, uint64_t{2}, c, uint64_t{2}}) {
                       t->add_slice_shapes(size);
                     }
                   }))
        .status();
  };
  EXPECT_TRUE(sliced(1, 1, 3).ok()) << sliced(1, 1, 3);
  EXPECT_THAT(std::string(sliced(2, 1, 2).message()),
              HasSubstr("slices overlap"));
  EXPECT_THAT(std::string(sliced(1, 1, 2).message()),
              HasSubstr("slices of 24 bytes for a tensor of 32"));
  EXPECT_THAT(std::string(sliced(1, 2, 3).message()),
              HasSubstr("slice [2, +3) in dimension 0 of 4"));
  EXPECT_THAT(
      std::string(sliced(1, ~uint64_t{0}, 3).message()),
      HasSubstr("slice [18446744073709551615, +3) in dimension 0 of 4"));
}

// A tag and a length, then `count` times `element`.
std::string Repeated(const std::string& element, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += element;
  return bytes;
}

TEST(HostileV2, C36_ManyEmptyMessagesAndDeepOnesAreLimits) {
  absl::Status status;
  // 4 MiB of empty inventory records: tag 5, length 0.
  std::string manifest = Repeated(std::string("\x2a\x00", 2), 2 << 20);
  EXPECT_LE(PeakOfDecoding(manifest, &status), int64_t{1} << 20);
  EXPECT_EQ(RefusalOf(status), Refusal::LIMIT);
  EXPECT_THAT(std::string(status.message()), HasSubstr("131072 elements"));
  // As many as the limit allows, which are wrong in another way.
  manifest = Repeated(std::string("\x2a\x00", 2), kV2MaxElements);
  EXPECT_LE(PeakOfDecoding(manifest, &status), int64_t{64} << 20);
  EXPECT_FALSE(status.ok());
  // Columns of more numbers than the limit: items of the table.
  std::string column(kV2MaxNumbers + 1, '\x01');
  std::string body = absl::StrCat("\x1a", std::string("\x81\x80\x80\x10", 4));
  body += column;
  manifest = std::string("\x42") + std::string("\x86\x80\x80\x10", 4) + body;
  EXPECT_LE(PeakOfDecoding(manifest, &status), int64_t{1} << 20);
  EXPECT_EQ(RefusalOf(status), Refusal::LIMIT) << status;
}

TEST(HostileV2, MemoryIsAStatedMultipleOfTheFile) {
  Snapshot snapshot = SmallestSnapshotV2();
  snapshot.parameters.clear();
  for (int i = 0; i < 20'000; ++i) {
    snapshot.parameters.push_back(
        Tensor::View(absl::StrCat("p", i), DType::kU8, {0}, nullptr));
  }
  const std::string manifest = Manifest(snapshot);
  absl::Status status;
  const int64_t peak = PeakOfDecoding(manifest, &status);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_LE(peak, 40 * static_cast<int64_t>(manifest.size()));
  std::cout << manifest.size() << " bytes of manifest, " << peak
            << " bytes of memory" << std::endl;
}

TEST(HostileV2, C36_OtherKindsOfFileUnderOurNameAreNamed) {
  const std::string run = FreshTestFolder();
  CheckpointStore::Options options;
  options.format_major = 2;
  auto store = CheckpointStore::Open(run, options);
  ASSERT_TRUE((*store)->Save(FullSnapshot(60)).ok());
  const std::string folder = JoinPath(run, "step-000000000060");
  for (const auto& [bytes, what] :
       {std::make_pair(std::string("PK\x03\x04 and so on"), "zip"),
        std::make_pair(std::string("\x80\x02}q."), "pickle")}) {
    ASSERT_TRUE(ReplaceFile(JoinPath(folder, "manifest.ckpt"), bytes).ok());
    absl::Status status = ReadCheckpoint(folder).status();
    EXPECT_EQ(RefusalOf(status), Refusal::NOT_A_CHECKPOINT);
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  }
}

TEST(HostileV2, C36_NamesOfTensorsAreNeverPaths) {
  // The files are named by numbers; names of tensors go nowhere near a path.
  Snapshot snapshot = SmallestSnapshotV2();
  snapshot.parameters = {FloatTensor("../../etc/passwd", {2}, {1, 2}),
                         FloatTensor("/absolute", {2}, {1, 2})};
  const std::string run = FreshTestFolder();
  CheckpointStore::Options options;
  options.format_major = 2;
  auto store = CheckpointStore::Open(run, options);
  ASSERT_TRUE((*store)->Save(snapshot).ok());
  auto loaded = ReadCheckpoint(JoinPath(run, "step-000000000001"));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->snapshot.parameters[0].name(), "../../etc/passwd");
  EXPECT_EQ(FileSystem::Real()->List(run)->size(), 3u);
}

}  // namespace
}  // namespace reprise
