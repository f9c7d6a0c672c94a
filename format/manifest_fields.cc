#include "format/manifest_fields.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/v1/wire_scan.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"

namespace reprise {
namespace {

using google::protobuf::internal::WireFormatLite;

constexpr uint64_t kMaxKeptBytes = uint64_t{1} << 22;
// Small manifests are read at once.
constexpr uint64_t kWindowBytes = uint64_t{1} << 14;

// Bytes of a file through a window that moves forward.
class Window {
 public:
  Window(File* file, uint64_t offset, uint64_t length)
      : file_(file), offset_(offset), length_(length) {}

  // Makes [at, at + size) available. REQUIRES: it is inside the length.
  absl::Status Load(uint64_t at, uint64_t size) {
    if (at >= start_ && at + size <= start_ + bytes_.size()) {
      return absl::OkStatus();
    }
    start_ = at;
    bytes_.resize(std::min(std::max(size, kWindowBytes), length_ - at));
    return ReadExactly(file_, offset_ + at, &bytes_[0], bytes_.size());
  }
  absl::string_view Bytes(uint64_t at, uint64_t size) const {
    return absl::string_view(bytes_).substr(at - start_, size);
  }

 private:
  File* const file_;
  const uint64_t offset_;
  const uint64_t length_;
  uint64_t start_ = 0;
  std::string bytes_;
};

absl::Status NotAMessage(uint64_t at) {
  return MakeRefusal(
      Refusal::CORRUPT,
      absl::StrCat("the manifest is no message: at offset ", at, " of it"));
}

}  // namespace

absl::Status ReadManifestFields(File* file, uint64_t offset, uint64_t length,
                                const std::set<int>& fields,
                                google::protobuf::Message* message) {
  Window window(file, offset, length);
  std::string kept;
  uint64_t at = 0;
  while (at < length) {
    // A tag and a length or number have at most fifteen bytes.
    const uint64_t head = std::min<uint64_t>(15, length - at);
    absl::Status status = window.Load(at, head);
    if (!status.ok()) return status;
    const absl::string_view bytes = window.Bytes(at, head);
    google::protobuf::io::CodedInputStream input(
        reinterpret_cast<const uint8_t*>(bytes.data()),
        static_cast<int>(bytes.size()));
    const uint32_t tag = input.ReadTag();
    uint64_t size = 0;
    bool ok = tag != 0;
    const bool has_length = WireFormatLite::GetTagWireType(tag) ==
                            WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (ok && has_length) {
      ok = input.ReadVarint64(&size);
    } else if (ok) {
      ok = WireFormatLite::SkipField(&input, tag);
    }
    const uint64_t begin = at + input.CurrentPosition();
    if (!ok || size > length - begin) return NotAMessage(at);
    if (has_length &&
        fields.count(WireFormatLite::GetTagFieldNumber(tag)) > 0) {
      const uint64_t field = begin + size - at;
      if (kept.size() + field > kMaxKeptBytes) {
        return MakeRefusal(
            Refusal::LIMIT,
            absl::StrCat("field ", WireFormatLite::GetTagFieldNumber(tag),
                         " of the manifest has ", size, " bytes"));
      }
      status = window.Load(at, field);
      if (!status.ok()) return status;
      absl::StrAppend(&kept, window.Bytes(at, field));
    }
    at = begin + size;
  }
  absl::Status status =
      ScanWire(kept, message->GetDescriptor(), UnknownFields::kAllow);
  if (!status.ok()) return status;
  return message->ParseFromString(kept) ? absl::OkStatus() : NotAMessage(0);
}

}  // namespace reprise
