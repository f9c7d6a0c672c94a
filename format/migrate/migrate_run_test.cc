#include "format/migrate/migrate_run.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "format/checkpoint_store.h"
#include "format/envelope.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class MigrateRunTest : public ::testing::Test {
 protected:
  MigrateRunTest() : root_(FreshTestFolder()) {}

  std::string Path(const std::string& name) { return JoinPath(root_, name); }

  void Save(const std::string& run, uint32_t major, const Snapshot& snapshot) {
    CheckpointStore::Options options;
    options.format_major = major;
    auto store = CheckpointStore::Open(Path(run), options);
    ASSERT_TRUE(store.ok()) << store.status();
    auto saved = (*store)->Save(snapshot);
    ASSERT_TRUE(saved.ok()) << saved.status();
  }

  void WriteFile(const std::string& name, const std::string& text) {
    std::ofstream(Path(name)) << text;
  }

  absl::StatusOr<MigratedRun> Migrate(const std::string& from,
                                      const std::string& to,
                                      MigrateOptions checkpoint = {},
                                      bool dry_run = false) {
    MigrateRunOptions options;
    options.out = Path(to);
    options.checkpoint = std::move(checkpoint);
    options.dry_run = dry_run;
    return MigrateRun(Path(from), options);
  }

  static MigrateOptions Renaming(const std::string& rules) {
    MigrateOptions options;
    options.rename =
        std::make_shared<const RenameRules>(*RenameRules::Parse(rules));
    return options;
  }

  // Name, kind and content of everything below the test's folder.
  std::map<std::string, std::string> Everything(const std::string& below = "") {
    std::map<std::string, std::string> all;
    auto entries = FileSystem::Real()->List(Path(below));
    EXPECT_TRUE(entries.ok()) << entries.status();
    for (const FolderEntry& entry : *entries) {
      const std::string name =
          below.empty() ? entry.name : JoinPath(below, entry.name);
      if (entry.kind == FileKind::kFolder) {
        all[name] = "folder";
        all.merge(Everything(name));
      } else if (entry.kind == FileKind::kRegular) {
        auto content = FileContent(Path(name));
        all[name] = content.ok() ? *content : "unreadable";
      } else {
        all[name] = "special";
      }
    }
    return all;
  }

  uint64_t Inode(const std::string& name) {
    auto info = FileSystem::Real()->LinkStat(Path(name));
    EXPECT_TRUE(info.ok()) << info.status();
    return info.ok() ? info->inode : 0;
  }

  const std::string root_;
};

TEST_F(MigrateRunTest, MIG_1_WholeRunGoesToANewFolderAndTheOldOneStays) {
  for (uint64_t step : {50, 60, 70}) Save("run", 1, SmallSnapshot(step));
  WriteFile("run/metrics.jsonl", "{}\n");
  ASSERT_EQ(mkdir(Path("run/witness").c_str(), 0755), 0);
  WriteFile("run/witness/step-70.pb", "loss");
  ASSERT_EQ(mkdir(Path("run/abandoned").c_str(), 0755), 0);
  ASSERT_EQ(mkdir(Path("run/abandoned/4").c_str(), 0755), 0);
  WriteFile("run/abandoned/4/metrics.jsonl", "old");
  ASSERT_EQ(mkdir(Path("run/plots").c_str(), 0755), 0);
  auto before = Everything();
  auto migrated = Migrate("run", "out");
  ASSERT_TRUE(migrated.ok()) << migrated.status();
  EXPECT_EQ(migrated->outcome, MigrationOutcome::kMigrated);
  ASSERT_THAT(migrated->checkpoints, SizeIs(3));
  EXPECT_THAT(migrated->carried,
              ElementsAre("metrics.jsonl", "witness/step-70.pb"));
  EXPECT_THAT(migrated->not_carried, ElementsAre("abandoned/4", "plots"));
  auto after = Everything();
  for (const auto& [name, content] : before) {
    EXPECT_EQ(after[name], content) << name;
  }
  EXPECT_EQ(after["out/metrics.jsonl"], "{}\n");
  EXPECT_EQ(after["out/witness/step-70.pb"], "loss");
  EXPECT_EQ(after["out/latest"], "step-000000000070\n");
  EXPECT_EQ(after["out/lock"], "");
  EXPECT_EQ(after.count("out/abandoned/4/metrics.jsonl"), 0u);
  for (const auto& [name, content] : after) {
    EXPECT_FALSE(absl::StrContains(name, ".tmp-")) << name;
  }
  // The new folder is a run that goes on, with an attempt that was never used.
  auto store = CheckpointStore::Open(Path("out"), {});
  ASSERT_TRUE(store.ok()) << store.status();
  auto newest = (*store)->NewestVerified();
  ASSERT_TRUE(newest.ok() && newest->checkpoint.has_value());
  EXPECT_EQ(newest->checkpoint->format_major, 2u);
  EXPECT_EQ(newest->checkpoint->snapshot.step, 70u);
  EXPECT_THAT(newest->passed_over, IsEmpty());
  EXPECT_EQ(*(*store)->NextAttempt(newest->checkpoint), 5u);
}

