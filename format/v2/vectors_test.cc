#include "format/v2/vectors.h"

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/testing/checkpoint_builder.h"
#include "format/v2/tensor_list.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

constexpr char kVectors[] = "spec/vectors/v2";

// A file of the source tree. The test sees it as a symbolic link, which the
// library's own reading refuses.
std::string SourceFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

vectors::v1::Expectations Expectations() {
  vectors::v1::Expectations expectations;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      SourceFile(JoinPath(kVectors, "expect.textproto")), &expectations));
  return expectations;
}

// A copy of a committed vector as regular files.
std::string CopyOf(const std::string& path) {
  const std::string copy = FreshTestFolder();
  auto entries = FileSystem::Real()->List(JoinPath(kVectors, path));
  EXPECT_TRUE(entries.ok()) << entries.status();
  for (const FolderEntry& entry : *entries) {
    EXPECT_TRUE(
        ReplaceFile(JoinPath(copy, entry.name),
                    SourceFile(JoinPath(JoinPath(kVectors, path), entry.name)))
            .ok());
  }
  return copy;
}

TEST(VectorsV2, CommittedFilesAreWhatTheGeneratorWrites) {
  const std::vector<VectorV2> vectors = VectorsOfV2();
  EXPECT_EQ(SourceFile(JoinPath(kVectors, "expect.textproto")),
            ExpectationsOf(vectors))
      << "bazel run //format/v2:generate_vectors";
  for (const VectorV2& vector : vectors) {
    for (const auto& [name, bytes] : vector.files) {
      const std::string path =
          JoinPath(JoinPath(kVectors, vector.expected.path()), name);
      EXPECT_TRUE(SourceFile(path) == bytes) << path;
    }
  }
}

TEST(VectorsV2, NoFolderIsWithoutAnExpectation) {
  std::set<std::string> listed;
  const vectors::v1::Expectations expectations = Expectations();
  for (const vectors::v1::Vector& vector : expectations.vector()) {
    EXPECT_TRUE(listed.insert(vector.path()).second) << vector.path();
    EXPECT_GT(vector.rule_size(), 0) << vector.path();
  }
  std::set<std::string> found;
  for (const char* kind :
       {"valid", "invalid", "unsupported", "future", "torn"}) {
    auto entries = FileSystem::Real()->List(JoinPath(kVectors, kind));
    ASSERT_TRUE(entries.ok()) << entries.status();
    for (const FolderEntry& entry : *entries) {
      found.insert(JoinPath(kind, entry.name));
    }
  }
  EXPECT_EQ(found, listed);
  EXPECT_GE(listed.size(), 150u);
}

TEST(VectorsV2, ReaderSaysWhatIsExpected) {
  const vectors::v1::Expectations expectations = Expectations();
  for (const vectors::v1::Vector& vector : expectations.vector()) {
    const std::string copy = CopyOf(vector.path());
    absl::StatusOr<LoadedCheckpoint> read = ReadCheckpoint(copy);
    if (vector.has_refused()) {
      EXPECT_EQ(TextOf(RefusalOf(read.status())),
                TextOf(vector.refused().refusal()))
          << vector.path() << ": " << read.status();
      EXPECT_THAT(std::string(read.status().message()),
                  HasSubstr(vector.refused().text()))
          << vector.path();
      continue;
    }
    ASSERT_TRUE(read.ok()) << vector.path() << ": " << read.status();
    EXPECT_EQ(read->snapshot.step, vector.valid().step());
    EXPECT_EQ(read->snapshot.micro_step(), vector.valid().micro_step());
    EXPECT_EQ(absl::BytesToHexString(read->value_digest),
              vector.valid().value_digest())
        << vector.path();
    EXPECT_EQ(RefusalOf(VerifyCheckpoint(copy)), vector.valid().verification())
        << vector.path();
    const std::vector<ListedTensor> tensors = ListTensors(read->snapshot);
    ASSERT_EQ(tensors.size(), static_cast<size_t>(vector.valid().tensor_size()))
        << vector.path();
    for (size_t i = 0; i < tensors.size(); ++i) {
      const vectors::v1::Tensor& expected =
          vector.valid().tensor(static_cast<int>(i));
      EXPECT_EQ(tensors[i].item, expected.item());
      EXPECT_EQ(tensors[i].name, expected.name());
      EXPECT_EQ(tensors[i].part, expected.part());
      EXPECT_EQ(Name(tensors[i].tensor->dtype()), expected.dtype());
      EXPECT_THAT(tensors[i].tensor->shape(),
                  ::testing::ElementsAreArray(expected.shape()));
      EXPECT_EQ(
          absl::BytesToHexString(tensors[i].tensor->bytes().substr(0, 16)),
          expected.head());
    }
  }
}

// Every rule that the vectors prove is in the specification.
TEST(VectorsV2, RulesAreThoseOfTheSpecification) {
  const std::string spec = SourceFile("spec/SPEC.md");
  const vectors::v1::Expectations expectations = Expectations();
  for (const vectors::v1::Vector& vector : expectations.vector()) {
    for (const std::string& rule : vector.rule()) {
      EXPECT_TRUE(absl::StrContains(spec, absl::StrCat("**", rule, "**")))
          << rule;
    }
  }
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
  const std::string folder = JoinPath(kVectors, "valid/smallest");
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
