#include "format/v1/vectors.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/v1/codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::IsEmpty;

constexpr char kFolder[] = "spec/vectors/v1";

TEST(VectorsV1, CommittedFilesAreWhatTheGeneratorWrites) {
  const std::vector<TestVector> vectors = VectorsOfV1();
  EXPECT_EQ(CommittedDifference(kFolder, vectors, {"BUILD"}), "")
      << "bazel run //format/v1:generate_vectors";
  EXPECT_GE(vectors.size(), 44u);
  for (const TestVector& vector : vectors) {
    for (const auto& [name, bytes] : vector.files) {
      EXPECT_LE(bytes.size(), 64u * 1024) << vector.path;
    }
  }
}

TEST(VectorsV1, ReaderSaysWhatIsExpected) {
  for (const auto& [path, expected] : CommittedExpectations(kFolder)) {
    SCOPED_TRACE(path);
    const std::string copy =
        CopyOfSourceFolder(JoinPath(JoinPath(kFolder, path), "checkpoint"));
    absl::StatusOr<LoadedCheckpoint> read = ReadAsStored(copy);
    if (expected.has_refused()) {
      CheckRefused(read.status(), expected.refused());
      continue;
    }
    ASSERT_TRUE(read.ok()) << read.status();
    // What is valid can be written again.
    EXPECT_TRUE(EncodeV1(read->snapshot).ok());
    vectors::v1::Valid found;
    ExpectSnapshot(read->snapshot, &found);
    absl::StatusOr<LoadedCheckpoint> migrated = ReadCheckpoint(copy);
    ASSERT_TRUE(migrated.ok()) << migrated.status();
    found.set_value_digest(absl::BytesToHexString(migrated->value_digest));
    EXPECT_EQ(found.DebugString(), expected.valid().DebugString());
  }
}

// Every rule that the vectors prove is in the specification.
TEST(VectorsV1, RulesAreThoseOfTheSpecification) {
  EXPECT_THAT(UnspecifiedRules(kFolder), IsEmpty());
}

// The hex dump in the text is the vector's bytes.
TEST(VectorsV1, DumpInTheSpecificationIsTheSmallestEnvelope) {
  const std::string spec = SourceFile("spec/SPEC.md");
  const std::string bytes = SourceFile(
      JoinPath(kFolder, "invalid/smallest_envelope/checkpoint/manifest.ckpt"));
  std::string dump;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i % 16 == 0) absl::StrAppend(&dump, absl::Hex(i, absl::kZeroPad8), " ");
    absl::StrAppend(
        &dump, " ",
        absl::Hex(static_cast<unsigned char>(bytes[i]), absl::kZeroPad2));
    if (i % 16 == 15) dump += "\n";
  }
  EXPECT_TRUE(absl::StrContains(spec, dump)) << dump;
}

}  // namespace
}  // namespace reprise