TEST_F(MigrateRunTest, MIG_2_MigratedCheckpointIsWhatReadingOnTheFlyGives) {
  Save("run", 1, SmallSnapshot(60));
  auto migrated = Migrate("run", "out");
  ASSERT_TRUE(migrated.ok()) << migrated.status();
  auto on_the_fly = ReadCheckpoint(Path("run/step-000000000060"));
  auto read = ReadCheckpoint(Path("out/step-000000000060"));
  ASSERT_TRUE(on_the_fly.ok() && read.ok());
  EXPECT_EQ(read->value_digest, on_the_fly->value_digest);
  EXPECT_EQ(read->value_digest, migrated->checkpoints[0].value_digest);
  EXPECT_EQ(read->manifest_digest, migrated->checkpoints[0].manifest_digest);
  EXPECT_EQ(TensorDifference(read->snapshot, on_the_fly->snapshot), "");
  EXPECT_TRUE(VerifyCheckpoint(Path("out/step-000000000060")).ok());
}

TEST_F(MigrateRunTest, ReportSaysWhatIsLackingForTheSameRun) {
  Save("run", 1, SmallSnapshot(60));
  auto migrated = Migrate("run", "out");
  ASSERT_TRUE(migrated.ok()) << migrated.status();
  const MigratedCheckpoint& checkpoint = migrated->checkpoints[0];
  EXPECT_EQ(checkpoint.from_major, 1u);
  EXPECT_EQ(checkpoint.to_major, 2u);
  ASSERT_THAT(checkpoint.steps, SizeIs(1));
  EXPECT_THAT(checkpoint.steps[0].notes,
              Contains(HasSubstr("not recorded by v1")));
  std::vector<Item> lacking;
  for (const LackingItem& item : checkpoint.lacking) {
    lacking.push_back(item.item);
  }
  EXPECT_THAT(lacking, Contains(Item::EMA_WEIGHTS));
  EXPECT_THAT(lacking, Not(Contains(Item::COUNTERS_APPLIED)));
  EXPECT_EQ(checkpoint.highest_level, vocab::RESUME_LEVEL_UNSPECIFIED);
  EXPECT_EQ(checkpoint.tensors, 7u);
  EXPECT_EQ(checkpoint.written.written, 2u);
  EXPECT_EQ(checkpoint.written.linked, 0u);
}

TEST_F(MigrateRunTest, MIG_1_OneCheckpointOfARunIsMigratedAlone) {
  for (uint64_t step : {50, 60}) Save("run", 1, SmallSnapshot(step));
  WriteFile("run/metrics.jsonl", "{}\n");
  // Whoever trains there goes on.
  auto store = CheckpointStore::Open(Path("run"), {});
  ASSERT_TRUE(store.ok());
  auto migrated = Migrate("run/step-000000000050/", "out");
  ASSERT_TRUE(migrated.ok()) << migrated.status();
  EXPECT_THAT(migrated->checkpoints, SizeIs(1));
  EXPECT_THAT(migrated->carried, IsEmpty());
  EXPECT_TRUE(VerifyCheckpoint(Path("out/step-000000000050")).ok());
}

