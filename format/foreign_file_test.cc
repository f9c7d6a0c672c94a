#include "format/foreign_file.h"

#include <string>

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(ForeignFile, C36_NamesTheKindsThatPeopleMixUp) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "an empty file"},
      {"PK\x03\x04 and so on", "a zip archive (torch.save writes these)"},
      {"\x80\x02\x8a\nl\xfc\x9c", "a Python pickle"},
      {std::string("\x18\0\0\0\0\0\0\0{\"w\":{}}", 16), "a safetensors file"},
      {"\x1f\x8b\x08", "gzip-compressed data"},
      {"\x89HDF\r\n\x1a\n", "an HDF5 file"},
      {"\x93NUMPY", "a NumPy array"},
      {"version https://git-lfs.github.com/spec/v1\n",
       "a Git LFS pointer (the file itself was not fetched)"},
      {" {\"step\": 3}", "JSON text"},
      {"hello, world\n", "a text file"},
      {std::string(64, '\0'), "zeros (data that never reached the disk)"},
      {std::string("\x01\x02\x03\0abc", 7), "unknown binary data"},
      {std::string(257, 'x') + "ustar", "a tar archive"},
  };
  for (const auto& [head, description] : cases) {
    EXPECT_EQ(DescribeForeignFile(head), description);
  }
}

}  // namespace
}  // namespace reprise
