#include "format/foreign_file.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "format/little_endian.h"

namespace reprise {
namespace {

struct Signature {
  absl::string_view bytes;
  const char* description;
};

constexpr Signature kSignatures[] = {
    {absl::string_view("PK\x03\x04", 4),
     "a zip archive (torch.save writes these)"},
    {absl::string_view("PK\x05\x06", 4), "an empty zip archive"},
    {absl::string_view("\x1f\x8b", 2), "gzip-compressed data"},
    {absl::string_view("\x28\xb5\x2f\xfd", 4), "zstd-compressed data"},
    {absl::string_view("\xfd"
                       "7zXZ\0",
                       6),
     "xz-compressed data"},
    {absl::string_view("\x89HDF\r\n\x1a\n", 8), "an HDF5 file"},
    {absl::string_view("\x93NUMPY", 6), "a NumPy array"},
    {absl::string_view("GGUF", 4), "a GGUF model"},
    {absl::string_view("\x7f"
                       "ELF",
                       4),
     "an ELF program"},
    {absl::string_view("version https://git-lfs"),
     "a Git LFS pointer (the file itself was not fetched)"},
};

// safetensors: u64 length of a JSON header, then that header.
bool LooksLikeSafetensors(absl::string_view head) {
  if (head.size() < 9) return false;
  const uint64_t length = LoadLittleEndian<uint64_t>(head, 0);
  return length >= 2 && length <= (uint64_t{1} << 30) && head[8] == '{';
}

// Pickle protocols 2 to 5 begin with PROTO and the number.
bool LooksLikePickle(absl::string_view head) {
  return head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

bool IsTextByte(unsigned char byte) {
  return absl::ascii_isprint(byte) || byte == '\n' || byte == '\r' ||
         byte == '\t' || byte >= 0x80;
}

}  // namespace

std::string DescribeForeignFile(absl::string_view head) {
  if (head.empty()) return "an empty file";
  for (const Signature& signature : kSignatures) {
    if (absl::StartsWith(head, signature.bytes)) return signature.description;
  }
  if (LooksLikePickle(head)) return "a Python pickle";
  if (LooksLikeSafetensors(head)) return "a safetensors file";
  if (head.size() >= 262 && head.substr(257, 5) == "ustar") {
    return "a tar archive";
  }
  if (std::all_of(head.begin(), head.end(), [](char c) { return c == 0; })) {
    return "zeros (data that never reached the disk)";
  }
  const bool has_ascii = std::any_of(head.begin(), head.end(), [](char c) {
    return absl::ascii_isprint(static_cast<unsigned char>(c));
  });
  if (has_ascii && std::all_of(head.begin(), head.end(), [](char c) {
        return IsTextByte(static_cast<unsigned char>(c));
      })) {
    return absl::StartsWith(absl::StripLeadingAsciiWhitespace(head), "{")
               ? "JSON text"
               : "a text file";
  }
  return "unknown binary data";
}

}  // namespace reprise
