#include "format/io/testing/fault_injecting_file_system.h"

#include <errno.h>

#include "format/io/io_error.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

class FaultInjectingFileSystemTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) {
    return JoinPath(::testing::TempDir(), name);
  }
  FaultInjectingFileSystem files_{FileSystem::Real()};
};

TEST_F(FaultInjectingFileSystemTest, FailsExactlyTheOperationAskedFor) {
  const std::string path = Path("exactly");
  files_.FailOperation(1, EIO);
  EXPECT_TRUE(files_.CreateFolder(path).ok());
  EXPECT_FALSE(files_.injected());
  absl::Status status = files_.SyncFolder(path);
  EXPECT_EQ(ErrnoOf(status), EIO);
  EXPECT_TRUE(files_.injected());
  EXPECT_EQ(files_.injected_operation(), "SyncFolder " + path);
  EXPECT_TRUE(files_.SyncFolder(path).ok());
  EXPECT_EQ(files_.operations(), 3);
}

TEST_F(FaultInjectingFileSystemTest, GoneForGoodStillReads) {
  const std::string path = Path("for-good");
  ASSERT_TRUE(files_.CreateFolder(path).ok());
  files_.FailFromOperation(0, ENOSPC);
  EXPECT_EQ(ErrnoOf(files_.CreateFolder(path + "/a")), ENOSPC);
  EXPECT_EQ(ErrnoOf(files_.CreateFolder(path + "/b")), ENOSPC);
  EXPECT_TRUE(files_.List(path).ok());
}

TEST_F(FaultInjectingFileSystemTest, ShortWritesWriteHalf) {
  const std::string path = Path("short");
  auto file = files_.CreateExclusive(path, 0644);
  ASSERT_TRUE(file.ok()) << file.status();
  files_.ShortWriteAt(0);
  auto written = (*file)->WriteAt(0, "abcdef", 6);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(*written, 3u);
  EXPECT_TRUE(files_.injected());
  EXPECT_EQ((*file)->Stat()->size, 3u);
}

TEST_F(FaultInjectingFileSystemTest, FailingCloseStillFreesTheFile) {
  const std::string path = Path("close");
  auto file = files_.OpenOrCreate(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(*(*file)->TryLock());
  files_.FailOperation(0, EIO);
  EXPECT_EQ(ErrnoOf((*file)->Close()), EIO);
  auto again = files_.OpenOrCreate(path);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(*(*again)->TryLock());
}

}  // namespace
}  // namespace reprise
