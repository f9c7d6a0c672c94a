// Layouts and numbers: PKWARE's APPNOTE.TXT, sections 4.3 and 4.4.
#include "format/interop/zip_archive.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/foreign_file.h"
#include "format/little_endian.h"
#include "format/refusal.h"

namespace reprise {
namespace {

constexpr uint64_t kMaxTable = uint64_t{16} << 20;
constexpr uint64_t kMaxEntries = 100000;
// The end record and the longest comment after it.
constexpr uint64_t kEndSize = 22;
constexpr uint64_t kMaxTail = kEndSize + 65535;
constexpr uint64_t kLocatorSize = 20;
constexpr uint64_t kEnd64Size = 56;
constexpr uint64_t kTableEntrySize = 46;
constexpr uint64_t kLocalHeaderSize = 30;

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kTableEntry = 0x02014b50;
constexpr uint32_t kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50;
constexpr uint32_t kLocator = 0x07064b50;
constexpr uint16_t kZip64Extra = 1;

absl::Status Corrupt(absl::string_view message) {
  return MakeRefusal(Refusal::CORRUPT,
                     absl::StrCat(message, "; the archive is damaged"));
}

uint16_t U16(absl::string_view bytes, size_t offset) {
  return LoadLittleEndian<uint16_t>(bytes, offset);
}
uint32_t U32(absl::string_view bytes, size_t offset) {
  return LoadLittleEndian<uint32_t>(bytes, offset);
}
uint64_t U64(absl::string_view bytes, size_t offset) {
  return LoadLittleEndian<uint64_t>(bytes, offset);
}

// Where the table is and how much of it there is.
struct Table {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t entries = 0;
};

// Replaces what a zip64 extra field says is larger than its 32-bit place.
absl::Status ReadZip64Extra(absl::string_view extra, uint64_t* size,
                            uint64_t* stored, uint64_t* offset) {
  while (extra.size() >= 4) {
    const uint16_t id = U16(extra, 0);
    const size_t length = U16(extra, 2);
    extra.remove_prefix(4);
    if (length > extra.size()) return Corrupt("an extra field is cut off");
    absl::string_view field = extra.substr(0, length);
    extra.remove_prefix(length);
    if (id != kZip64Extra) continue;
    for (uint64_t* value : {size, stored, offset}) {
      if (*value != 0xffffffff) continue;
      if (field.size() < 8) return Corrupt("a zip64 field is cut off");
      *value = U64(field, 0);
      field.remove_prefix(8);
    }
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ZipArchive>> ZipArchive::Open(
    FileSystem* file_system, const std::string& path) {
  absl::StatusOr<std::unique_ptr<File>> file =
      file_system->OpenForReading(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<FileInfo> info = (*file)->Stat();
  if (!info.ok()) return info.status();
  std::unique_ptr<ZipArchive> archive(
      new ZipArchive(path, std::move(*file), info->size));
  absl::Status status = archive->ReadTable();
  if (!status.ok()) return Annotate(status, path);
  return archive;
}

absl::Status ZipArchive::ReadTable() {
  std::string head(std::min<uint64_t>(file_size_, 512), '\0');
  absl::Status status = ReadExactly(file_.get(), 0, &head[0], head.size());
  if (!status.ok()) return status;
  if (head.size() < 4 ||
      (U32(head, 0) != kLocalHeader && U32(head, 0) != kEnd)) {
    return MakeRefusal(Refusal::NOT_A_CHECKPOINT,
                       absl::StrCat("expected a zip archive, found ",
                                    DescribeForeignFile(head)));
  }

  const uint64_t tail_size = std::min(file_size_, kMaxTail + kLocatorSize);
  std::string tail(tail_size, '\0');
  status =
      ReadExactly(file_.get(), file_size_ - tail_size, &tail[0], tail_size);
  if (!status.ok()) return status;
  size_t end = std::string::npos;
  for (size_t at = tail.size() >= kEndSize ? tail.size() - kEndSize + 1 : 0;
       at-- > 0;) {
    // The comment reaches exactly to the end of the file.
    if (U32(tail, at) == kEnd &&
        at + kEndSize + U16(tail, at + 20) == tail.size()) {
      end = at;
      break;
    }
  }
  if (end == std::string::npos) {
    return MakeRefusal(
        Refusal::TRUNCATED,
        absl::StrCat("expected the record that ends a zip archive within the "
                     "last ",
                     tail_size, " of ", file_size_,
                     " bytes, found none; the file was cut off or never "
                     "finished"));
  }
  Table table{U32(tail, end + 16), U32(tail, end + 12), U16(tail, end + 10)};
  const bool is_zip64 =
      end >= kLocatorSize && U32(tail, end - kLocatorSize) == kLocator;
  if (is_zip64) {
    const uint64_t at = U64(tail, end - kLocatorSize + 8);
    if (at > file_size_ || file_size_ - at < kEnd64Size) {
      return Corrupt("the zip64 record lies outside the file");
    }
    std::string record(kEnd64Size, '\0');
    status = ReadExactly(file_.get(), at, &record[0], record.size());
    if (!status.ok()) return status;
    if (U32(record, 0) != kEnd64) return Corrupt("there is no zip64 record");
    table = {U64(record, 48), U64(record, 40), U64(record, 32)};
  }
  if (table.offset > file_size_ || file_size_ - table.offset < table.size) {
    return Corrupt(absl::StrCat("the table of entries (", table.size,
                                " bytes at ", table.offset,
                                ") lies outside the file of ", file_size_));
  }
  if (table.size > kMaxTable || table.entries > kMaxEntries) {
    return MakeRefusal(
        Refusal::LIMIT,
        absl::StrCat("the table has ", table.entries, " entries in ",
                     table.size, " bytes; the limits are ", kMaxEntries,
                     " and ", kMaxTable));
  }

  std::string bytes(table.size, '\0');
  status = ReadExactly(file_.get(), table.offset, &bytes[0], bytes.size());
  if (!status.ok()) return status;
  absl::string_view rest = bytes;
  uint64_t claimed = 0;
  for (uint64_t i = 0; i < table.entries; ++i) {
    if (rest.size() < kTableEntrySize || U32(rest, 0) != kTableEntry) {
      return Corrupt(absl::StrCat("entry ", i, " of the table is no entry"));
    }
    const uint16_t flags = U16(rest, 8);
    const uint16_t method = U16(rest, 10);
    Entry entry;
    entry.crc = U32(rest, 16);
    uint64_t stored = U32(rest, 20);
    entry.size = U32(rest, 24);
    entry.header_offset = U32(rest, 42);
    const size_t name_size = U16(rest, 28);
    const size_t extra_size = U16(rest, 30);
    const size_t whole =
        kTableEntrySize + name_size + extra_size + U16(rest, 32);
    if (rest.size() < whole) return Corrupt("the table of entries is cut off");
    entry.name = std::string(rest.substr(kTableEntrySize, name_size));
    status =
        ReadZip64Extra(rest.substr(kTableEntrySize + name_size, extra_size),
                       &entry.size, &stored, &entry.header_offset);
    if (!status.ok()) return status;
    rest.remove_prefix(whole);
    entry.is_stored = (flags & 1) == 0 && method == 0;
    if ((entry.is_stored && stored != entry.size) ||
        entry.header_offset > file_size_ ||
        file_size_ - entry.header_offset < kLocalHeaderSize ||
        file_size_ - entry.header_offset - kLocalHeaderSize < stored) {
      return Corrupt(absl::StrCat("entry ", entry.name, " of ", entry.size,
                                  " bytes at ", entry.header_offset,
                                  " lies outside the file"));
    }
    // Entries that lie over each other would claim more than there is.
    claimed += stored;
    if (claimed > file_size_) {
      return Corrupt(absl::StrCat("the entries have ", claimed,
                                  " bytes or more, the file has ", file_size_));
    }
    if (!by_name_.emplace(entry.name, entries_.size()).second) {
      return Corrupt(absl::StrCat("two entries are called ", entry.name));
    }
    entries_.push_back(std::move(entry));
  }
  return absl::OkStatus();
}

const ZipArchive::Entry* ZipArchive::Find(absl::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

absl::StatusOr<std::string> ZipArchive::Read(absl::string_view name,
                                             uint64_t limit) const {
  const Entry* entry = Find(name);
  if (entry == nullptr) {
    return Annotate(
        MakeRefusal(Refusal::ABSENT, absl::StrCat("there is no entry ", name,
                                                  " in the archive")),
        path_);
  }
  if (entry->size > limit) {
    return Annotate(
        MakeRefusal(Refusal::LIMIT,
                    absl::StrCat("entry ", name, " has ", entry->size,
                                 " bytes; the limit is ", limit)),
        path_);
  }
  // A compressed entry may claim any size.
  std::string bytes(entry->is_stored ? entry->size : 0, '\0');
  absl::Status status = ReadInto(*entry, bytes.empty() ? nullptr : &bytes[0]);
  if (!status.ok()) return status;
  return bytes;
}

absl::Status ZipArchive::ReadInto(const Entry& entry, char* out) const {
  std::string header(kLocalHeaderSize, '\0');
  absl::Status status =
      ReadExactly(file_.get(), entry.header_offset, &header[0], header.size());
  if (!status.ok()) return Annotate(status, path_);
  const uint64_t begin = entry.header_offset + kLocalHeaderSize +
                         U16(header, 26) + U16(header, 28);
  if (U32(header, 0) != kLocalHeader || begin > file_size_ ||
      file_size_ - begin < entry.size) {
    return Annotate(Corrupt(absl::StrCat("entry ", entry.name,
                                         " has no header where the table "
                                         "says")),
                    path_);
  }
  status = entry.size == 0 ? absl::OkStatus()
                           : ReadExactly(file_.get(), begin, out, entry.size);
  if (!status.ok()) return Annotate(status, path_);
  const uint32_t crc = crc32_z(crc32_z(0, nullptr, 0),
                               reinterpret_cast<const Bytef*>(out), entry.size);
  if (entry.size != 0 && crc != entry.crc) {
    return Annotate(
        Corrupt(absl::StrCat("entry ", entry.name, ": expected CRC-32 ",
                             absl::Hex(entry.crc, absl::kZeroPad8), ", found ",
                             absl::Hex(crc, absl::kZeroPad8))),
        path_);
  }
  return absl::OkStatus();
}

}  // namespace reprise
