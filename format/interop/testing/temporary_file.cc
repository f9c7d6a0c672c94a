#include "format/interop/testing/temporary_file.h"

#include "format/interop/torch_file.h"
#include "gtest/gtest.h"

namespace reprise {

std::string TempPath(const std::string& name) {
  return JoinPath(::testing::TempDir(), name);
}

std::string WriteTempFile(
    const std::string& name,
    const std::function<absl::Status(File* file)>& write) {
  const std::string path = TempPath(name);
  // Of an earlier test, if it is there.
  (void)FileSystem::Real()->Unlink(path);
  auto file = FileSystem::Real()->CreateExclusive(path, 0644);
  EXPECT_TRUE(file.ok()) << file.status();
  const absl::Status status = write(file->get());
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE((*file)->Close().ok());
  return path;
}

std::string WriteTempFile(const std::string& name, absl::string_view bytes) {
  return WriteTempFile(name,
                       [&](File* file) { return WriteAll(file, 0, bytes); });
}

std::string WriteTempTorchFile(const std::string& name, const PyValue& root) {
  return WriteTempFile(name,
                       [&](File* file) { return WriteTorchFile(root, file); });
}

}  // namespace reprise
