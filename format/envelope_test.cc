#include "format/envelope.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "format/little_endian.h"
#include "format/refusal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

// All checks, in their order, over a whole file in memory.
absl::Status Check(const std::string& file) {
  absl::StatusOr<Envelope> envelope = OpenEnvelope(file, file.size());
  if (!envelope.ok()) return envelope.status();
  return CheckManifest(*envelope,
                       absl::string_view(file).substr(kEnvelopeSize));
}

std::string FileWith(const std::string& manifest) {
  return EncodeEnvelope(1, 0, manifest) + manifest;
}

TEST(Envelope, WholeFilesPass) {
  EXPECT_TRUE(Check(FileWith("")).ok());
  EXPECT_TRUE(Check(FileWith("manifest")).ok());
}

// The hex dump of spec/SPEC.md.
// Rules: ENV-2
TEST(Envelope, BytesAreThoseOfTheSpecification) {
  EXPECT_EQ(absl::BytesToHexString(EncodeEnvelope(1, 0, "")),
            "d25250520d0a1a0a"
            "30000000"
            "01000000"
            "00000000"
            "0000000000000000"
            "99aa06d3014798d86001c324468d497f"
            "3530181f");
}

// Rules: ENV-2
TEST(Envelope, FieldsComeBack) {
  Envelope envelope;
  envelope.major = 7;
  envelope.minor = 0x01020304;
  envelope.manifest_length = 0x1122334455667788;
  envelope.manifest_digest = "0123456789abcdef";
  const std::string bytes = EncodeEnvelope(envelope);
  ASSERT_EQ(bytes.size(), kEnvelopeSize);
  absl::StatusOr<Envelope> decoded = DecodeEnvelope(bytes, bytes.size());
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->major, envelope.major);
  EXPECT_EQ(decoded->minor, envelope.minor);
  EXPECT_EQ(decoded->manifest_length, envelope.manifest_length);
  EXPECT_EQ(decoded->manifest_digest, envelope.manifest_digest);
}

// Rules: ENV-3 ENV-10
TEST(Envelope, C26_EveryTruncationIsTruncated) {
  const std::string file = FileWith("a small manifest");
  for (size_t size = 0; size < file.size(); ++size) {
    absl::Status status = Check(file.substr(0, size));
    EXPECT_EQ(RefusalOf(status), Refusal::TRUNCATED) << size << ": " << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("found ", size)));
  }
}

// Rules: ENV-5 ENV-6 ENV-7 ENV-12
TEST(Envelope, C26_EveryFlippedBitIsCorrupt) {
  const std::string file = FileWith("a small manifest");
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string damaged = file;
    damaged[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    absl::Status status = Check(damaged);
    EXPECT_EQ(RefusalOf(status), Refusal::CORRUPT) << bit << ": " << status;
  }
}

// Rules: ENV-11
TEST(Envelope, C26_AppendedByteIsCorruptAndSaysWhere) {
  absl::Status status = Check(FileWith("abc") + "x");
  EXPECT_EQ(RefusalOf(status), Refusal::CORRUPT);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("offset 51: 1 bytes after the manifest"));
}

TEST(Envelope, C26_RemovedChecksumIsRefused) {
  std::string file = FileWith("a small manifest");
  file.erase(44, 4);
  EXPECT_EQ(RefusalOf(Check(file)), Refusal::CORRUPT);
}

// Rules: ENV-8
TEST(Envelope, NewerMajorsAreTooNewBeforeAnythingElseOfTheManifest) {
  // Length and digest mean nothing to this reader yet.
  Envelope future;
  future.manifest_length = uint64_t{1} << 63;
  for (uint32_t major : {3u, 4u, 0xffffffffu}) {
    future.major = major;
    absl::Status status = Check(EncodeEnvelope(future) + "whatever");
    EXPECT_EQ(RefusalOf(status), Refusal::TOO_NEW) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("format version ", major, ".0")));
  }
}

// Rules: ENV-8
TEST(Envelope, NewerMinorsOfAKnownMajorPass) {
  EXPECT_TRUE(Check(EncodeEnvelope(1, 9, "m") + "m").ok());
}

// Rules: ENV-8
TEST(Envelope, MajorZeroIsCorrupt) {
  EXPECT_EQ(RefusalOf(Check(EncodeEnvelope(0, 0, "m") + "m")),
            Refusal::CORRUPT);
}

// Rules: ENV-9
TEST(Envelope, C36_HostileManifestLengthsAreLimits) {
  for (uint64_t length : {uint64_t{1} << 31, uint64_t{1} << 63, ~uint64_t{0},
                          ~uint64_t{0} - 47}) {
    Envelope hostile;
    hostile.major = 1;
    hostile.manifest_length = length;
    EXPECT_EQ(RefusalOf(Check(EncodeEnvelope(hostile))), Refusal::LIMIT)
        << length;
  }
}

// Rules: ENV-4
TEST(Envelope, C36_OtherKindsOfFileAreNamed) {
  absl::Status status = Check("PK\x03\x04" + std::string(100, '\x14'));
  EXPECT_EQ(RefusalOf(status), Refusal::NOT_A_CHECKPOINT);
  EXPECT_THAT(std::string(status.message()), HasSubstr("zip archive"));
  EXPECT_EQ(RefusalOf(Check("x")), Refusal::NOT_A_CHECKPOINT);
  EXPECT_EQ(RefusalOf(Check(std::string(4096, '\0'))),
            Refusal::NOT_A_CHECKPOINT);
}

// Rules: ENV-5
TEST(Envelope, TextModeTransfersAreSaidToBeThat) {
  const std::string file = FileWith("a small manifest");
  std::string unix_ends = file;
  unix_ends.erase(4, 1);
  std::string dos_ends = file;
  dos_ends.insert(4, "\r");
  std::string seven_bits = file;
  for (char& c : seven_bits) c &= 0x7f;
  for (const std::string& changed : {unix_ends, dos_ends, seven_bits}) {
    absl::Status status = Check(changed);
    EXPECT_EQ(RefusalOf(status), Refusal::CORRUPT);
    EXPECT_THAT(std::string(status.message()), HasSubstr("text-mode"));
  }
}

}  // namespace
}  // namespace reprise