TEST_F(MigrateRunTest, MIG_10_RenamedCheckpointsShareTheirShards) {
  Save("run", 2, FullSnapshot(60));
  Save("run", 2, FullSnapshot(70));
  auto migrated = Migrate("run", "out", Renaming("^fc\\. -> head_of."));
  ASSERT_TRUE(migrated.ok()) << migrated.status();
  const std::string shard = "step-000000000070/shard-0000-0000.bin";
  EXPECT_EQ(Inode("run/" + shard), Inode("out/" + shard));
  EXPECT_NE(Inode("run/step-000000000070/manifest.ckpt"),
            Inode("out/step-000000000070/manifest.ckpt"));
  EXPECT_THAT(migrated->checkpoints[1].written.notice,
              HasSubstr("shares storage with"));
  EXPECT_TRUE(VerifyCheckpoint(Path("out/step-000000000070")).ok());
  auto read = ReadCheckpoint(Path("out/step-000000000070"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->snapshot.optimizer->groups[0].parameters[0],
            "head_of.weight");
  // Removing the source leaves the new one whole.
  ASSERT_TRUE(RemoveRecursively(FileSystem::Real(), Path("run")).ok());
  EXPECT_TRUE(VerifyCheckpoint(Path("out/step-000000000070")).ok());
}

TEST_F(MigrateRunTest, SHARE_1_CopiesShareNothing) {
  Save("run", 2, FullSnapshot(60));
  MigrateOptions options = Renaming("^fc\\. -> head_of.");
  options.copy = true;
  auto migrated = Migrate("run", "out", options);
  ASSERT_TRUE(migrated.ok()) << migrated.status();
  const std::string shard = "step-000000000060/shard-0000-0000.bin";
  EXPECT_NE(Inode("run/" + shard), Inode("out/" + shard));
  EXPECT_EQ(migrated->checkpoints[0].written.notice, "");
  EXPECT_TRUE(VerifyCheckpoint(Path("out/step-000000000060")).ok());
}

// A run that was begun in version 1 and went on in version 2.
TEST_F(MigrateRunTest, MIG_1_CheckpointsOfThatVersionAreTakenOverAsTheyAre) {
  Save("run", 1, SmallSnapshot(50));
  Save("run", 2, FullSnapshot(60));
  auto migrated = Migrate("run", "out");
  ASSERT_TRUE(migrated.ok()) << migrated.status();
  EXPECT_THAT(migrated->checkpoints[0].steps, SizeIs(1));
  EXPECT_THAT(migrated->checkpoints[1].steps, IsEmpty());
  EXPECT_EQ(*FileContent(Path("run/step-000000000060/manifest.ckpt")),
            *FileContent(Path("out/step-000000000060/manifest.ckpt")));
  EXPECT_TRUE(VerifyCheckpoint(Path("out/step-000000000060")).ok());
}

TEST_F(MigrateRunTest, NothingToDoIsSaidAndNothingIsDone) {
  Save("run", 2, FullSnapshot(60));
  const auto before = Everything();
  auto migrated = Migrate("run", "out");
  ASSERT_TRUE(migrated.ok()) << migrated.status();
  EXPECT_EQ(migrated->outcome, MigrationOutcome::kNothingToDo);
  EXPECT_TRUE(Everything() == before);
}

TEST_F(MigrateRunTest, DryRunReportsAndWritesNothing) {
  Save("run", 1, SmallSnapshot(60));
  const auto before = Everything();
  auto planned = Migrate("run", "out", {}, /*dry_run=*/true);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->outcome, MigrationOutcome::kPlanned);
  EXPECT_TRUE(Everything() == before);
  auto migrated = Migrate("run", "out");
  ASSERT_TRUE(migrated.ok());
  EXPECT_EQ(planned->checkpoints[0].manifest_digest,
            migrated->checkpoints[0].manifest_digest);
}

TEST_F(MigrateRunTest, MIG_1_CalledAgainItSaysThatItIsDone) {
  Save("run", 1, SmallSnapshot(60));
  ASSERT_TRUE(Migrate("run", "out").ok());
  const auto before = Everything();
  auto again = Migrate("run", "out");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->outcome, MigrationOutcome::kWasDoneBefore);
  EXPECT_TRUE(Everything() == before);
  // Not when it would be another one.
  auto other = Migrate("run", "out", Renaming("^fc\\. -> head."));
  EXPECT_EQ(ExitCodeFor(other.status()), ExitCode::EXIT_BAD_REQUEST);
  EXPECT_THAT(std::string(other.status().message()),
              HasSubstr("is not this migration"));
  EXPECT_TRUE(Everything() == before);
}

