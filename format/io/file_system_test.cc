#include "format/io/file_system.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "format/io/io_error.h"
#include "format/io/testing/fault_injecting_file_system.h"
#include "format/io/testing/test_folder.h"
#include "format/refusal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

class FileSystemTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) { return JoinPath(root_, name); }
  void Write(const std::string& path, const std::string& text) {
    auto file = files_->CreateExclusive(path, 0644);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(WriteAll(file->get(), 0, text).ok());
    ASSERT_TRUE((*file)->Close().ok());
  }

  FileSystem* files_ = FileSystem::Real();
  const std::string root_ = FreshTestFolder();
};

TEST_F(FileSystemTest, WritesAndReadsBack) {
  auto file = files_->CreateExclusive(Path("a"), 0444);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(WriteAll(file->get(), 0, "hello").ok());
  ASSERT_TRUE((*file)->SyncData().ok());
  ASSERT_TRUE((*file)->Close().ok());
  EXPECT_EQ(*ReadSmallFile(files_, Path("a"), 100), "hello");
  EXPECT_EQ(files_->LinkStat(Path("a"))->mode & 0222, 0u);
}

TEST_F(FileSystemTest, C25_WritesAtOffsetsBeyondTwoGiB) {
  auto file = files_->CreateExclusive(Path("sparse"), 0644);
  ASSERT_TRUE(file.ok()) << file.status();
  const uint64_t far = (uint64_t{1} << 32) + 5;
  ASSERT_TRUE(WriteAll(file->get(), far, "mark").ok());
  ASSERT_TRUE((*file)->Close().ok());
  auto reader = files_->OpenForReading(Path("sparse"));
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->Stat()->size, far + 4);
  char buffer[4];
  ASSERT_TRUE(ReadExactly(reader->get(), far, buffer, 4).ok());
  EXPECT_EQ(std::string(buffer, 4), "mark");
  EXPECT_EQ(ErrnoOf((*reader)->ReadAt(uint64_t{1} << 63, buffer, 1).status()),
            EOVERFLOW);
}

TEST_F(FileSystemTest, C25_ShortWritesAreLooped) {
  FaultInjectingFileSystem faulty(files_);
  auto file = faulty.CreateExclusive(Path("short"), 0644);
  ASSERT_TRUE(file.ok()) << file.status();
  faulty.ShortWriteAt(0);
  ASSERT_TRUE(WriteAll(file->get(), 0, "0123456789").ok());
  EXPECT_TRUE(faulty.injected());
  EXPECT_EQ(faulty.operations(), 2);
  ASSERT_TRUE((*file)->Close().ok());
  EXPECT_EQ(*ReadSmallFile(files_, Path("short"), 100), "0123456789");
}

TEST_F(FileSystemTest, ReadingBeyondTheEndSaysWhereItEnds) {
  Write(Path("five"), "hello");
  auto file = files_->OpenForReading(Path("five"));
  ASSERT_TRUE(file.ok());
  char buffer[8];
  absl::Status status = ReadExactly(file->get(), 2, buffer, 8);
  EXPECT_EQ(RefusalOf(status), Refusal::TRUNCATED);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("expected 8 bytes at offset 2, the file ends after 3"));
}

TEST_F(FileSystemTest, ReadSmallFileRefusesLargeOnes) {
  Write(Path("large"), std::string(101, 'x'));
  EXPECT_EQ(RefusalOf(ReadSmallFile(files_, Path("large"), 100).status()),
            Refusal::LIMIT);
}

TEST_F(FileSystemTest, CreatingNeverOpensWhatIsThere) {
  Write(Path("a"), "old");
  EXPECT_EQ(ErrnoOf(files_->CreateExclusive(Path("a"), 0644).status()), EEXIST);
  EXPECT_EQ(*ReadSmallFile(files_, Path("a"), 100), "old");
}

TEST_F(FileSystemTest, RefusesSymbolicLinksFoldersAndPipes) {
  Write(Path("target"), "x");
  ASSERT_EQ(symlink(Path("target").c_str(), Path("link").c_str()), 0);
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  ASSERT_TRUE(files_->CreateFolder(Path("folder")).ok());
  for (const char* name : {"link", "pipe", "folder"}) {
    EXPECT_EQ(RefusalOf(files_->OpenForReading(Path(name)).status()),
              Refusal::NOT_A_CHECKPOINT)
        << name;
    EXPECT_FALSE(files_->OpenOrCreate(Path(name)).ok()) << name;
  }
  EXPECT_EQ(files_->LinkStat(Path("link"))->kind, FileKind::kSymbolicLink);
  EXPECT_EQ(files_->Stat(Path("link"))->kind, FileKind::kRegular);
}

