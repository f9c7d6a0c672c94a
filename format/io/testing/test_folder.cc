#include "format/io/testing/test_folder.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "format/io/file_system.h"
#include "gtest/gtest.h"

namespace reprise {

std::string FreshTestFolder() {
  const ::testing::TestInfo* test =
      ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = absl::StrCat(test->test_suite_name(), "-", test->name());
  for (char& c : name) {
    if (c == '/') c = '-';
  }
  const std::string path =
      JoinPath(::testing::TempDir(), absl::StrCat(name, "-", getpid()));
  FileSystem* files = FileSystem::Real();
  EXPECT_TRUE(RemoveRecursively(files, path).ok());
  EXPECT_TRUE(CreateFoldersDurably(files, path).ok());
  return path;
}

}  // namespace reprise
