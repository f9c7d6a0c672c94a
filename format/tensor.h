// A named array: where its elements are, in which order, and whose storage.
//
// Example (a test as well):
//
//   std::vector<float> weights(6);
//   auto tensor = reprise::Tensor::View("fc.weight", reprise::DType::kF32,
//                                       {2, 3}, weights.data());
//   auto transposed = reprise::Tensor::Strided(
//       "fc.weight_t", reprise::DType::kF32, {3, 2}, {1, 3}, nullptr,
//       weights.data());
//   transposed.DimensionOrder();  // {1, 0}: the second dimension is outermost
//
// Elements are little-endian. Copies of a Tensor share its bytes.
// Thread-compatible.
#ifndef REPRISE_FORMAT_TENSOR_H_
#define REPRISE_FORMAT_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "format/dtype.h"

namespace reprise {

class Tensor {
 public:
  // Copies `size` bytes from `offset` of the dense array to host memory; called
  // from the writer's threads, several at a time.
  using CopyFunction =
      std::function<absl::Status(uint64_t offset, size_t size, char* out)>;

  // A row-major array. Refers to `data` without copying; it must outlive every
  // use of the tensor. `data` may be null when the shape holds no element.
  static Tensor View(std::string name, DType dtype, std::vector<int64_t> shape,
                     const void* data);
  // The same; keeps `owner` alive as long as a copy of the tensor is.
  static Tensor Shared(std::string name, DType dtype,
                       std::vector<int64_t> shape,
                       std::shared_ptr<const void> owner, const void* data);
  // `data` is the element at index 0, 0, ...; strides are in elements, at least
  // 0, one for each dimension. `owner` may be null.
  static Tensor Strided(std::string name, DType dtype,
                        std::vector<int64_t> shape,
                        std::vector<int64_t> strides,
                        std::shared_ptr<const void> owner, const void* data);
  // Bytes that are not in host memory (a device's): `copy` brings them. They
  // are dense in `dimension_order`, outermost first; empty: row-major.
  static Tensor OnDevice(std::string name, DType dtype,
                         std::vector<int64_t> shape,
                         std::vector<uint32_t> dimension_order,
                         CopyFunction copy);
  // A tensor whose bytes another process writes (format/v2/shared_save.h).
  static Tensor Elsewhere(std::string name, DType dtype,
                          std::vector<int64_t> shape,
                          std::vector<uint32_t> dimension_order);

  // Says which storage the live tensor is a view of, for tensors whose `data`
  // is a copy: two with the same storage, offset (bytes), dtype, shape and
  // order are one. Without it, host addresses decide.
  void SetStorage(uint64_t storage, uint64_t offset) {
    storage_ = Storage{storage, offset};
  }

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  // In elements; empty means row-major.
  const std::vector<int64_t>& strides() const { return strides_; }
  // Product of the shape; 1 for a scalar (empty shape). REQUIRES: every extent
  // is >= 0 and the product fits; saving and reading refuse other shapes.
  int64_t num_elements() const;
  size_t num_bytes() const { return num_elements() * SizeOf(dtype_); }
  const void* data() const { return data_; }

  // Dimensions from the outermost in memory to the innermost, when the elements
  // lie without gaps in such an order; else 0, 1, 2, ...
  std::vector<uint32_t> DimensionOrder() const;
  // Whether the num_bytes() bytes at data() are the elements, in
  // DimensionOrder().
  bool IsDense() const;
  bool IsRowMajor() const;

  // The elements in memory order. REQUIRES: IsDense().
  absl::string_view bytes() const {
    return {static_cast<const char*>(data_), num_bytes()};
  }
  // Copies bytes [offset, offset + size) of the elements in DimensionOrder(),
  // wherever they are. REQUIRES: whole elements, in range.
  absl::Status CopyBytes(uint64_t offset, size_t size, char* out) const;

  const CopyFunction& copy_function() const { return copy_; }
  bool is_elsewhere() const { return elsewhere_; }

  struct Storage {
    uint64_t id = 0;
    uint64_t offset = 0;  // bytes
  };
  const std::optional<Storage>& storage() const { return storage_; }

 private:
  std::string name_;
  DType dtype_ = DType::kF32;
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
  std::shared_ptr<const void> owner_;
  const void* data_ = nullptr;
  CopyFunction copy_;
  std::optional<Storage> storage_;
  bool elsewhere_ = false;
};

// Strides (elements) of a dense array of that shape whose dimensions lie in
// `order`, outermost first; empty when that is row-major. REQUIRES: `order` is
// a permutation of the dimensions.
std::vector<int64_t> DenseStrides(const std::vector<int64_t>& shape,
                                  const std::vector<uint32_t>& order);

}  // namespace reprise

#endif  // REPRISE_FORMAT_TENSOR_H_