TEST_F(FileSystemTest, MissingFilesAreAbsent) {
  EXPECT_EQ(RefusalOf(files_->OpenForReading(Path("no")).status()),
            Refusal::ABSENT);
  EXPECT_EQ(RefusalOf(files_->List(Path("no")).status()), Refusal::ABSENT);
}

TEST_F(FileSystemTest, RenameNoReplaceLeavesBothWhenTheTargetExists) {
  ASSERT_TRUE(files_->CreateFolder(Path("from")).ok());
  ASSERT_TRUE(files_->CreateFolder(Path("to")).ok());
  EXPECT_EQ(ErrnoOf(files_->RenameNoReplace(Path("from"), Path("to"))), EEXIST);
  EXPECT_TRUE(files_->LinkStat(Path("from")).ok());
  ASSERT_TRUE(files_->RenameNoReplace(Path("from"), Path("new")).ok());
  EXPECT_FALSE(files_->LinkStat(Path("from")).ok());
}

TEST_F(FileSystemTest, ListsSortedWithKinds) {
  Write(Path("b"), "");
  ASSERT_TRUE(files_->CreateFolder(Path("c")).ok());
  ASSERT_EQ(symlink("nowhere", Path("a").c_str()), 0);
  auto entries = files_->List(root_);
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].name, "a");
  EXPECT_EQ((*entries)[0].kind, FileKind::kSymbolicLink);
  EXPECT_EQ((*entries)[1].kind, FileKind::kRegular);
  EXPECT_EQ((*entries)[2].kind, FileKind::kFolder);
}

TEST_F(FileSystemTest, RemovingRecursivelyDoesNotFollowLinks) {
  Write(Path("outside"), "x");
  ASSERT_TRUE(CreateFoldersDurably(files_, Path("in/deep/er")).ok());
  Write(Path("in/deep/file"), "x");
  ASSERT_EQ(symlink(Path("outside").c_str(), Path("in/link").c_str()), 0);
  ASSERT_TRUE(RemoveRecursively(files_, Path("in")).ok());
  EXPECT_FALSE(files_->LinkStat(Path("in")).ok());
  EXPECT_TRUE(files_->LinkStat(Path("outside")).ok());
  EXPECT_TRUE(RemoveRecursively(files_, Path("in")).ok());
}

TEST_F(FileSystemTest, CreatingFoldersSyncsTheParentOfEach) {
  class Recorder : public ForwardingFileSystem {
   public:
    using ForwardingFileSystem::ForwardingFileSystem;
    absl::Status Before(const Operation& operation) override {
      if (operation.name == "SyncFolder") synced.push_back(operation.path);
      return absl::OkStatus();
    }
    std::vector<std::string> synced;
  };
  Recorder recorder(files_);
  ASSERT_TRUE(CreateFoldersDurably(&recorder, Path("p/q/")).ok());
  EXPECT_EQ(recorder.synced, (std::vector<std::string>{root_, Path("p")}));
  Write(Path("file"), "");
  EXPECT_EQ(ErrnoOf(CreateFoldersDurably(files_, Path("file/x"))), ENOTDIR);
}

TEST_F(FileSystemTest, LocksExcludeOtherDescriptorsUntilClosed) {
  auto first = files_->OpenOrCreate(Path("lock"));
  auto second = files_->OpenOrCreate(Path("lock"));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(*(*first)->TryLock());
  EXPECT_FALSE(*(*second)->TryLock());
  ASSERT_TRUE((*first)->Close().ok());
  EXPECT_TRUE(*(*second)->TryLock());
}

TEST_F(FileSystemTest, DescriptorsDoNotReachOtherPrograms) {
  auto file = files_->OpenOrCreate(Path("mine"));
  ASSERT_TRUE(file.ok());
  // A program started from here must not keep the file open (or its lock).
  const std::string command =
      absl::StrCat("ls -l /proc/self/fd | grep -q '", Path("mine"), "'");
  EXPECT_NE(WEXITSTATUS(system(command.c_str())), 0);
}

TEST(PathTest, JoinsAndSplits) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(ParentFolder("a/b"), "a");
  EXPECT_EQ(ParentFolder("a//b//"), "a");
  EXPECT_EQ(ParentFolder("b"), ".");
  EXPECT_EQ(ParentFolder("/b"), "/");
  EXPECT_EQ(ParentFolder("/"), "/");
  EXPECT_EQ(ParentFolder("."), ".");
  EXPECT_EQ(BaseName("a/b/"), "b");
  EXPECT_EQ(BaseName("b"), "b");
  EXPECT_EQ(BaseName("/"), "/");
  EXPECT_EQ(WithoutTrailingSlashes("a//"), "a");
  EXPECT_EQ(WithoutTrailingSlashes("//"), "/");
}

}  // namespace
}  // namespace reprise
