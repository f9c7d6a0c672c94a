#include "conformance/log_adapter/checkpoint_watch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string RunFolder() {
  static std::atomic<int> number{0};
  // Characters that a glob would take for its own.
  const std::string path =
      absl::StrCat(getenv("TEST_TMPDIR"), "/run[1]*-", getpid(), "-", ++number);
  std::filesystem::create_directories(path);
  return path;
}

void Write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(
      std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::trunc) << text;
}

v1::Checkpoints Numbered() {
  v1::Checkpoints checkpoints;
  checkpoints.set_files("checkpoint-*/state.json");
  checkpoints.set_step("checkpoint-(?P<step>\\d+)");
  checkpoints.set_commit_when_closed(true);
  return checkpoints;
}

std::vector<std::string> Paths(const std::vector<CheckpointFile>& files) {
  std::vector<std::string> paths;
  for (const CheckpointFile& file : files) paths.push_back(file.path);
  return paths;
}

TEST(CheckpointWatch, FindsWhatLiesThereInTheOrderOfSteps) {
  const std::string run = RunFolder();
  for (const char* name : {"checkpoint-100", "checkpoint-20", "checkpoint-9"}) {
    Write(absl::StrCat(run, "/", name, "/state.json"), name);
  }
  CheckpointWatch watch(run, Numbered());
  EXPECT_THAT(Paths(watch.found()),
              ElementsAre("checkpoint-9/state.json", "checkpoint-20/state.json",
                          "checkpoint-100/state.json"));
  EXPECT_EQ(watch.found()[2].step, 100);
  const CheckpointWatch::News news = watch.Look({});
  EXPECT_THAT(news.begun, IsEmpty());
  EXPECT_THAT(news.committed, IsEmpty());
}

TEST(CheckpointWatch, CommitsAFileThatRestsAndIsClosed) {
  const std::string run = RunFolder();
  CheckpointWatch watch(run, Numbered());
  Write(run + "/checkpoint-10/state.json", "x");
  CheckpointWatch::News news = watch.Look({});
  EXPECT_THAT(Paths(news.begun), ElementsAre("checkpoint-10/state.json"));
  EXPECT_THAT(news.committed, IsEmpty());
  news = watch.Look({});
  EXPECT_THAT(news.begun, IsEmpty());
  EXPECT_THAT(Paths(news.committed), ElementsAre("checkpoint-10/state.json"));
  EXPECT_THAT(watch.Look({}).committed, IsEmpty()) << "once";
}

TEST(CheckpointWatch, WaitsWhileAProcessHoldsItOpen) {
  const std::string run = RunFolder();
  CheckpointWatch watch(run, Numbered());
  const std::string path = run + "/checkpoint-10/state.json";
  Write(path, "x");
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND);
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(watch.Look({getpid()}).committed, IsEmpty());
  }
  ASSERT_EQ(write(fd, "y", 1), 1);
  close(fd);
  EXPECT_THAT(watch.Look({getpid()}).committed, IsEmpty()) << "just changed";
  EXPECT_THAT(Paths(watch.Look({getpid()}).committed),
              ElementsAre("checkpoint-10/state.json"));
}

TEST(CheckpointWatch, SeesAFileThatIsWrittenAgain) {
  const std::string run = RunFolder();
  v1::Checkpoints checkpoints;
  checkpoints.set_files("ckpt.pt");
  checkpoints.set_commit_when_closed(true);
  Write(run + "/ckpt.pt", "first");
  CheckpointWatch watch(run, checkpoints);
  const std::string first = watch.found()[0].identity;
  EXPECT_THAT(first, StartsWith("ckpt.pt#"));
  Write(run + "/ckpt.pt", "second");
  EXPECT_EQ(watch.Look({}).begun.size(), 1);
  const CheckpointWatch::News news = watch.Look({});
  ASSERT_EQ(news.committed.size(), 1);
  EXPECT_NE(news.committed[0].identity, first);
}

TEST(CheckpointWatch, IdentifiesACheckpointWhereverTheFolderMoves) {
  const std::string run = RunFolder();
  Write(run + "/checkpoint-10/state.json", std::string(3 << 20, 'x') + "end");
  const std::string before =
      CheckpointWatch(run, Numbered()).found()[0].identity;
  const std::string moved = run + "-moved";
  std::filesystem::rename(run, moved);
  EXPECT_EQ(CheckpointWatch(moved, Numbered()).found()[0].identity, before);
}

TEST(CheckpointWatch, TellsOfAFolderThatAppears) {
  const std::string run = RunFolder();
  v1::Checkpoints checkpoints = Numbered();
  checkpoints.set_begun("checkpoint-*");
  CheckpointWatch watch(run, checkpoints);
  mkdir((run + "/checkpoint-10").c_str(), 0755);
  CheckpointWatch::News news = watch.Look({});
  ASSERT_THAT(Paths(news.begun), ElementsAre("checkpoint-10"));
  EXPECT_EQ(news.begun[0].step, 10);
  std::filesystem::remove_all(run + "/checkpoint-10");
  EXPECT_THAT(watch.Look({}).begun, IsEmpty());
  mkdir((run + "/checkpoint-10").c_str(), 0755);
  EXPECT_THAT(Paths(watch.Look({}).begun), ElementsAre("checkpoint-10"));
}

}  // namespace
}  // namespace reprise::conformance
