// ReadIdx: an array of bytes from a gzip-compressed IDX file.
//
//   auto images = reprise::ReadIdx("train-images-idx3-ubyte.gz",
//                                  /*dimensions=*/3);
//
// IDX, as Fashion-MNIST uses it: two zero bytes, the element type (8: unsigned
// byte), the number of dimensions, one big-endian u32 per dimension, then the
// elements in row-major order and nothing after them.
#ifndef REPRISE_TRAINER_DATA_IDX_FILE_H_
#define REPRISE_TRAINER_DATA_IDX_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace reprise {

struct IdxArray {
  std::vector<int64_t> shape;
  std::vector<uint8_t> elements;
};

// NOT_FOUND or UNAVAILABLE when the file cannot be opened; DATA_LOSS when it is
// cut, damaged, of another kind, or announces more than 1 GiB or other than
// `dimensions` dimensions. Memory grows with the bytes found, not with those
// announced.
absl::StatusOr<IdxArray> ReadIdx(const std::string& path, int dimensions);

}  // namespace reprise

#endif  // REPRISE_TRAINER_DATA_IDX_FILE_H_
