// FileSystem::Within on the real file system: both with openat2() and without.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "format/io/file_system.h"
#include "format/io/io_error.h"
#include "format/io/testing/fault_injecting_file_system.h"
#include "format/io/testing/test_folder.h"
#include "format/io/testing/without_openat2.h"
#include "format/refusal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WithinTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(files_->CreateFolder(run_).ok());
    auto within = files_->Within(run_);
    ASSERT_TRUE(within.ok()) << within.status();
    within_ = *std::move(within);
  }
  void TearDown() override {
    EXPECT_TRUE(RemoveRecursively(files_, outside_).ok());
  }
  std::string Path(const std::string& name) { return JoinPath(run_, name); }
  static absl::Status Write(FileSystem* files, const std::string& path,
                            const std::string& text) {
    auto file = files->CreateExclusive(path, 0644);
    if (!file.ok()) return file.status();
    absl::Status status = WriteAll(file->get(), 0, text);
    status.Update((*file)->Close());
    return status;
  }
  static std::vector<std::string> Names(FileSystem* files,
                                        const std::string& folder) {
    std::vector<std::string> names;
    auto entries = files->List(folder);
    EXPECT_TRUE(entries.ok()) << entries.status();
    if (!entries.ok()) return names;
    for (const FolderEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }
  // Every operation that takes a path, with what it returned.
  std::vector<std::pair<std::string, absl::Status>> EveryOperation(
      const std::string& path) {
    FileSystem* const w = within_.get();
    const std::string here = Path("here");
    return {{"OpenForReading", w->OpenForReading(path).status()},
            {"CreateExclusive", w->CreateExclusive(path, 0644).status()},
            {"OpenOrCreate", w->OpenOrCreate(path).status()},
            {"CreateFolder", w->CreateFolder(path)},
            {"SyncFolder", w->SyncFolder(path)},
            {"List", w->List(path).status()},
            {"RenameNoReplace", w->RenameNoReplace(path, here)},
            {"RenameNoReplace to", w->RenameNoReplace(here, path)},
            {"Rename", w->Rename(path, here)},
            {"Rename to", w->Rename(here, path)},
            {"Link", w->Link(path, here)},
            {"Link to", w->Link(here, path)},
            {"Unlink", w->Unlink(path)},
            {"RemoveFolder", w->RemoveFolder(path)},
            {"Stat", w->Stat(path).status()},
            {"LinkStat", w->LinkStat(path).status()},
            {"Within", w->Within(path).status()}};
  }

  FileSystem* files_ = FileSystem::Real();
  const std::string outside_ = FreshTestFolder();
  const std::string run_ = JoinPath(outside_, "run");
  std::shared_ptr<FileSystem> within_;
};

INSTANTIATE_TEST_SUITE_P(WithAndWithoutOpenat2, WithinTest,
                         ::testing::Values(0, ENOSYS, EPERM));

TEST_P(WithinTest, DoesEverythingByTheSamePaths) {
  WithoutOpenat2(GetParam(), [&] {
    FileSystem* const w = within_.get();
    EXPECT_TRUE(CreateFoldersDurably(w, Path("a/b")).ok());
    EXPECT_TRUE(Write(w, Path("a/b/file"), "hello").ok());
    EXPECT_EQ(*ReadSmallFile(files_, Path("a/b/file"), 100), "hello");
    EXPECT_EQ(*ReadSmallFile(w, Path("a/./b//file"), 100), "hello");
    EXPECT_TRUE(w->SyncFolder(Path("a/b/")).ok());
    EXPECT_TRUE(w->SyncFolder(run_).ok());
    EXPECT_TRUE(w->Link(Path("a/b/file"), Path("a/second")).ok());
    EXPECT_EQ(ErrnoOf(w->Link(Path("a/b/file"), Path("a/second"))), EEXIST);
    EXPECT_EQ(w->Stat(Path("a/second"))->inode,
              files_->Stat(Path("a/b/file"))->inode);
    EXPECT_EQ(ErrnoOf(w->RenameNoReplace(Path("a/b/file"), Path("a/second"))),
              EEXIST);
    EXPECT_TRUE(w->RenameNoReplace(Path("a/b/file"), Path("top")).ok());
    EXPECT_TRUE(w->Rename(Path("top"), Path("a/third")).ok());
    EXPECT_TRUE(w->OpenOrCreate(Path("lock")).ok());
    EXPECT_THAT(Names(w, Path("a")), ElementsAre("b", "second", "third"));
    EXPECT_THAT(Names(w, run_), ElementsAre("a", "lock"));
    EXPECT_EQ(w->LinkStat(run_)->inode, files_->Stat(run_)->inode);
    EXPECT_TRUE(w->Unlink(Path("a/second")).ok());
    EXPECT_TRUE(w->RemoveFolder(Path("a/b")).ok());
    EXPECT_TRUE(RemoveRecursively(w, Path("a")).ok());
    EXPECT_THAT(Names(files_, run_), ElementsAre("lock"));
    const absl::Status missing = w->OpenForReading(Path("no/file")).status();
    EXPECT_EQ(RefusalOf(missing), Refusal::ABSENT);
    EXPECT_THAT(std::string(missing.message()), HasSubstr(Path("no")));
  });
}

