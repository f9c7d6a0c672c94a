#include "trainer/data/gzip_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

constexpr int64_t kInputBytes = 1 << 17;
constexpr int64_t kOutputBytes = 1 << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<GzipFile>> GzipFile::Open(
    const std::string& path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    std::string message = absl::StrCat(path, ": ", std::strerror(errno));
    return errno == ENOENT ? absl::NotFoundError(message)
                           : absl::UnavailableError(message);
  }
  return std::unique_ptr<GzipFile>(new GzipFile(path, descriptor));
}

GzipFile::GzipFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor), input_(kInputBytes) {
  // 15: the largest window; 16: a gzip wrapper and no other.
  int code = inflateInit2(&stream_, 15 + 16);
  assert(code == Z_OK);
  (void)code;
}

GzipFile::~GzipFile() {
  inflateEnd(&stream_);
  close(descriptor_);
}

absl::Status GzipFile::Damaged(absl::string_view what) const {
  return absl::DataLossError(
      absl::StrCat(path_, ": ", what, "; fetch or install the file again"));
}

absl::StatusOr<bool> GzipFile::Refill() {
  ssize_t found;
  do {
    found = read(descriptor_, input_.data(), input_.size());
  } while (found < 0 && errno == EINTR);
  if (found < 0) {
    return Damaged(absl::StrCat("reading at offset ", compressed_offset_, ": ",
                                std::strerror(errno)));
  }
  compressed_offset_ += found;
  stream_.next_in = input_.data();
  stream_.avail_in = found;
  return found > 0;
}

absl::StatusOr<int64_t> GzipFile::Inflate(char* out, int64_t capacity) {
  stream_.next_out = reinterpret_cast<unsigned char*>(out);
  stream_.avail_out = capacity;
  while (!ended_ && stream_.avail_out > 0) {
    if (stream_.avail_in == 0) {
      absl::StatusOr<bool> more = Refill();
      if (!more.ok()) return more.status();
      if (!*more) {
        return Damaged(absl::StrCat("the compressed data end early, at offset ",
                                    compressed_offset_, " (the file is cut)"));
      }
    }
    int code = inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      ended_ = true;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return Damaged(absl::StrCat("damaged gzip data before offset ",
                                  compressed_offset_, ": ",
                                  stream_.msg == nullptr ? "" : stream_.msg));
    }
  }
  return capacity - stream_.avail_out;
}

absl::StatusOr<std::string> GzipFile::Read(int64_t size,
                                           absl::string_view what) {
  std::string bytes;
  while (static_cast<int64_t>(bytes.size()) < size) {
    int64_t before = bytes.size();
    int64_t want = std::min(kOutputBytes, size - before);
    bytes.resize(before + want);
    absl::StatusOr<int64_t> found = Inflate(bytes.data() + before, want);
    if (!found.ok()) return found.status();
    if (*found < want) {
      return Damaged(absl::StrCat("expected ", size, " bytes of ", what,
                                  ", found ", before + *found));
    }
  }
  return bytes;
}

absl::Status GzipFile::ExpectEnd() {
  char surplus;
  absl::StatusOr<int64_t> found = Inflate(&surplus, 1);
  if (!found.ok()) return found.status();
  if (*found > 0) {
    return Damaged("expected the end of the uncompressed data, found more");
  }
  if (stream_.avail_in == 0) {
    absl::StatusOr<bool> more = Refill();
    if (!more.ok()) return more.status();
  }
  if (stream_.avail_in > 0) {
    return Damaged(absl::StrCat(
        "expected the file to end with its gzip data at offset ",
        compressed_offset_ - stream_.avail_in, ", found more bytes"));
  }
  return absl::OkStatus();
}

}  // namespace reprise
