#include "trainer/run_folder.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/run_layout.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

namespace fs = std::filesystem;

class RunFolderTest : public ::testing::Test {
 protected:
  RunFolderTest() {
    line_.run_dir = absl::StrCat(
        ::testing::TempDir(), "/run-",
        ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(line_.run_dir);
  }

  // Checkpoints of the three steps, as a run before left them.
  void HoldRun() {
    auto store = OpenRunFolder(line_, FileSystem::Real()).value();
    for (uint64_t step : {10, 20, 30}) {
      const auto saved = store->Save(FullSnapshot(step));
      ASSERT_TRUE(saved.ok()) << saved.status();
    }
    std::ofstream(line_.run_dir + "/metrics.jsonl") << "{}\n";
  }
  std::string Path(uint64_t step) const {
    return absl::StrCat(line_.run_dir, "/", CheckpointName(step));
  }
  bool Exists(const std::string& name) const {
    return fs::exists(line_.run_dir + "/" + name);
  }

  CommandLine line_;
  TrainerConfig config_ = Defaults();
};

TEST_F(RunFolderTest, FolderIsMadeAndItsRunIsTheFirstAttempt) {
  auto store = MakeRunFolder(line_, FileSystem::Real());
  ASSERT_TRUE(store.ok()) << store.status();
  const auto entry = EnterRunFolder(line_, config_, {}, store->get());
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(entry->attempt, 1);
  EXPECT_THAT(entry->notices, IsEmpty());
}

TEST_F(RunFolderTest, FolderThatHoldsARunMeanwhileIsNotMade) {
  HoldRun();
  const auto store = MakeRunFolder(line_, FileSystem::Real());
  EXPECT_EQ(store.status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(RunFolderTest, FreshMovesWhatIsThereAside) {
  HoldRun();
  line_.fresh = true;
  auto store = OpenRunFolder(line_, FileSystem::Real()).value();
  const auto entry = EnterRunFolder(line_, config_, {}, store.get());
  ASSERT_TRUE(entry.ok()) << entry.status();
  const std::string aside = absl::StrCat("abandoned/", entry->attempt);
  EXPECT_THAT(entry->notices,
              ElementsAre(absl::StrCat("--fresh: moved 4 entries of the former "
                                       "run to ",
                                       line_.run_dir, "/", aside)));
  for (const std::string& name :
       {CheckpointName(10), CheckpointName(30), std::string("metrics.jsonl")}) {
    EXPECT_FALSE(Exists(name)) << name;
    EXPECT_TRUE(Exists(aside + "/" + name)) << name;
  }
}

TEST_F(RunFolderTest, WhatLiesBeyondTheStepMovesAsideAndIsSaid) {
  HoldRun();
  auto store = OpenRunFolder(line_, FileSystem::Real()).value();
  ResumeChoice choice;
  choice.from = ReadCheckpoint(Path(20)).value();
  const auto entry = EnterRunFolder(line_, config_, choice, store.get());
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_GT(entry->attempt, choice.from->snapshot.attempt);
  EXPECT_THAT(entry->notices,
              ElementsAre(absl::StrCat(
                  "Moved ", CheckpointName(30), " to abandoned/",
                  entry->attempt, ": it lies beyond the step resumed from")));
  EXPECT_THAT(store->List().value(), UnorderedElementsAre(10, 20));
}

TEST_F(RunFolderTest, CheckpointElsewhereLeavesTheFolderAlone) {
  HoldRun();
  ResumeChoice choice;
  choice.from = ReadCheckpoint(Path(20)).value();
  choice.in_run_folder = false;
  line_.run_dir += "-other";
  fs::remove_all(line_.run_dir);
  auto store = MakeRunFolder(line_, FileSystem::Real());
  ASSERT_TRUE(store.ok()) << store.status();
  const auto entry = EnterRunFolder(line_, config_, choice, store->get());
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_GT(entry->attempt, choice.from->snapshot.attempt);
  EXPECT_THAT(entry->notices, IsEmpty());
}

TEST_F(RunFolderTest, StoreKeepsWhatTheConfigurationSays) {
  HoldRun();
  config_.mutable_run()->set_keep_last(1);
  config_.mutable_save()->set_keep_every(20);
  config_.mutable_save()->set_keep_best(false);
  auto store = OpenRunFolder(line_, FileSystem::Real()).value();
  ResumeChoice choice;
  choice.from = ReadCheckpoint(Path(30)).value();
  ASSERT_TRUE(EnterRunFolder(line_, config_, choice, store.get()).ok());
  const auto removed = store->Prune();
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_THAT(*removed, ElementsAre(CheckpointName(10)));
}

}  // namespace
}  // namespace reprise
