// The examples that open the headers of this folder, compiled and run.
#include <memory>
#include <string>

#include "format/checkpoint_store.h"
#include "format/migrate/migrate_checkpoint.h"
#include "format/migrate/migrate_run.h"
#include "format/migrate/rename_rules.h"
#include "format/migrate/rename_v2.h"
#include "format/migrate/v1_to_v2.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "format/v1/codec.h"
#include "format/v2/checkpoint_reader.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

// A run with one checkpoint of step 60.
std::string RunOfVersion(uint32_t major) {
  const std::string run = JoinPath(FreshTestFolder(), "run");
  CheckpointStore::Options options;
  options.format_major = major;
  auto store = CheckpointStore::Open(run, options);
  EXPECT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE(
      (*store)->Save(major == 1 ? SmallSnapshot(60) : FullSnapshot(60)).ok());
  return run;
}

TEST(MigrateExamples, V1ToV2) {
  const std::string manifest = *EncodeV1(SmallSnapshot(60));
  const std::string manifest_digest = "source digest 16";
  absl::StatusOr<Snapshot> v1 = DecodeV1(manifest);
  ASSERT_TRUE(v1.ok()) << v1.status();
  absl::StatusOr<Snapshot> v2 = MigrateV1ToV2(*v1, {manifest_digest, {}});
  ASSERT_TRUE(v2.ok()) << v2.status();
  EXPECT_EQ(v2->counters->applied, 60u);
}

TEST(MigrateExamples, RenameRules) {
  auto rules = RenameRules::Parse("^fc\\. -> head.");
  ASSERT_TRUE(rules.ok()) << rules.status();
  auto names = rules->Apply({"fc.weight", "conv.weight"});
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ((*names)["fc.weight"], "head.weight");
}

TEST(MigrateExamples, RenameV2) {
  auto reader =
      CheckpointReader::Open(JoinPath(RunOfVersion(2), "step-000000000060"));
  ASSERT_TRUE(reader.ok()) << reader.status();
  const std::string manifest_digest = (*reader)->manifest_digest();
  auto rules = RenameRules::Parse("^fc\\. -> head_of.");
  auto renamed = RenameV2((*reader)->manifest(), manifest_digest, *rules);
  ASSERT_TRUE(renamed.ok()) << renamed.status();
  EXPECT_EQ(renamed->names.at("fc.bias"), "head_of.bias");
}

TEST(MigrateExamples, MigrateCheckpoint) {
  const std::string run = RunOfVersion(1);
  const std::string out = run + ".v2";
  ASSERT_TRUE(FileSystem::Real()->CreateFolder(out).ok());
  MigrateOptions options;
  auto plan = PlanMigration(JoinPath(run, "step-000000000060"), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto written = WriteMigration(*plan, out, options);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_TRUE(VerifyCheckpoint(JoinPath(out, "step-000000000060")).ok());
}

TEST(MigrateExamples, MigrateRun) {
  const std::string run = RunOfVersion(1);
  MigrateRunOptions options;
  options.out = run + ".v2";
  auto migrated = MigrateRun(run, options);
  ASSERT_TRUE(migrated.ok()) << migrated.status();
  EXPECT_EQ(migrated->checkpoints.size(), 1u);
}

}  // namespace
}  // namespace reprise
