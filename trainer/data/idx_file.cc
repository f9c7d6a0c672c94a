#include "trainer/data/idx_file.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trainer/data/gzip_file.h"

namespace reprise {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 30;

uint32_t BigEndian32(const std::string& bytes, int at) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  }
  return value;
}

}  // namespace

absl::StatusOr<IdxArray> ReadIdx(const std::string& path, int dimensions) {
  absl::StatusOr<std::unique_ptr<GzipFile>> file = GzipFile::Open(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<std::string> header =
      (*file)->Read(4 + 4 * dimensions, "IDX header");
  if (!header.ok()) return header.status();
  uint32_t magic = 0x0800u + dimensions;
  if (BigEndian32(*header, 0) != magic) {
    return absl::DataLossError(absl::StrFormat(
        "%s: expected IDX magic %08x (%d dimensions of bytes), found %08x",
        path, magic, dimensions, BigEndian32(*header, 0)));
  }
  IdxArray array;
  int64_t elements = 1;
  for (int i = 0; i < dimensions; ++i) {
    array.shape.push_back(BigEndian32(*header, 4 + 4 * i));
    // Checked at each factor, so that the product cannot overflow.
    if (array.shape[i] > kMaxElements ||
        (elements *= array.shape[i]) > kMaxElements) {
      return absl::DataLossError(absl::StrCat(
          path, ": expected at most ", kMaxElements,
          " elements, found dimension ", i, " of ", array.shape[i]));
    }
  }
  absl::StatusOr<std::string> body = (*file)->Read(elements, "IDX elements");
  if (!body.ok()) return body.status();
  absl::Status end = (*file)->ExpectEnd();
  if (!end.ok()) return end;
  array.elements.assign(body->begin(), body->end());
  return array;
}

}  // namespace reprise
