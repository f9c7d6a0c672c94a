// GzipFile: the uncompressed bytes of a file that is one gzip member and
// nothing else.
//
//   absl::StatusOr<std::unique_ptr<GzipFile>> file = GzipFile::Open(path);
//   if (!file.ok()) return file.status();
//   absl::StatusOr<std::string> header = (*file)->Read(16);
//   ...
//   return (*file)->ExpectEnd();
//
// Stricter than zlib's gzread, which passes plain files through and says
// nothing about bytes after the member.
#ifndef REPRISE_TRAINER_DATA_GZIP_FILE_H_
#define REPRISE_TRAINER_DATA_GZIP_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "zlib.h"

namespace reprise {

// Not thread-safe. All errors are DATA_LOSS, naming file, place and reason,
// unless said otherwise.
class GzipFile {
 public:
  // NOT_FOUND or UNAVAILABLE when the file cannot be opened.
  static absl::StatusOr<std::unique_ptr<GzipFile>> Open(
      const std::string& path);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  // The next `size` bytes; `what` names them in the error. Memory grows with
  // the bytes found, however large `size` is.
  absl::StatusOr<std::string> Read(int64_t size, absl::string_view what);
  // Checks that the member ends here, its checksum, and that the file ends
  // with it.
  absl::Status ExpectEnd();

 private:
  GzipFile(std::string path, int descriptor);
  // Fills up to `capacity` bytes, fewer only at the end of the member.
  absl::StatusOr<int64_t> Inflate(char* out, int64_t capacity);
  absl::Status Damaged(absl::string_view what) const;
  // Next piece of the compressed file into input_; false at its end.
  absl::StatusOr<bool> Refill();

  std::string path_;
  int descriptor_;
  z_stream stream_{};
  std::vector<unsigned char> input_;
  int64_t compressed_offset_ = 0;  // of the end of input_ in the file
  bool ended_ = false;             // the member's checksum was met and holds
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_DATA_GZIP_FILE_H_