TEST_F(MigrateRunTest, MIG_1_WhatAKilledProcessLeftIsUsedAndCompleted) {
  for (uint64_t step : {50, 60, 70}) Save("run", 1, SmallSnapshot(step));
  ASSERT_TRUE(Migrate("run", "whole").ok());
  // As a process leaves it that was killed in the third checkpoint, with
  // something from another source, and one damaged.
  ASSERT_TRUE(
      FileSystem::Real()->Rename(Path("whole"), Path(".tmp-migrate-out")).ok());
  const std::string left = ".tmp-migrate-out/";
  ASSERT_TRUE(FileSystem::Real()
                  ->Rename(Path(left + "step-000000000070"),
                           Path(left + ".tmp-step-000000000070"))
                  .ok());
  ASSERT_TRUE(ReplaceFile(Path(left + "step-000000000060/shard-0000-0000.bin"),
                          "damaged")
                  .ok());
  WriteFile(left + "stranger", "x");
  const uint64_t kept = Inode(left + "step-000000000050/shard-0000-0000.bin");
  auto migrated = Migrate("run", "out");
  ASSERT_TRUE(migrated.ok()) << migrated.status();
  EXPECT_TRUE(migrated->checkpoints[0].was_there);
  EXPECT_FALSE(migrated->checkpoints[1].was_there);
  EXPECT_FALSE(migrated->checkpoints[2].was_there);
  EXPECT_EQ(Inode("out/step-000000000050/shard-0000-0000.bin"), kept);
  const auto after = Everything();
  EXPECT_EQ(after.count("out/stranger"), 0u);
  EXPECT_EQ(after.count(".tmp-migrate-out"), 0u);
  for (const char* name :
       {"step-000000000050", "step-000000000060", "step-000000000070"}) {
    EXPECT_TRUE(VerifyCheckpoint(Path(absl::StrCat("out/", name))).ok());
  }
}

TEST_F(MigrateRunTest, MIG_1_TwoMigrationsToOnePlaceDoNotMix) {
  Save("run", 1, SmallSnapshot(60));
  ASSERT_EQ(mkdir(Path(".tmp-migrate-out").c_str(), 0755), 0);
  auto other = CheckpointStore::Open(Path(".tmp-migrate-out"), {});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(RefusalOf(Migrate("run", "out").status()), Refusal::LOCKED);
  EXPECT_EQ(Everything().count(".tmp-migrate-out/lock"), 1u);
}

// The rest of this file: what is refused, by which name, with nothing changed.

class BadSourceTest : public MigrateRunTest {
 protected:
  void ExpectRefused(const std::string& source, Refusal refusal,
                     const std::string& text, MigrateOptions options = {}) {
    const auto before = Everything();
    auto migrated = Migrate(source, "out", std::move(options));
    ASSERT_FALSE(migrated.ok());
    EXPECT_EQ(RefusalOf(migrated.status()), refusal) << migrated.status();
    EXPECT_THAT(std::string(migrated.status().message()), HasSubstr(text));
    EXPECT_TRUE(Everything() == before);
  }

  void Damage(const std::string& file,
              const std::function<std::string(std::string)>& edit) {
    ASSERT_TRUE(ReplaceFile(Path(file), edit(*FileContent(Path(file)))).ok());
  }
};

