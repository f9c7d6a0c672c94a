#include "format/v2/vectors.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/refusal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::IsEmpty;

constexpr char kVectors[] = "spec/vectors/v2";

TEST(VectorsV2, CommittedFilesAreWhatTheGeneratorWrites) {
  const std::vector<TestVector> vectors = VectorsOfV2();
  EXPECT_EQ(CommittedDifference(kVectors, vectors, {"BUILD", "digests.tsv"}),
            "")
      << "bazel run //format/v2:generate_vectors";
  EXPECT_GE(vectors.size(), 150u);
  for (const TestVector& vector : vectors) {
    EXPECT_GT(vector.expected.rule_size(), 0) << vector.path;
  }
}

TEST(VectorsV2, ReaderSaysWhatIsExpected) {
  for (const auto& [path, expected] : CommittedExpectations(kVectors)) {
    SCOPED_TRACE(path);
    const std::string copy =
        CopyOfSourceFolder(JoinPath(JoinPath(kVectors, path), "checkpoint"));
    absl::StatusOr<LoadedCheckpoint> read = ReadCheckpoint(copy);
    // Without tensors the verdict is the same, and so are the items.
    const absl::StatusOr<Snapshot> items = ReadItems(copy);
    EXPECT_EQ(items.status(), read.status());
    if (expected.has_refused()) {
      CheckRefused(read.status(), expected.refused());
      continue;
    }
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(items->step, read->snapshot.step);
    EXPECT_EQ(items->best.has_value(), read->snapshot.best.has_value());
    ASSERT_EQ(items->parameters.size(), read->snapshot.parameters.size());
    for (const Tensor& tensor : items->parameters) {
      EXPECT_EQ(tensor.data(), nullptr) << tensor.name();
    }
    vectors::v1::Valid found;
    ExpectSnapshot(read->snapshot, &found);
    found.set_value_digest(absl::BytesToHexString(read->value_digest));
    found.set_verification(RefusalOf(VerifyCheckpoint(copy)));
    EXPECT_EQ(found.DebugString(), expected.valid().DebugString());
  }
}

// Every rule that the vectors prove is in the specification.
TEST(VectorsV2, RulesAreThoseOfTheSpecification) {
  EXPECT_THAT(UnspecifiedRules(kVectors), IsEmpty());
}

// As `hexdump -C` without its right column.
std::string Dump(const std::string& bytes) {
  std::string dump;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i % 16 == 0) {
      absl::StrAppend(&dump, i == 0 ? "" : "\n", absl::Hex(i, absl::kZeroPad8),
                      " ");
    }
    absl::StrAppend(
        &dump, " ",
        absl::Hex(static_cast<unsigned char>(bytes[i]), absl::kZeroPad2));
  }
  return dump;
}

// The hex dumps in the text are the smallest checkpoint's bytes.
TEST(VectorsV2, DumpsInTheSpecificationAreTheSmallestCheckpoint) {
  const std::string spec = SourceFile("spec/SPEC.md");
  const std::string folder = JoinPath(kVectors, "valid/smallest/checkpoint");
  for (const std::string& dump :
       {Dump(SourceFile(JoinPath(folder, "shard-0000-0000.bin")).substr(0, 16)),
        Dump(SourceFile(JoinPath(folder, "shard-0000-0000.bin.digests"))),
        Dump(SourceFile(JoinPath(folder, "manifest.ckpt")))}) {
    EXPECT_TRUE(absl::StrContains(spec, absl::StrCat("```\n", dump, "\n```")))
        << dump;
  }
}

}  // namespace
}  // namespace reprise
