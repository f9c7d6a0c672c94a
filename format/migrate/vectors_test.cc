#include "format/migrate/vectors.h"

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/migrate/migrate_checkpoint.h"
#include "format/refusal.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

constexpr char kVectors[] = "spec/vectors/migration";

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

// A copy of a committed folder as regular files.
std::string CopyOf(const std::string& path, const std::string& name) {
  const std::string copy = JoinPath(FreshTestFolder(), name);
  EXPECT_TRUE(CreateFoldersDurably(FileSystem::Real(), copy).ok());
  const std::string from = JoinPath(kVectors, path);
  auto entries = FileSystem::Real()->List(from);
  EXPECT_TRUE(entries.ok()) << entries.status();
  for (const FolderEntry& entry : *entries) {
    EXPECT_TRUE(ReplaceFile(JoinPath(copy, entry.name),
                            SourceFile(JoinPath(from, entry.name)))
                    .ok());
  }
  return copy;
}

TEST(MigrationVectors, CommittedFilesAreWhatTheGeneratorWrites) {
  const std::vector<MigrationVector> vectors = MigrationVectors();
  EXPECT_EQ(SourceFile(JoinPath(kVectors, "expect.textproto")),
            ExpectationsOf(vectors))
      << "bazel run //format/migrate:generate_vectors";
  std::set<std::string> listed = {"BUILD", "expect.textproto"};
  for (const MigrationVector& vector : vectors) {
    const std::string folder = JoinPath(kVectors, vector.expected.path());
    listed.insert(vector.expected.path());
    for (const auto& [name, bytes] : vector.files) {
      EXPECT_TRUE(SourceFile(JoinPath(folder, name)) == bytes)
          << folder << " " << name;
    }
  }
  auto entries = FileSystem::Real()->List(kVectors);
  ASSERT_TRUE(entries.ok()) << entries.status();
  for (const FolderEntry& entry : *entries) {
    EXPECT_EQ(listed.count(entry.name), 1u) << entry.name;
  }
  EXPECT_GE(vectors.size(), 20u);
}

// Rules: MIG-2 MIG-3 MIG-9
TEST(MigrationVectors, ReadingOnTheFlyGivesWhatIsExpected) {
  const vectors::v1::Expectations expectations = Expectations();
  for (const vectors::v1::Vector& vector : expectations.vector()) {
    SCOPED_TRACE(vector.path());
    // A rename is asked for, not read.
    if (!vector.rename().empty()) continue;
    const std::string before =
        CopyOf(JoinPath(vector.path(), "before"), "before");
    EXPECT_TRUE(ReadAsStored(before).ok());
    auto read = ReadCheckpoint(before);
    if (vector.has_refused()) {
      EXPECT_EQ(RefusalOf(read.status()), vector.refused().refusal())
          << read.status();
      EXPECT_THAT(std::string(read.status().message()),
                  HasSubstr(vector.refused().text()));
      continue;
    }
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(absl::BytesToHexString(read->value_digest),
              vector.migrated().value_digest());
    auto after =
        ReadCheckpoint(CopyOf(JoinPath(vector.path(), "after"), "after"));
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_EQ(after->value_digest, read->value_digest);
    EXPECT_EQ(TensorDifference(after->snapshot, read->snapshot), "");
    ASSERT_EQ(static_cast<int>(read->snapshot.inventory.size()),
              vector.migrated().record_size());
    for (int i = 0; i < vector.migrated().record_size(); ++i) {
      const ItemRecord& found = read->snapshot.inventory[i];
      const vectors::v1::Record& expected = vector.migrated().record(i);
      EXPECT_EQ(found.item, expected.item());
      EXPECT_EQ(found.presence, expected.presence()) << TextOf(found.item);
      EXPECT_EQ(found.reason, expected.reason()) << TextOf(found.item);
    }
  }
}

}  // namespace
}  // namespace reprise
