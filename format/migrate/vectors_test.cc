#include "format/migrate/vectors.h"

#include <string>

#include "absl/strings/escaping.h"
#include "format/checkpoint_store.h"
#include "format/migrate/migrate_checkpoint.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

constexpr char kVectors[] = "spec/vectors/migration";

TEST(MigrationVectors, CommittedFilesAreWhatTheGeneratorWrites) {
  const std::vector<TestVector> vectors = MigrationVectors();
  EXPECT_EQ(CommittedDifference(kVectors, vectors, {"BUILD"}), "")
      << "bazel run //format/migrate:generate_vectors";
  EXPECT_GE(vectors.size(), 20u);
}

// Rules: MIG-2 MIG-3 MIG-9
TEST(MigrationVectors, ReadingOnTheFlyGivesWhatIsExpected) {
  for (const auto& [path, vector] : CommittedExpectations(kVectors)) {
    SCOPED_TRACE(path);
    const std::string folder = JoinPath(kVectors, path);
    // A rename is asked for, not read.
    if (!vector.rename().empty()) continue;
    const std::string before =
        CopyOfSourceFolder(JoinPath(folder, "before"), "before");
    EXPECT_TRUE(ReadAsStored(before).ok());
    auto read = ReadCheckpoint(before);
    if (vector.has_refused()) {
      CheckRefused(read.status(), vector.refused());
      continue;
    }
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(absl::BytesToHexString(read->value_digest),
              vector.migrated().value_digest());
    auto after =
        ReadCheckpoint(CopyOfSourceFolder(JoinPath(folder, "after"), "after"));
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
