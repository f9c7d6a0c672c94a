// safetensors files: named tensors behind a JSON header.
//
// Example (a test as well):
//
//   auto file = reprise::ReadSafetensors(FileSystem::Real(), "m.safetensors");
//   if (!file.ok()) return file.status();
//   for (const reprise::Tensor& tensor : file->tensors) { ... }
//
// Layout: https://github.com/huggingface/safetensors#format. Its rules are
// kept: the tensors cover the data without gap or overlap, and no name comes
// twice. Thread-safe.
#ifndef REPRISE_FORMAT_INTEROP_SAFETENSORS_H_
#define REPRISE_FORMAT_INTEROP_SAFETENSORS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/io/file_system.h"
#include "format/tensor.h"

namespace reprise {

struct SafetensorsFile {
  std::vector<Tensor> tensors;  // row-major, in the order of their data
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Errors: NOT_A_CHECKPOINT, TRUNCATED, CORRUPT; LIMIT for a header of more than
// 16 MiB; UNIMPLEMENTED for an element type that this library lacks. Memory is
// the file's bytes and some times the header's.
absl::StatusOr<SafetensorsFile> ReadSafetensors(FileSystem* file_system,
                                                const std::string& path);

// Writes the tensors row-major, those of larger elements first, so that each
// is aligned. Two names of one tensor are written twice: the format knows no
// sharing. The same tensors give the same bytes. `file` is empty, and is
// neither synced nor closed. Errors: UNIMPLEMENTED for c128; INVALID_VALUE for
// two tensors of one name.
absl::Status WriteSafetensors(
    const std::vector<Tensor>& tensors,
    const std::vector<std::pair<std::string, std::string>>& metadata,
    File* file);

}  // namespace reprise

#endif  // REPRISE_FORMAT_INTEROP_SAFETENSORS_H_
