// Chains of migrations, proved with a major 3 that does not exist.
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/envelope.h"
#include "format/manifest_file.h"
#include "format/migrate/migrate_run.h"
#include "format/migrate/testing/future_major.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ChainTest : public ::testing::Test {
 protected:
  ChainTest() : root_(FreshTestFolder()) {}

  std::string Path(const std::string& name) { return JoinPath(root_, name); }

  void Save(const std::string& run, uint32_t major, const Snapshot& snapshot) {
    CheckpointStore::Options options;
    options.format_major = major;
    auto store = CheckpointStore::Open(Path(run), options);
    ASSERT_TRUE(store.ok()) << store.status();
    auto saved = (*store)->Save(snapshot);
    ASSERT_TRUE(saved.ok()) << saved.status();
  }

  absl::Status Migrate(const std::string& from, const std::string& to,
                       uint32_t to_major, const std::string& rules = "") {
    MigrateRunOptions options;
    options.out = Path(to);
    options.checkpoint.to_major = to_major;
    options.checkpoint.further_steps = {FutureMigration()};
    if (!rules.empty()) {
      options.checkpoint.rename =
          std::make_shared<const RenameRules>(*RenameRules::Parse(rules));
    }
    return MigrateRun(Path(from), options).status();
  }

  // Every file below a run folder.
  std::map<std::string, std::string> Files(const std::string& run,
                                           const std::string& below = "") {
    std::map<std::string, std::string> files;
    FileSystem* real = FileSystem::Real();
    auto entries = real->List(JoinPath(Path(run), below));
    EXPECT_TRUE(entries.ok()) << entries.status();
    for (const FolderEntry& entry : *entries) {
      const std::string name =
          below.empty() ? entry.name : JoinPath(below, entry.name);
      if (entry.kind == FileKind::kFolder) {
        files[name] = "folder";
        files.merge(Files(run, name));
      } else {
        files[name] = *FileContent(JoinPath(Path(run), name));
      }
    }
    return files;
  }

  // Manifest of major 3. A program that does not know that major says so.
  checkpoint::future_test::Manifest ReadFuture(const std::string& folder) {
    EXPECT_EQ(RefusalOf(ReadCheckpoint(folder).status()), Refusal::TOO_NEW);
    const std::string file = *FileContent(JoinPath(folder, kManifestName));
    auto envelope =
        ReadEnvelope(FileSystem::Real(), JoinPath(folder, kManifestName));
    EXPECT_TRUE(envelope.ok()) << envelope.status();
    EXPECT_EQ(envelope->major, kFutureMajor);
    auto message = DecodeFuture(file.substr(kEnvelopeSize));
    EXPECT_TRUE(message.ok()) << message.status();
    return *std::move(message);
  }

  const std::string root_;
};

TEST_F(ChainTest, MIG_12_TwoStepsAtOnceGiveTheFilesOfOneAfterTheOther) {
  for (uint64_t step : {0, 60, 70}) Save("run", 1, SmallSnapshot(step));
  ASSERT_TRUE(Migrate("run", "at-once", 3).ok()) << Migrate("run", "x", 3);
  ASSERT_TRUE(Migrate("run", "two", 2).ok());
  ASSERT_TRUE(Migrate("two", "three", 3).ok());
  const auto at_once = Files("at-once");
  EXPECT_GE(at_once.size(), 3u * 3);
  EXPECT_TRUE(at_once == Files("three"));
  EXPECT_FALSE(at_once == Files("two"));
}

TEST_F(ChainTest, MIG_12_NamesAreChangedOnTheWay) {
  Save("run", 1, SmallSnapshot(60));
  ASSERT_TRUE(Migrate("run", "at-once", 3, "^fc\\. -> head.").ok());
  ASSERT_TRUE(Migrate("run", "two", 2, "^fc\\. -> head.").ok());
  ASSERT_TRUE(Migrate("two", "three", 3).ok());
  EXPECT_TRUE(Files("at-once") == Files("three"));
}

