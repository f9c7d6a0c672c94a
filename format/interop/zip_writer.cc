// Layouts and numbers: PKWARE's APPNOTE.TXT, sections 4.3 and 4.4.
#include "format/interop/zip_writer.h"

#include <zlib.h>

#include <algorithm>

#include "format/little_endian.h"

namespace reprise {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kLocalHeaderSize = 30;
constexpr size_t kPiece = size_t{1} << 20;
constexpr uint64_t kNo32 = 0xffffffff;
constexpr uint16_t kUtf8Names = 1 << 11;
// An extra field of this id holds the padding (the id torch.save uses).
constexpr uint16_t kPaddingExtra = 0x4246;
constexpr uint16_t kZip64Extra = 1;
// 1980-01-01 00:00, so that equal states give equal files.
constexpr uint16_t kDate = 0x21;

void U16(uint16_t value, std::string* out) { AppendLittleEndian(value, out); }
void U32(uint32_t value, std::string* out) { AppendLittleEndian(value, out); }
void U64(uint64_t value, std::string* out) { AppendLittleEndian(value, out); }

uint32_t In32(uint64_t value) {
  return static_cast<uint32_t>(std::min(value, kNo32));
}

}  // namespace

absl::Status ZipWriter::Append(absl::string_view bytes) {
  absl::Status status = WriteAll(file_, position_, bytes);
  position_ += bytes.size();
  return status;
}

absl::Status ZipWriter::Add(absl::string_view name, absl::string_view bytes) {
  return Add(name, bytes.size(),
             [bytes](uint64_t offset, size_t length, char* out) {
               std::copy_n(bytes.data() + offset, length, out);
               return absl::OkStatus();
             });
}

absl::Status ZipWriter::Add(absl::string_view name, uint64_t size,
                            const ReadFunction& read) {
  std::string piece(std::min<uint64_t>(size, kPiece), '\0');
  uint32_t crc = 0;
  for (uint64_t at = 0; at < size; at += piece.size()) {
    const size_t length = std::min<uint64_t>(size - at, kPiece);
    absl::Status status = read(at, length, &piece[0]);
    if (!status.ok()) return status;
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(piece.data()), length);
  }
  Entry entry{std::string(name), crc, size, position_};

  std::string extra;
  if (size >= kNo32) {
    U16(kZip64Extra, &extra);
    U16(16, &extra);
    U64(size, &extra);
    U64(size, &extra);
  }
  // At least the four bytes that say what the padding is.
  const uint64_t unpadded =
      position_ + kLocalHeaderSize + name.size() + extra.size() + 4;
  const uint64_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
  U16(kPaddingExtra, &extra);
  U16(static_cast<uint16_t>(padding), &extra);
  extra.append(padding, 'Z');

  std::string header;
  U32(0x04034b50, &header);
  U16(size >= kNo32 ? 45 : 20, &header);  // version needed
  U16(kUtf8Names, &header);
  U16(0, &header);  // stored
  U16(0, &header);  // time
  U16(kDate, &header);
  U32(crc, &header);
  U32(In32(size), &header);
  U32(In32(size), &header);
  U16(static_cast<uint16_t>(name.size()), &header);
  U16(static_cast<uint16_t>(extra.size()), &header);
  header.append(name.data(), name.size());
  header += extra;
  absl::Status status = Append(header);
  for (uint64_t at = 0; status.ok() && at < size; at += piece.size()) {
    const size_t length = std::min<uint64_t>(size - at, kPiece);
    status = read(at, length, &piece[0]);
    if (status.ok()) {
      status = Append(absl::string_view(piece.data(), length));
    }
  }
  if (status.ok()) entries_.push_back(std::move(entry));
  return status;
}

absl::Status ZipWriter::Finish() {
  const uint64_t table = position_;
  std::string bytes;
  for (const Entry& entry : entries_) {
    std::string extra;
    for (uint64_t value : {entry.size, entry.size, entry.header_offset}) {
      if (value >= kNo32) U64(value, &extra);
    }
    U32(0x02014b50, &bytes);
    U16(45, &bytes);  // version made by
    U16(extra.empty() ? 20 : 45, &bytes);
    U16(kUtf8Names, &bytes);
    U16(0, &bytes);  // stored
    U16(0, &bytes);  // time
    U16(kDate, &bytes);
    U32(entry.crc, &bytes);
    U32(In32(entry.size), &bytes);
    U32(In32(entry.size), &bytes);
    U16(static_cast<uint16_t>(entry.name.size()), &bytes);
    U16(static_cast<uint16_t>(extra.empty() ? 0 : extra.size() + 4), &bytes);
    U16(0, &bytes);  // comment
    U16(0, &bytes);  // disk
    U16(0, &bytes);  // internal attributes
    U32(0, &bytes);  // external attributes
    U32(In32(entry.header_offset), &bytes);
    bytes += entry.name;
    if (!extra.empty()) {
      U16(kZip64Extra, &bytes);
      U16(static_cast<uint16_t>(extra.size()), &bytes);
      bytes += extra;
    }
  }
  const uint64_t table_size = bytes.size();
  if (table >= kNo32 || entries_.size() >= 0xffff) {
    const uint64_t record = table + table_size;
    U32(0x06064b50, &bytes);
    U64(44, &bytes);  // bytes of the record that follow
    U16(45, &bytes);
    U16(45, &bytes);
    U32(0, &bytes);
    U32(0, &bytes);
    U64(entries_.size(), &bytes);
    U64(entries_.size(), &bytes);
    U64(table_size, &bytes);
    U64(table, &bytes);
    U32(0x07064b50, &bytes);
    U32(0, &bytes);
    U64(record, &bytes);
    U32(1, &bytes);
  }
  const uint16_t count =
      static_cast<uint16_t>(std::min<size_t>(entries_.size(), 0xffff));
  U32(0x06054b50, &bytes);
  U16(0, &bytes);
  U16(0, &bytes);
  U16(count, &bytes);
  U16(count, &bytes);
  U32(In32(table_size), &bytes);
  U32(In32(table), &bytes);
  U16(0, &bytes);
  return Append(bytes);
}

}  // namespace reprise
