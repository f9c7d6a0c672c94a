#include "format/v1/vectors.h"

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "format/checkpoint_store.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/v1/codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

constexpr char kFolder[] = "spec/vectors/v1";

// A file of the source tree. The test sees it as a symbolic link, which the
// library's own reading refuses.
std::string SourceFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string Committed(const std::string& file) {
  return SourceFile(JoinPath(kFolder, file));
}

TEST(VectorsV1, CommittedFilesAreWhatTheGeneratorWrites) {
  const std::vector<Vector> vectors = VectorsOfV1();
  EXPECT_EQ(Committed("index.tsv"), IndexOf(vectors))
      << "bazel run //format/v1:generate_vectors";
  for (const Vector& vector : vectors) {
    EXPECT_TRUE(Committed(vector.file) == vector.bytes) << vector.file;
    EXPECT_LE(vector.bytes.size(), 64u * 1024) << vector.file;
  }
}

TEST(VectorsV1, NoFileIsWithoutALineInTheIndex) {
  std::set<std::string> listed;
  for (const Vector& vector : VectorsOfV1()) listed.insert(vector.file);
  std::set<std::string> found;
  for (const char* kind : {"valid", "invalid"}) {
    auto entries = FileSystem::Real()->List(JoinPath(kFolder, kind));
    ASSERT_TRUE(entries.ok()) << entries.status();
    for (const FolderEntry& entry : *entries) {
      found.insert(JoinPath(kind, entry.name));
    }
  }
  EXPECT_EQ(found, listed);
}

TEST(VectorsV1, ReaderSaysWhatTheIndexSays) {
  const std::string checkpoint = FreshTestFolder();
  const std::string index = Committed("index.tsv");
  int lines = 0;
  for (absl::string_view line :
       absl::StrSplit(index, '\n', absl::SkipEmpty())) {
    if (lines++ == 0) continue;
    const std::vector<std::string> columns = absl::StrSplit(line, '\t');
    ASSERT_EQ(columns.size(), 4u) << line;
    ASSERT_TRUE(ReplaceFile(JoinPath(checkpoint, "manifest.ckpt"),
                            Committed(columns[0]))
                    .ok());
    absl::StatusOr<LoadedCheckpoint> read = ReadAsStored(checkpoint);
    if (columns[1] == "VALID") {
      ASSERT_TRUE(read.ok()) << columns[0] << ": " << read.status();
      // What is valid can be written again.
      EXPECT_TRUE(EncodeV1(read->snapshot).ok()) << columns[0];
      continue;
    }
    EXPECT_EQ(TextOf(RefusalOf(read.status())), columns[1])
        << columns[0] << ": " << read.status();
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(columns[3]))
        << columns[0];
  }
  EXPECT_GT(lines, 30);
}

// Every rule that the vectors prove is in the specification.
TEST(VectorsV1, RulesAreThoseOfTheSpecification) {
  const std::string spec = SourceFile("spec/SPEC.md");
  for (const Vector& vector : VectorsOfV1()) {
    for (absl::string_view rule : absl::StrSplit(vector.rules, ' ')) {
      EXPECT_TRUE(absl::StrContains(spec, absl::StrCat("**", rule, "**")))
          << rule;
    }
  }
}

// The hex dump in the text is the vector's bytes.
TEST(VectorsV1, DumpInTheSpecificationIsTheSmallestEnvelope) {
  const std::string spec = SourceFile("spec/SPEC.md");
  const std::string bytes = Committed("invalid/smallest_envelope.ckpt");
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
