// Reads zip archives whose entries are stored without compression, which is how
// torch.save writes them; archives beyond 4 GiB (zip64) too.
//
// Example (a test as well):
//
//   auto archive = reprise::ZipArchive::Open(FileSystem::Real(), "a.pt");
//   if (!archive.ok()) return archive.status();
//   for (const auto& entry : (*archive)->entries()) {
//     std::cout << entry.name << " " << entry.size << "\n";
//   }
//   auto bytes = (*archive)->Read("a/data.pkl", /*limit=*/1 << 20);
//
// Every offset and size is checked against the file before anything is
// allocated; every entry is checked against its CRC-32 as it is read. Errors:
// NOT_A_CHECKPOINT for another kind of file, TRUNCATED, CORRUPT, LIMIT, ABSENT
// for a name that is not there, UNIMPLEMENTED for reading a compressed or
// encrypted entry. Thread-safe once open.
#ifndef REPRISE_FORMAT_INTEROP_ZIP_ARCHIVE_H_
#define REPRISE_FORMAT_INTEROP_ZIP_ARCHIVE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/io/file_system.h"

namespace reprise {

class ZipArchive {
 public:
  struct Entry {
    std::string name;
    uint64_t size = 0;           // bytes
    uint32_t crc = 0;            // CRC-32 of the bytes
    uint64_t header_offset = 0;  // of its local header in the file
    bool is_stored = true;       // neither compressed nor encrypted
  };

  // Reads the table of entries at the archive's end. At most 100,000 entries
  // and 16 MiB of table.
  static absl::StatusOr<std::unique_ptr<ZipArchive>> Open(
      FileSystem* file_system, const std::string& path);

  // In the order of the table.
  const std::vector<Entry>& entries() const { return entries_; }
  // The entry of that name; null when there is none.
  const Entry* Find(absl::string_view name) const;

  // All bytes of an entry. LIMIT when it has more than `limit`.
  absl::StatusOr<std::string> Read(absl::string_view name,
                                   uint64_t limit) const;
  // The same into `out`, which has room for entry.size bytes.
  absl::Status ReadInto(const Entry& entry, char* out) const;

 private:
  ZipArchive(std::string path, std::unique_ptr<File> file, uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), file_size_(size) {}
  absl::Status ReadTable();

  std::string path_;
  std::unique_ptr<File> file_;
  uint64_t file_size_ = 0;
  std::vector<Entry> entries_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_INTEROP_ZIP_ARCHIVE_H_
