// Writes zip archives of stored entries, the way torch.load reads them: the
// bytes of each entry begin at a multiple of 64 in the file. Files of more than
// 4 GiB get zip64 records.
//
// Example (a test as well):
//
//   reprise::ZipWriter writer(file.get());
//   absl::Status status = writer.Add("archive/version", "3\n");
//   if (status.ok()) status = writer.Finish();
//
// The file is neither synced nor closed. Thread-compatible.
#ifndef REPRISE_FORMAT_INTEROP_ZIP_WRITER_H_
#define REPRISE_FORMAT_INTEROP_ZIP_WRITER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "format/io/file_system.h"

namespace reprise {

class ZipWriter {
 public:
  // `file` is empty and outlives the writer.
  explicit ZipWriter(File* file) : file_(file) {}

  // Adds an entry. REQUIRES: `name` is shorter than 64 KiB.
  absl::Status Add(absl::string_view name, absl::string_view bytes);

  // Adds an entry of `size` bytes that `read` gives piece by piece: it fills
  // `out` with `length` bytes from `offset` on, ascending, and is called a
  // second time for the same bytes (the checksum comes before them).
  using ReadFunction =
      std::function<absl::Status(uint64_t offset, size_t length, char* out)>;
  absl::Status Add(absl::string_view name, uint64_t size,
                   const ReadFunction& read);

  // Writes the table of entries; nothing can be added after.
  absl::Status Finish();

 private:
  struct Entry {
    std::string name;
    uint32_t crc;
    uint64_t size;
    uint64_t header_offset;
  };
  absl::Status Append(absl::string_view bytes);

  File* file_;
  uint64_t position_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_INTEROP_ZIP_WRITER_H_
