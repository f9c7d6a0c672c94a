#include "format/io/folder_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "format/io/file_system.h"
#include "format/io/io_error.h"
#include "format/io/testing/test_folder.h"
#include "format/io/testing/without_openat2.h"
#include "format/refusal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

using Find = absl::StatusOr<Descriptor> (*)(int root,
                                            absl::string_view root_path,
                                            const std::string& relative);

// Both ways, and each with a kernel of either kind.
class FolderDescriptorTest : public ::testing::TestWithParam<Find> {
 protected:
  void SetUp() override {
    root_path_ = JoinPath(outside_, "root");
    ASSERT_TRUE(CreateFoldersDurably(files_, Path("a/b")).ok());
    auto root = OpenFolderAt(AT_FDCWD, root_path_, O_PATH, Links::kRefuse,
                             "open folder", root_path_);
    ASSERT_TRUE(root.ok()) << root.status();
    root_ = *std::move(root);
  }
  void TearDown() override {
    EXPECT_TRUE(RemoveRecursively(files_, outside_).ok());
  }
  std::string Path(const std::string& name) {
    return JoinPath(root_path_, name);
  }
  absl::StatusOr<Descriptor> Open(const std::string& relative) {
    return GetParam()(root_.get(), root_path_, relative);
  }
  // The inode of an open folder, and of a path.
  static ino_t InodeOf(const absl::StatusOr<Descriptor>& folder) {
    EXPECT_TRUE(folder.ok()) << folder.status();
    struct stat status = {};
    if (folder.ok()) fstat(folder->get(), &status);
    return status.st_ino;
  }
  ino_t InodeOf(const std::string& path) { return files_->Stat(path)->inode; }

  FileSystem* files_ = FileSystem::Real();
  const std::string outside_ = FreshTestFolder();
  std::string root_path_;
  Descriptor root_;
};

INSTANTIATE_TEST_SUITE_P(BothWays, FolderDescriptorTest,
                         ::testing::Values(&OpenFolderBeneath,
                                           &WalkToFolderBeneath));

TEST_P(FolderDescriptorTest, FindsFoldersAtEveryDepth) {
  for (int error_number : {0, ENOSYS, EPERM}) {
    WithoutOpenat2(error_number, [&] {
      EXPECT_EQ(InodeOf(Open("")), InodeOf(root_path_));
      EXPECT_EQ(InodeOf(Open("a")), InodeOf(Path("a")));
      EXPECT_EQ(InodeOf(Open("a/b")), InodeOf(Path("a/b")));
    });
  }
}

TEST_P(FolderDescriptorTest, GoesOnInTheFolderThatWasOpened) {
  const ino_t expected = InodeOf(Path("a/b"));
  const std::string moved = JoinPath(outside_, "moved");
  ASSERT_EQ(rename(root_path_.c_str(), moved.c_str()), 0);
  ASSERT_TRUE(CreateFoldersDurably(files_, Path("a/b")).ok());
  EXPECT_EQ(InodeOf(Open("a/b")), expected);
}

// Rules: DIR-5
TEST_P(FolderDescriptorTest, C36_LinksAreRefusedByNameWhereverTheyStand) {
  ASSERT_TRUE(CreateFoldersDurably(files_, Path("c/d/e")).ok());
  // Even one that leads to a folder beneath the root.
  ASSERT_EQ(symlink("c", Path("link").c_str()), 0);
  ASSERT_EQ(symlink("../../a", Path("c/d/link").c_str()), 0);
  ASSERT_EQ(symlink("/", Path("c/link").c_str()), 0);
  for (int error_number : {0, ENOSYS, EPERM}) {
    WithoutOpenat2(error_number, [&] {
      for (const auto& [relative, culprit] :
           {std::pair<std::string, std::string>("link/d/e", "link"),
            {"link", "link"},
            {"c/link/tmp", "c/link"},
            {"c/d/link", "c/d/link"},
            {"c/d/link/b", "c/d/link"}}) {
        const absl::Status status = Open(relative).status();
        EXPECT_EQ(ErrnoOf(status), ELOOP) << status;
        EXPECT_EQ(RefusalOf(status), Refusal::NOT_A_CHECKPOINT) << status;
        EXPECT_THAT(std::string(status.message()),
                    HasSubstr(absl::StrCat("folder ", Path(culprit), ":")));
      }
    });
  }
}

TEST_P(FolderDescriptorTest, NamesWhatIsMissingOrNoFolder) {
  const int file = open(Path("a/file").c_str(), O_CREAT | O_WRONLY, 0644);
  ASSERT_GE(file, 0);
  close(file);
  absl::Status status = Open("a/no/deeper").status();
  EXPECT_EQ(ErrnoOf(status), ENOENT);
  EXPECT_EQ(RefusalOf(status), Refusal::ABSENT);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat(Path("a/no"), ":")));
  status = Open("a/file").status();
  EXPECT_EQ(ErrnoOf(status), ENOTDIR);
  EXPECT_EQ(RefusalOf(status), Refusal::IO);
}

// The example of the header.
TEST(FolderDescriptorExample, MakesAFolderInABranch) {
  const std::string run_path = FreshTestFolder();
  FileSystem* files = FileSystem::Real();
  ASSERT_TRUE(
      CreateFoldersDurably(files, JoinPath(run_path, "abandoned/2")).ok());
  auto run = OpenFolderAt(AT_FDCWD, run_path, O_PATH, Links::kFollow,
                          "open folder", run_path);
  ASSERT_TRUE(run.ok()) << run.status();
  auto branch = OpenFolderBeneath(run->get(), run_path, "abandoned/2");
  ASSERT_TRUE(branch.ok()) << branch.status();
  EXPECT_EQ(mkdirat(branch->get(), "step-000000000060", 0777), 0);
  EXPECT_TRUE(
      files->Stat(JoinPath(run_path, "abandoned/2/step-000000000060")).ok());
  EXPECT_TRUE(RemoveRecursively(files, run_path).ok());
}

}  // namespace
}  // namespace reprise
