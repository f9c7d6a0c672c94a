// C26: no damage to a manifest goes unnoticed, and each kind has its name.
#include <string>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/envelope.h"
#include "format/io/testing/unsynced_file_system.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/v1/codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

constexpr char kFolder[] = "/step-000000000060";
constexpr char kManifest[] = "/step-000000000060/manifest.ckpt";

std::string WholeFile() {
  const std::string manifest = *EncodeV1(SmallSnapshot(60));
  return EncodeEnvelope(1, 0, manifest) + manifest;
}

absl::Status Read(const std::string& bytes) {
  UnsyncedFileSystem files;
  EXPECT_TRUE(files.CreateFolder(kFolder).ok());
  EXPECT_TRUE(ReplaceFile(kManifest, bytes, &files).ok());
  return ReadCheckpoint(kFolder, &files).status();
}

TEST(DamageTest, UndamagedFileIsRead) {
  const std::string file = WholeFile();
  EXPECT_TRUE(Read(file).ok());
  EXPECT_LT(file.size(), 4096u);
}

// Rules: LOAD-1
TEST(DamageTest, C26_EveryTruncationIsTruncated) {
  const std::string file = WholeFile();
  for (size_t size = 0; size < file.size(); ++size) {
    absl::Status status = Read(file.substr(0, size));
    ASSERT_EQ(RefusalOf(status), Refusal::TRUNCATED) << size << ": " << status;
    ASSERT_THAT(std::string(status.message()), HasSubstr(kManifest));
    ASSERT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("found ", size)));
  }
}

// Rules: LOAD-1
TEST(DamageTest, C26_EveryFlippedBitIsCorruptAndSaysWhere) {
  const std::string file = WholeFile();
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string damaged = file;
    damaged[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    absl::Status status = Read(damaged);
    ASSERT_EQ(RefusalOf(status), Refusal::CORRUPT) << bit << ": " << status;
    ASSERT_THAT(std::string(status.message()), HasSubstr("offset"));
  }
}

TEST(DamageTest, C26_AppendedByteIsCorrupt) {
  for (char byte : {'\0', 'x'}) {
    EXPECT_EQ(RefusalOf(Read(WholeFile() + byte)), Refusal::CORRUPT);
  }
}

TEST(DamageTest, C26_ManifestOfAnotherFileIsCorrupt) {
  const std::string other = *EncodeV1(SmallSnapshot(61));
  const std::string file = WholeFile();
  ASSERT_EQ(other.size() + kEnvelopeSize, file.size());
  EXPECT_EQ(RefusalOf(Read(file.substr(0, kEnvelopeSize) + other)),
            Refusal::CORRUPT);
}

TEST(DamageTest, BytesThatAreNoMessageAreCorruptEvenWithTheRightDigest) {
  for (const std::string& manifest :
       {std::string("\xff\xff\xff"), std::string("not a message"),
        std::string(1000, '\x0a')}) {
    EXPECT_EQ(RefusalOf(Read(EncodeEnvelope(1, 0, manifest) + manifest)),
              Refusal::CORRUPT);
  }
  // No field at all is a message, of nothing.
  EXPECT_EQ(RefusalOf(Read(EncodeEnvelope(1, 0, ""))), Refusal::MISSING_ITEM);
}

}  // namespace
}  // namespace reprise
