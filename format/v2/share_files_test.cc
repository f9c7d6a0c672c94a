#include "format/v2/share_files.h"

#include <errno.h>

#include <string>

#include "format/checkpoint_store.h"
#include "format/io/io_error.h"
#include "format/io/testing/fault_injecting_file_system.h"
#include "format/refusal.h"
#include "format/run_layout.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A run with one checkpoint and an empty folder beside it.
class ShareFilesTest : public ::testing::Test {
 protected:
  ShareFilesTest() : run_(FreshTestFolder()) {
    CheckpointStore::Options options;
    options.format_major = 2;
    options.shard_bytes = 200;
    auto store = CheckpointStore::Open(run_, options);
    EXPECT_TRUE((*store)->Save(FullSnapshot(60)).ok());
    from_ = JoinPath(run_, "step-000000000060");
    to_ = JoinPath(run_, "copy");
    EXPECT_TRUE(FileSystem::Real()->CreateFolder(to_).ok());
  }

  // Completes the copy by the manifest and reads it.
  absl::Status ReadCopy() {
    const std::string manifest = *FileContent(JoinPath(from_, kManifestName));
    absl::Status status = ReplaceFile(JoinPath(to_, kManifestName), manifest);
    return status.ok() ? VerifyCheckpoint(to_) : status;
  }

  uint64_t Inode(const std::string& folder, const std::string& name) {
    return FileSystem::Real()->LinkStat(JoinPath(folder, name))->inode;
  }

  const std::string run_;
  std::string from_;
  std::string to_;
};

TEST_F(ShareFilesTest, LinksAreOneFileAndItIsSaid) {
  auto shared = ShareFiles(FileSystem::Real(), from_, to_, {});
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_GE(shared->linked.size(), 4u);
  EXPECT_THAT(shared->copied, IsEmpty());
  EXPECT_EQ(shared->notice, "shares storage with " + from_);
  for (const std::string& name : shared->linked) {
    EXPECT_EQ(Inode(from_, name), Inode(to_, name));
  }
  EXPECT_TRUE(ReadCopy().ok()) << ReadCopy();
  // Removing one leaves the other whole.
  ASSERT_TRUE(RemoveRecursively(FileSystem::Real(), from_).ok());
  EXPECT_TRUE(VerifyCheckpoint(to_).ok());
}

TEST_F(ShareFilesTest, CopyIsAnotherFile) {
  ShareOptions options;
  options.copy = true;
  auto shared = ShareFiles(FileSystem::Real(), from_, to_, options);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_THAT(shared->linked, IsEmpty());
  EXPECT_EQ(shared->notice, "");
  for (const std::string& name : shared->copied) {
    EXPECT_NE(Inode(from_, name), Inode(to_, name));
  }
  EXPECT_TRUE(ReadCopy().ok()) << ReadCopy();
}

// Fails every Link with one errno.
class NoLinks : public ForwardingFileSystem {
 public:
  explicit NoLinks(int error_number)
      : ForwardingFileSystem(FileSystem::Real()), error_number_(error_number) {}
  absl::Status Before(const Operation& operation) override {
    if (operation.name == "Link") {
      return IoError(error_number_, "link", operation.path);
    }
    return absl::OkStatus();
  }

 private:
  const int error_number_;
};

TEST_F(ShareFilesTest, WhereLinksAreImpossibleTheFilesAreCopiedAndItIsSaid) {
  NoLinks files(EXDEV);
  auto shared = ShareFiles(&files, from_, to_, {});
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_THAT(shared->linked, IsEmpty());
  EXPECT_FALSE(shared->copied.empty());
  EXPECT_THAT(shared->why_copied, HasSubstr("link"));
  EXPECT_TRUE(ReadCopy().ok()) << ReadCopy();
}

TEST_F(ShareFilesTest, OtherTroubleIsAnErrorAndNotACopy) {
  NoLinks files(EACCES);
  auto shared = ShareFiles(&files, from_, to_, {});
  EXPECT_EQ(ErrnoOf(shared.status()), EACCES);
}

TEST_F(ShareFilesTest, DamagedSourcesAreNotShared) {
  const std::string shard = JoinPath(from_, "shard-0000-0000.bin");
  std::string bytes = *FileContent(shard);
  bytes[0] ^= 1;
  ASSERT_TRUE(ReplaceFile(shard, bytes).ok());
  auto shared = ShareFiles(FileSystem::Real(), from_, to_, {});
  EXPECT_EQ(RefusalOf(shared.status()), Refusal::CORRUPT);
  EXPECT_THAT(*FileSystem::Real()->List(to_), SizeIs(0));
}

// Rules: SHARE-1
TEST_F(ShareFilesTest, SourcesAreDurableBeforeTheyAreNamedAgain) {
  FaultInjectingFileSystem files(FileSystem::Real());
  // The sync of a source fails: nothing may be linked after that.
  for (int n = 0; n < 200; ++n) {
    files.FailOperation(n, EIO);
    auto shared = ShareFiles(&files, from_, to_, {});
    if (!files.injected()) break;
    if (files.injected_operation().find("SyncData") != std::string::npos) {
      EXPECT_FALSE(shared.ok());
      EXPECT_THAT(*FileSystem::Real()->List(to_), SizeIs(0));
    }
    ASSERT_TRUE(RemoveRecursively(FileSystem::Real(), to_).ok());
    ASSERT_TRUE(FileSystem::Real()->CreateFolder(to_).ok());
  }
}

}  // namespace
}  // namespace reprise