TEST_F(BadSourceTest, C30_WhatIsNoCheckpointIsRefusedByWhatItIs) {
  Save("run", 1, SmallSnapshot(60));
  ExpectRefused("nowhere", Refusal::ABSENT, "nowhere");
  ASSERT_EQ(mkdir(Path("empty").c_str(), 0755), 0);
  ExpectRefused("empty", Refusal::ABSENT, "an empty folder");
  ASSERT_EQ(mkdir(Path("other").c_str(), 0755), 0);
  WriteFile("other/readme", "x");
  ExpectRefused("other", Refusal::ABSENT, "neither a manifest.ckpt nor");
  WriteFile("model.pt",
            std::string("PK\3\4 and so on", 14) + std::string(100, 'x'));
  ExpectRefused("model.pt", Refusal::NOT_A_CHECKPOINT, "zip");
  ExpectRefused("run/step-000000000060/manifest.ckpt",
                Refusal::NOT_A_CHECKPOINT, "name the folder");
  ASSERT_EQ(symlink(Path("run/step-000000000060").c_str(),
                    Path("step-000000000060").c_str()),
            0);
  ExpectRefused("step-000000000060", Refusal::NOT_A_CHECKPOINT,
                "a symbolic link");
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0644), 0);
  ExpectRefused("pipe", Refusal::NOT_A_CHECKPOINT, "neither a file nor");
  ASSERT_EQ(mkdir(Path("run/.tmp-step-000000000070").c_str(), 0755), 0);
  ExpectRefused("run/.tmp-step-000000000070", Refusal::NOT_A_CHECKPOINT,
                "did not finish");
  ASSERT_EQ(mkdir(Path("run/step-000000000099").c_str(), 0755), 0);
  ExpectRefused("run/step-000000000099", Refusal::CORRUPT,
                "an incomplete copy");
}

TEST_F(BadSourceTest, C30_AmbiguousFoldersAreRefused) {
  Save("run", 1, SmallSnapshot(60));
  WriteFile("run/manifest.ckpt", "x");
  ExpectRefused("run", Refusal::NOT_A_CHECKPOINT,
                "both a checkpoint (manifest.ckpt) and a run folder");
  ASSERT_EQ(unlink(Path("run/manifest.ckpt").c_str()), 0);
  ASSERT_EQ(mkdir(Path("run/step-7").c_str(), 0755), 0);
  ExpectRefused("run", Refusal::NOT_A_CHECKPOINT, "step-7");
}

TEST_F(BadSourceTest, C30_DamagedVersion1IsRefusedByName) {
  Save("run", 1, SmallSnapshot(50));
  Save("run", 1, SmallSnapshot(60));
  const std::string file = "run/step-000000000060/manifest.ckpt";
  const std::string whole = *FileContent(Path(file));
  Damage(file, [](std::string bytes) {
    bytes[bytes.size() / 2] ^= 1;
    return bytes;
  });
  ExpectRefused("run", Refusal::CORRUPT, "step-000000000060");
  Damage(file, [&](std::string) { return whole.substr(0, whole.size() - 1); });
  ExpectRefused("run", Refusal::TRUNCATED, "step-000000000060");
  Damage(file, [&](std::string) { return std::string(); });
  ExpectRefused("run", Refusal::TRUNCATED, "step-000000000060");
  Damage(file, [&](std::string) {
    Envelope future;
    future.major = 1000;
    future.manifest_length = whole.size() - kEnvelopeSize;
    return EncodeEnvelope(future) + whole.substr(kEnvelopeSize);
  });
  ExpectRefused("run", Refusal::TOO_NEW, "step-000000000060");
}

TEST_F(BadSourceTest, C30_DamagedVersion2IsRefusedByName) {
  Save("run", 2, FullSnapshot(60));
  const std::string folder = "run/step-000000000060/";
  const MigrateOptions rename = Renaming("^fc\\. -> head_of.");
  for (const std::string name :
       {"shard-0000-0000.bin", "shard-0000-0000.bin.digests",
        "manifest.ckpt"}) {
    const std::string whole = *FileContent(Path(folder + name));
    Damage(folder + name,
           [&](std::string) { return whole.substr(0, whole.size() / 2); });
    ExpectRefused("run", Refusal::TRUNCATED, name, rename);
    ASSERT_EQ(unlink(Path(folder + name).c_str()), 0);
    const bool digests = absl::EndsWith(name, ".digests");
    ExpectRefused("run", digests ? Refusal::ABSENT : Refusal::CORRUPT,
                  "step-000000000060", rename);
    ASSERT_TRUE(ReplaceFile(Path(folder + name), whole).ok());
  }
  WriteFile(folder + "stranger", "x");
  ExpectRefused("run", Refusal::CORRUPT, "stranger", rename);
}

