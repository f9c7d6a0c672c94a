#include "format/io/testing/unsynced_file_system.h"

#include <errno.h>

#include <set>
#include <string>

#include "format/io/io_error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::UnorderedElementsAre;

class UnsyncedFileSystemTest : public ::testing::Test {
 protected:
  // What `path` holds in each state that may survive: its bytes, "(folder)" or
  // "(absent)".
  std::set<std::string> Survivors(const std::string& path) {
    std::set<std::string> found;
    files_.ForEachCrashState([&](UnsyncedFileSystem* survived) {
      auto info = survived->LinkStat(path);
      if (!info.ok()) {
        found.insert("(absent)");
      } else if (info->kind == FileKind::kFolder) {
        found.insert("(folder)");
      } else {
        found.insert(*ReadSmallFile(survived, path, 1000));
      }
      return true;
    });
    return found;
  }
  void Write(const std::string& path, const std::string& text, bool sync) {
    auto file = files_.CreateExclusive(path, 0644);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(WriteAll(file->get(), 0, text).ok());
    if (!sync) return;
    ASSERT_TRUE((*file)->SyncData().ok());
  }

  UnsyncedFileSystem files_;
};

TEST_F(UnsyncedFileSystemTest, UnsyncedBytesMaySurviveWholeByHalfAsZerosOrNot) {
  Write("/a", "abcd", /*sync=*/false);
  EXPECT_THAT(
      Survivors("/a"),
      UnorderedElementsAre("(absent)", "", "ab", "abcd", std::string(4, '\0')));
  ASSERT_TRUE(files_.SyncFolder("/").ok());
  EXPECT_THAT(Survivors("/a"),
              UnorderedElementsAre("", "ab", "abcd", std::string(4, '\0')));
}

TEST_F(UnsyncedFileSystemTest, SyncedBytesAreLostOnlyWithTheirName) {
  Write("/a", "abcd", /*sync=*/true);
  EXPECT_THAT(Survivors("/a"), UnorderedElementsAre("(absent)", "abcd"));
  ASSERT_TRUE(files_.SyncFolder("/").ok());
  EXPECT_THAT(Survivors("/a"), UnorderedElementsAre("abcd"));
  EXPECT_EQ(files_.pending(), 0u);
}

TEST_F(UnsyncedFileSystemTest, SyncingAFolderDoesNotSyncWhatIsBelow) {
  ASSERT_TRUE(files_.CreateFolder("/f").ok());
  Write("/f/a", "abcd", /*sync=*/true);
  ASSERT_TRUE(files_.SyncFolder("/").ok());
  EXPECT_THAT(Survivors("/f"), UnorderedElementsAre("(folder)"));
  EXPECT_THAT(Survivors("/f/a"), UnorderedElementsAre("(absent)", "abcd"));
}

TEST_F(UnsyncedFileSystemTest, RenamesAreOneStep) {
  Write("/a", "new", /*sync=*/true);
  Write("/b", "old", /*sync=*/true);
  ASSERT_TRUE(files_.SyncFolder("/").ok());
  EXPECT_EQ(ErrnoOf(files_.RenameNoReplace("/a", "/b")), EEXIST);
  ASSERT_TRUE(files_.Rename("/a", "/b").ok());
  EXPECT_THAT(Survivors("/b"), UnorderedElementsAre("old", "new"));
  int states = 0;
  files_.ForEachCrashState([&](UnsyncedFileSystem* survived) {
    ++states;
    EXPECT_EQ(survived->LinkStat("/a").ok(),
              *ReadSmallFile(survived, "/b", 10) == "old");
    return true;
  });
  EXPECT_EQ(states, 2);
}

TEST_F(UnsyncedFileSystemTest, ChangesAreReportedAndCounted) {
  int changes = 0;
  files_.SetAfterChange([&] { ++changes; });
  Write("/a", "x", /*sync=*/true);
  EXPECT_EQ(changes, 3);
  ASSERT_TRUE(files_.Unlink("/a").ok());
  EXPECT_EQ(changes, 4);
  EXPECT_EQ(files_.ForEachCrashState([](UnsyncedFileSystem*) { return true; }),
            4u);
  EXPECT_EQ(files_.ForEachCrashState([](UnsyncedFileSystem*) { return false; }),
            1u);
}

TEST_F(UnsyncedFileSystemTest, BehavesLikeTheRealOne) {
  ASSERT_TRUE(CreateFoldersDurably(&files_, "/x/y").ok());
  Write("/x/y/z", "data", /*sync=*/false);
  EXPECT_EQ(ErrnoOf(files_.RemoveFolder("/x/y")), ENOTEMPTY);
  EXPECT_EQ(ErrnoOf(files_.Unlink("/x/y")), EISDIR);
  EXPECT_EQ(ErrnoOf(files_.CreateFolder("/x/y")), EEXIST);
  EXPECT_EQ(ErrnoOf(files_.CreateFolder("/no/y")), ENOENT);
  EXPECT_EQ(ErrnoOf(files_.CreateFolder("/x/y/z/a")), ENOTDIR);
  EXPECT_EQ(ErrnoOf(files_.OpenForReading("/x/n").status()), ENOENT);
  EXPECT_FALSE(files_.OpenForReading("/x").ok());
  ASSERT_TRUE(RemoveRecursively(&files_, "/x").ok());
  EXPECT_TRUE(files_.List("/")->empty());
}

TEST_F(UnsyncedFileSystemTest, LocksExcludeOthersUntilClosed) {
  auto first = files_.OpenOrCreate("/lock");
  auto second = files_.OpenOrCreate("/lock");
  EXPECT_TRUE(*(*first)->TryLock());
  EXPECT_FALSE(*(*second)->TryLock());
  ASSERT_TRUE((*first)->Close().ok());
  EXPECT_TRUE(*(*second)->TryLock());
}

}  // namespace
}  // namespace reprise
