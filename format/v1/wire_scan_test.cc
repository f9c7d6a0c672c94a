#include "format/v1/wire_scan.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/v1/codec.h"
#include "format/v1/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "reprise/spec/v1/checkpoint.pb.h"

namespace {

// What `new` handed out and has not got back, and the most of it.
std::atomic<size_t> g_live{0};
std::atomic<size_t> g_peak{0};

void* Allocate(size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  const size_t live = g_live += malloc_usable_size(memory);
  size_t peak = g_peak;
  while (live > peak && !g_peak.compare_exchange_weak(peak, live)) {
  }
  return memory;
}

void Free(void* memory) {
  if (memory != nullptr) g_live -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t) noexcept { Free(memory); }

namespace reprise {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMiB = size_t{1} << 20;

absl::Status Scan(const std::string& bytes,
                  UnknownFields unknown = UnknownFields::kRefuse) {
  return ScanWire(bytes, checkpoint::v1::Checkpoint::descriptor(), unknown);
}

// A length-delimited field.
std::string Field(int number, const std::string& content) {
  std::string out;
  auto varint = [&out](uint64_t value) {
    while (value >= 0x80) {
      out.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    out.push_back(static_cast<char>(value));
  };
  varint(static_cast<uint64_t>(number) << 3 | 2);
  varint(content.size());
  return out + content;
}

std::string Repeat(const std::string& part, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += part;
  return out;
}

TEST(WireScan, ValidManifestsPass) {
  EXPECT_TRUE(Scan(*EncodeV1(SmallSnapshot(60))).ok());
  EXPECT_TRUE(Scan("").ok());
}

// Decodes a hostile manifest; the peak above what was live is bounded.
void ExpectBounded(const std::string& manifest, Refusal refusal, size_t limit) {
  const size_t before = g_live;
  g_peak = before;
  absl::Status status = DecodeV1(manifest).status();
  const size_t peak = g_peak - before;
  EXPECT_EQ(RefusalOf(status), refusal) << status;
  // One copy is the argument itself.
  EXPECT_LE(peak, limit + manifest.size()) << peak;
}

// Rules: WIRE-5 LIM-1
TEST(WireScan, C36_EmptySubmessagesDoNotMultiply) {
  // 2 MiB of empty inventory records, tensors in the model, configuration
  // fields, states: each two bytes on the wire and far more in memory.
  ExpectBounded(Repeat(Field(3, ""), kMiB), Refusal::LIMIT, kMiB);
  ExpectBounded(Field(4, Repeat(Field(3, ""), kMiB)), Refusal::LIMIT, kMiB);
  ExpectBounded(Field(10, Repeat(Field(1, ""), kMiB)), Refusal::LIMIT, kMiB);
  ExpectBounded(Field(5, Repeat(Field(4, ""), kMiB)), Refusal::LIMIT, kMiB);
}

TEST(WireScan, C36_EmptyStringsDoNotMultiply) {
  ExpectBounded(Field(5, Field(3, Repeat(Field(2, ""), kMiB))), Refusal::LIMIT,
                kMiB);
}

TEST(WireScan, C36_ShapesDoNotMultiply) {
  // A packed shape of many one-byte extents, and the same unpacked.
  ExpectBounded(Field(4, Field(3, Field(3, std::string(2 * kMiB, '\1')))),
                Refusal::LIMIT, kMiB);
  ExpectBounded(Field(4, Field(3, Repeat("\x18\x01", kMiB))), Refusal::LIMIT,
                kMiB);
}

// Rules: ENV-13 WIRE-5 LIM-1
TEST(WireScan, C36_AsManyElementsAsAllowedStayWithin64MiB) {
  // The most that passes the scan; refused later for what it says.
  const size_t count = kV1MaxElements - 1;
  ExpectBounded(Field(4, Repeat(Field(3, ""), count)), Refusal::MISSING_ITEM,
                64 * kMiB);
  // Strings that are there and empty cost an object each.
  ExpectBounded(
      Field(10, Repeat(Field(1, Field(1, "") + Field(2, "") + Field(4, "")),
                       count)),
      Refusal::MISSING_ITEM, 64 * kMiB);
  ExpectBounded(Field(5, Repeat(Field(3, Field(1, "")), count)),
                Refusal::MISSING_ITEM, 64 * kMiB);
}

TEST(WireScan, C36_NestingIsBoundedByTheSchema) {
  std::string nested;
  for (int i = 0; i < 10000; ++i) nested = Field(5, nested);
  absl::Status status = Scan(nested);
  EXPECT_EQ(RefusalOf(status), Refusal::CORRUPT) << status;
  // What a later version nests is skipped, not walked.
  EXPECT_TRUE(Scan(nested, UnknownFields::kAllow).ok());
}

// Rules: WIRE-1
TEST(WireScan, C36_LengthsBeyondTheEndAreCorrupt) {
  for (const std::string& bytes :
       {std::string("\x22\x05"), std::string("\x22\xff\xff\xff\xff\x0f"),
        std::string("\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        std::string("\x22\x02\x1a\x05"), std::string("\x10"),
        std::string("\x10\xff")}) {
    absl::Status status = Scan(bytes);
    EXPECT_EQ(RefusalOf(status), Refusal::CORRUPT) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("manifest offset"));
  }
}

// Rules: WIRE-1
TEST(WireScan, NumbersLongerThanTenBytesAreCorrupt) {
  EXPECT_EQ(RefusalOf(Scan("\x10" + std::string(10, '\xff') + "\x01")),
            Refusal::CORRUPT);
}

// Rules: WIRE-3
TEST(WireScan, SingularFieldsComeOnce) {
  absl::Status status = Scan("\x10\x01\x10\x02");
  EXPECT_EQ(RefusalOf(status), Refusal::CORRUPT);
  EXPECT_THAT(std::string(status.message()), HasSubstr("step comes twice"));
}

// Rules: WIRE-1
TEST(WireScan, WireTypesFitTheSchema) {
  // step as a string, as fixed64; the model as a number; a group.
  for (const std::string& bytes :
       {Field(2, "x"), std::string("\x11", 1) + std::string(8, '\0'),
        std::string("\x20\x01"), std::string("\x23\x24")}) {
    EXPECT_EQ(RefusalOf(Scan(bytes)), Refusal::CORRUPT);
  }
}

// Rules: WIRE-2
TEST(WireScan, StringsAreUtf8) {
  absl::Status status = Scan(Field(4, Field(1, "latin \xe4")));
  EXPECT_EQ(RefusalOf(status), Refusal::CORRUPT);
  EXPECT_THAT(std::string(status.message()), HasSubstr("architecture"));
  // Bytes are whatever they are.
  EXPECT_TRUE(Scan(Field(4, Field(3, Field(4, "\xff\xfe")))).ok());
}

// Rules: WIRE-4
TEST(WireScan, UnknownFieldsBelongToLaterMinorVersions) {
  const std::string manifest = *EncodeV1(SmallSnapshot(60)) + Field(99, "new") +
                               std::string("\xf8\x07\x01");
  EXPECT_EQ(RefusalOf(Scan(manifest)), Refusal::CORRUPT);
  EXPECT_TRUE(Scan(manifest, UnknownFields::kAllow).ok());
  EXPECT_EQ(RefusalOf(DecodeV1(manifest, 0).status()), Refusal::CORRUPT);
  absl::StatusOr<Snapshot> later = DecodeV1(manifest, 1);
  EXPECT_TRUE(later.ok()) << later.status();
  // They count as well.
  EXPECT_EQ(
      RefusalOf(Scan(Repeat("\xf8\x07\x01", kMiB), UnknownFields::kAllow)),
      Refusal::LIMIT);
  EXPECT_EQ(RefusalOf(Scan("\xfb\x07\xfc\x07", UnknownFields::kAllow)),
            Refusal::CORRUPT);
}

TEST(WireScan, ImpossibleFieldNumbersAreCorrupt) {
  EXPECT_EQ(RefusalOf(Scan(std::string("\x02\x00", 2), UnknownFields::kAllow)),
            Refusal::CORRUPT);
}

// Rules: WIRE-2 LIM-1
TEST(WireScan, WritersRefuseWhatReadersWould) {
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.config[0].value = "latin \xe4";
  EXPECT_EQ(RefusalOf(EncodeV1(snapshot).status()), Refusal::INVALID_VALUE);
  snapshot = SmallSnapshot(60);
  for (uint64_t i = 0; i < kV1MaxElements; ++i) {
    snapshot.buffers.push_back(
        Tensor::View(absl::StrCat("b", i), DType::kF32, {0}, nullptr));
  }
  EXPECT_EQ(RefusalOf(EncodeV1(snapshot).status()), Refusal::LIMIT);
}

}  // namespace
}  // namespace reprise
