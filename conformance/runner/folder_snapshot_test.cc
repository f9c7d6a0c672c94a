#include "conformance/runner/folder_snapshot.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "conformance/runner/testing/script.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FolderSnapshot, SeesEveryKindOfChange) {
  const std::string root = FreshFolder("snapshot");
  for (const char* name : {"/grown", "/gone", "/mode", "/same", "/swapped"}) {
    WriteFile(root + name, "x");
  }
  mkdir((root + "/folder").c_str(), 0755);
  const FolderSnapshot before = FolderSnapshot::Take(root);
  EXPECT_EQ(before.size(), 6);
  EXPECT_THAT(before.ChangesTo(FolderSnapshot::Take(root)), IsEmpty());
  WriteFile(root + "/grown", "xy");
  unlink((root + "/gone").c_str());
  chmod((root + "/mode").c_str(), 0600);
  WriteFile(root + "/folder/new", "");
  EXPECT_EQ(symlink("same", (root + "/link").c_str()), 0);
  // The same bytes in another file under the same name.
  WriteFile(root + "/other", "x");
  rename((root + "/other").c_str(), (root + "/swapped").c_str());
  EXPECT_THAT(before.ChangesTo(FolderSnapshot::Take(root)),
              ElementsAre("made folder/new", "removed gone", "changed grown",
                          "made link", "changed mode", "changed swapped"));
}

TEST(FolderSnapshot, LeavesOutWhatItIsTold) {
  const std::string root = FreshFolder("snapshot");
  mkdir((root + "/mine").c_str(), 0755);
  const FolderSnapshot before = FolderSnapshot::Take(root, {"mine"});
  WriteFile(root + "/mine/file", "x");
  EXPECT_THAT(before.ChangesTo(FolderSnapshot::Take(root, {"mine"})),
              IsEmpty());
}

TEST(FolderSnapshot, BoundsItsList) {
  const std::string root = FreshFolder("snapshot");
  const FolderSnapshot before = FolderSnapshot::Take(root);
  for (int i = 0; i < 5; ++i) WriteFile(root + "/" + std::to_string(i), "");
  EXPECT_THAT(before.ChangesTo(FolderSnapshot::Take(root), 2),
              ElementsAre("made 0", "made 1", "and 3 more"));
}

}  // namespace
}  // namespace reprise::conformance