TEST_F(ChainTest, MIG_6_HistoryHasEveryStepAndWhatItCameFrom) {
  Save("run", 1, SmallSnapshot(60));
  ASSERT_TRUE(Migrate("run", "three", 3).ok());
  ASSERT_TRUE(Migrate("run", "two", 2).ok());
  const auto future = ReadFuture(Path("three/step-000000000060"));
  ASSERT_EQ(future.rest().history_size(), 2);
  const std::string v1 =
      ReadCheckpoint(Path("run/step-000000000060"))->manifest_digest;
  const std::string v2 =
      ReadCheckpoint(Path("two/step-000000000060"))->manifest_digest;
  EXPECT_EQ(future.rest().history(0).source_manifest_digest(), v1);
  EXPECT_EQ(future.rest().history(0).to_major(), 2u);
  EXPECT_EQ(future.rest().history(1).source_manifest_digest(), v2);
  EXPECT_EQ(future.rest().history(1).to_major(), 3u);
}

TEST_F(ChainTest, MIG_8_ShardsThatTheLayoutKeepsAreLinked) {
  Save("run", 2, FullSnapshot(60));
  ASSERT_TRUE(Migrate("run", "three", 3).ok());
  const std::string shard = "step-000000000060/shard-0000-0000.bin";
  FileSystem* files = FileSystem::Real();
  EXPECT_EQ(files->LinkStat(Path("run/" + shard))->inode,
            files->LinkStat(Path("three/" + shard))->inode);
  const auto future = ReadFuture(Path("three/step-000000000060"));
  // Nothing of version 2 was lost.
  checkpoint::v2::Manifest before;
  ASSERT_TRUE(before.ParseFromString(
      FileContent(Path("run/step-000000000060/manifest.ckpt"))
          ->substr(kEnvelopeSize)));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(
      BackFromFuture(future), before));
}

TEST_F(ChainTest, MIG_7_UnknownFieldsAndOptionalFeaturesAreCarried) {
  Snapshot snapshot = FullSnapshot(60);
  snapshot.optional_features = {"sidecar"};
  Save("run", 2, snapshot);
  // A later minor version of major 2, with a field that nobody here knows.
  const std::string path = Path("run/step-000000000060/manifest.ckpt");
  const std::string manifest = FileContent(path)->substr(kEnvelopeSize) +
                               std::string("\x9a\x06\x03new", 6);
  ASSERT_TRUE(
      ReplaceFile(path, EncodeEnvelope(2, 7, manifest) + manifest).ok());
  ASSERT_TRUE(Migrate("run", "three", 3).ok());
  const auto future = ReadFuture(Path("three/step-000000000060"));
  EXPECT_THAT(future.optional_features(), ElementsAre("sidecar"));
  EXPECT_THAT(future.rest().SerializeAsString(),
              HasSubstr(std::string("\x9a\x06\x03new", 6)));
}

TEST_F(ChainTest, FEAT_1_RequiredFeatureThatNobodyKnowsStopsTheChain) {
  Save("run", 2, FullSnapshot(60));
  const std::string folder = Path("run/step-000000000060");
  ASSERT_TRUE(RewriteManifestV2(folder, [](checkpoint::v2::Manifest* message) {
                message->add_required_features("sparse-moments");
              }).ok());
  const absl::Status status = Migrate("run", "three", 3);
  EXPECT_EQ(RefusalOf(status), Refusal::UNKNOWN_FEATURE) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("sparse-moments"));
  // And of major 3 itself: what its reader knows is read, what not is named.
  checkpoint::future_test::Manifest future;
  future.add_required_features(kFutureFeature);
  EXPECT_TRUE(DecodeFuture(future.SerializeAsString()).ok());
  future.add_required_features("more");
  EXPECT_EQ(RefusalOf(DecodeFuture(future.SerializeAsString()).status()),
            Refusal::UNKNOWN_FEATURE);
}

TEST_F(ChainTest, MIG_1_VersionsThatNoStepLeadsToAreRefused) {
  Save("run", 2, FullSnapshot(60));
  EXPECT_EQ(ExitCodeFor(Migrate("run", "four", 4)), ExitCode::EXIT_BAD_REQUEST);
  EXPECT_EQ(ExitCodeFor(Migrate("run", "one", 1)), ExitCode::EXIT_BAD_REQUEST);
  MigrateRunOptions options;
  options.out = Path("three");
  options.checkpoint.to_major = 3;
  EXPECT_THAT(std::string(MigrateRun(Path("run"), options).status().message()),
              HasSubstr("this program knows up to v2"));
  EXPECT_EQ(RefusalOf(FileSystem::Real()->LinkStat(Path("three")).status()),
            Refusal::ABSENT);
}

}  // namespace
}  // namespace reprise