TEST_P(WithinTest, StaysInTheFolderThatWasRenamedAndReplacedByALink) {
  const std::string moved = JoinPath(outside_, "moved");
  const std::string elsewhere = JoinPath(outside_, "elsewhere");
  ASSERT_TRUE(files_->CreateFolder(elsewhere).ok());
  ASSERT_EQ(rename(run_.c_str(), moved.c_str()), 0);
  ASSERT_EQ(symlink(elsewhere.c_str(), run_.c_str()), 0);
  WithoutOpenat2(GetParam(), [&] {
    EXPECT_TRUE(within_->CreateFolder(Path("a")).ok());
    EXPECT_TRUE(Write(within_.get(), Path("a/file"), "x").ok());
    EXPECT_TRUE(within_->Rename(Path("a"), Path("b")).ok());
  });
  EXPECT_THAT(Names(files_, elsewhere), IsEmpty());
  EXPECT_THAT(Names(files_, moved), ElementsAre("b"));
  EXPECT_THAT(Names(files_, JoinPath(moved, "b")), ElementsAre("file"));
}

// Rules: DIR-5
TEST_P(WithinTest, C36_NoOperationFollowsALinkAndEachNamesIt) {
  const std::string elsewhere = JoinPath(outside_, "elsewhere");
  ASSERT_TRUE(files_->CreateFolder(elsewhere).ok());
  ASSERT_TRUE(Write(files_, JoinPath(elsewhere, "file"), "x").ok());
  ASSERT_EQ(symlink(elsewhere.c_str(), Path("link").c_str()), 0);
  ASSERT_TRUE(Write(files_, Path("here"), "x").ok());
  WithoutOpenat2(GetParam(), [&] {
    for (const char* name : {"link/file", "link/new", "link/deep/er"}) {
      for (const auto& [operation, status] : EveryOperation(Path(name))) {
        EXPECT_EQ(RefusalOf(status), Refusal::NOT_A_CHECKPOINT)
            << operation << " " << name << ": " << status;
        EXPECT_THAT(std::string(status.message()),
                    HasSubstr(absl::StrCat(Path("link"), ":")))
            << operation;
      }
    }
    // The link itself, where a folder or file is meant.
    for (const absl::Status& status :
         {within_->OpenForReading(Path("link")).status(),
          within_->OpenOrCreate(Path("link")).status(),
          within_->SyncFolder(Path("link")),
          within_->List(Path("link")).status(),
          within_->Stat(Path("link")).status(),
          within_->Within(Path("link")).status(),
          within_->List(Path("link/")).status()}) {
      EXPECT_EQ(ErrnoOf(status), ELOOP) << status;
    }
    EXPECT_EQ(within_->LinkStat(Path("link"))->kind, FileKind::kSymbolicLink);
    EXPECT_TRUE(RemoveRecursively(within_.get(), Path("link")).ok());
  });
  EXPECT_THAT(Names(files_, elsewhere), ElementsAre("file"));
}