TEST_F(BadSourceTest, C30_FlippedBytesOfVersion2AreFoundWhereTheyAreRead) {
  Save("run", 2, FullSnapshot(60));
  const std::string folder = "run/step-000000000060/";
  auto flip = [](std::string bytes) {
    bytes[3] ^= 1;
    return bytes;
  };
  MigrateOptions rename = Renaming("^fc\\. -> head_of.");
  for (const char* name : {"shard-0000-0000.bin.digests", "manifest.ckpt"}) {
    Damage(folder + name, flip);
    ExpectRefused("run", Refusal::CORRUPT, name, rename);
    Damage(folder + name, flip);
  }
  Damage(folder + "shard-0000-0000.bin", flip);
  // Tensor bytes are read when they are copied, or when that is asked for.
  rename.verify = true;
  ExpectRefused("run", Refusal::CORRUPT, "shard-0000-0000.bin", rename);
  rename.verify = false;
  rename.copy = true;
  ExpectRefused("run", Refusal::CORRUPT, "shard-0000-0000.bin", rename);
  // A link is the same file: what was wrong is wrong there, and is found there.
  rename.copy = false;
  ASSERT_TRUE(Migrate("run", "out", rename).ok());
  EXPECT_EQ(RefusalOf(VerifyCheckpoint(Path("out/step-000000000060"))),
            Refusal::CORRUPT);
}

TEST_F(BadSourceTest, MIG_5_CheckpointThatContradictsItselfIsRefused) {
  Save("run", 1, SmallSnapshot(50));
  Snapshot snapshot = SmallSnapshot(60);
  snapshot.optimizer->states[0].step = 59;
  Save("run", 1, snapshot);
  ExpectRefused("run", Refusal::INVALID_VALUE, "optim.step");
  ExpectRefused("run", Refusal::INVALID_VALUE,
                "step-000000000060/manifest.ckpt");
}

TEST_F(BadSourceTest, C30_RunThatIsBeingTrainedIsLocked) {
  Save("run", 1, SmallSnapshot(60));
  auto store = CheckpointStore::Open(Path("run"), {});
  ASSERT_TRUE(store.ok());
  ExpectRefused("run", Refusal::LOCKED, "holds this run folder");
}

TEST_F(BadSourceTest, C30_CheckpointsOfSeveralRunsAreRefused) {
  Save("run", 1, SmallSnapshot(50));
  Snapshot other = SmallSnapshot(60);
  other.run_id = std::string(32, 'a');
  Save("other", 1, other);
  ASSERT_TRUE(FileSystem::Real()
                  ->Rename(Path("other/step-000000000060"),
                           Path("run/step-000000000060"))
                  .ok());
  ExpectRefused("run", Refusal::MISMATCH, "step-000000000060");
}

TEST_F(BadSourceTest, C30_FolderOfAnotherStepIsRefused) {
  Save("run", 1, SmallSnapshot(60));
  ASSERT_TRUE(
      FileSystem::Real()
          ->Rename(Path("run/step-000000000060"), Path("run/step-000000000061"))
          .ok());
  ExpectRefused("run", Refusal::MISMATCH, "step-000000000061");
}

TEST_F(BadSourceTest, MIG_1_NeverInPlace) {
  Save("run", 1, SmallSnapshot(60));
  const auto before = Everything();
  for (const char* out : {"run", "run/", "run/new", "nowhere/out"}) {
    auto migrated = Migrate("run", out);
    EXPECT_EQ(ExitCodeFor(migrated.status()), ExitCode::EXIT_BAD_REQUEST)
        << out << migrated.status();
  }
  EXPECT_TRUE(Everything() == before);
  WriteFile("file", "x");
  EXPECT_EQ(ExitCodeFor(Migrate("run", "file").status()),
            ExitCode::EXIT_BAD_REQUEST);
  // An empty folder may be there.
  ASSERT_EQ(mkdir(Path("made").c_str(), 0755), 0);
  EXPECT_TRUE(Migrate("run", "made").ok());
}

TEST(MigrateRun, DefaultPlaceIsBesideTheRun) {
  EXPECT_EQ(DefaultMigrationOut("/a/run/", 2, false), "/a/run.v2");
  EXPECT_EQ(DefaultMigrationOut("/a/run/step-000000000060", 2, false),
            "/a/run.v2");
  EXPECT_EQ(DefaultMigrationOut("/a/mine", 2, true), "/a/mine.renamed");
}

}  // namespace
}  // namespace reprise