TEST_P(WithinTest, C36_PathsThatLeadElsewhereAreRefused) {
  ASSERT_TRUE(files_->CreateFolder(JoinPath(outside_, "run2")).ok());
  ASSERT_TRUE(files_->CreateFolder(Path("a")).ok());
  ASSERT_TRUE(Write(files_, Path("here"), "x").ok());
  WithoutOpenat2(GetParam(), [&] {
    for (const std::string& path :
         {outside_, run_ + "2", run_ + "2/x", Path("../run2"), Path(".."),
          Path("a/../../run2/x"), Path("a/../x"), std::string("/etc"),
          std::string("x"), std::string()}) {
      for (const auto& [operation, status] : EveryOperation(path)) {
        EXPECT_EQ(RefusalOf(status), Refusal::INVALID_VALUE)
            << operation << " " << path << ": " << status;
      }
    }
  });
  EXPECT_THAT(Names(files_, JoinPath(outside_, "run2")), IsEmpty());
}

TEST_P(WithinTest, AFolderOfTheFolderIsHeldAsWell) {
  ASSERT_TRUE(files_->CreateFolder(Path("a")).ok());
  ASSERT_TRUE(Write(files_, Path("a/file"), "first").ok());
  WithoutOpenat2(GetParam(), [&] {
    auto inner = within_->Within(Path("a"));
    ASSERT_TRUE(inner.ok()) << inner.status();
    EXPECT_TRUE(within_->Rename(Path("a"), Path("b")).ok());
    EXPECT_TRUE(within_->CreateFolder(Path("a")).ok());
    EXPECT_TRUE(Write(files_, Path("a/file"), "second").ok());
    EXPECT_EQ(*ReadSmallFile(inner->get(), Path("a/file"), 100), "first");
    EXPECT_EQ(RefusalOf((*inner)->LinkStat(Path("b")).status()),
              Refusal::INVALID_VALUE);
  });
}

TEST(WithinPathsTest, TheFolderMayBeReachedThroughALinkOrWrittenAnyhow) {
  const std::string folder = FreshTestFolder();
  FileSystem* const files = FileSystem::Real();
  const std::string real = JoinPath(folder, "real");
  const std::string link = JoinPath(folder, "link");
  ASSERT_TRUE(files->CreateFolder(real).ok());
  ASSERT_EQ(symlink(real.c_str(), link.c_str()), 0);
  for (const std::string& path :
       {link, link + "/", link + "//", JoinPath(folder, "real/../link")}) {
    auto within = files->Within(path);
    ASSERT_TRUE(within.ok()) << within.status();
    auto file = (*within)->OpenOrCreate(JoinPath(path, "file"));
    EXPECT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE(files->Stat(JoinPath(real, "file")).ok());
    EXPECT_TRUE((*within)->Unlink(JoinPath(path, "file")).ok());
  }
  auto root = files->Within("/");
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_TRUE((*root)->Stat(real).ok());
  EXPECT_EQ(RefusalOf(files->Within(JoinPath(folder, "no")).status()),
            Refusal::ABSENT);
  EXPECT_TRUE(RemoveRecursively(files, folder).ok());
}

TEST(WithinPathsTest, ADoubleSeesEveryOperationWithItsWholePath) {
  const std::string folder = FreshTestFolder();
  FaultInjectingFileSystem faulty(FileSystem::Real());
  auto within = faulty.Within(folder);
  ASSERT_TRUE(within.ok()) << within.status();
  faulty.FailOperation(0, EIO);
  const std::string path = JoinPath(folder, "a");
  EXPECT_EQ(ErrnoOf((*within)->CreateFolder(path)), EIO);
  EXPECT_EQ(faulty.injected_operation(), "CreateFolder " + path);
  EXPECT_TRUE(RemoveRecursively(FileSystem::Real(), folder).ok());
}

// The example of file_system.h.
TEST(WithinPathsTest, Example) {
  const std::string run_path = FreshTestFolder();
  auto run = FileSystem::Real()->Within(run_path);
  ASSERT_TRUE(run.ok()) << run.status();
  auto file = (*run)->CreateExclusive(JoinPath(run_path, ".tmp-1"), 0444);
  EXPECT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(RemoveRecursively(FileSystem::Real(), run_path).ok());
}

}  // namespace
}  // namespace reprise
