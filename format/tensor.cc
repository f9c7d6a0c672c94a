#include "format/tensor.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "format/refusal.h"

namespace reprise {
namespace {

std::vector<uint32_t> Identity(size_t rank) {
  std::vector<uint32_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool IsIdentity(const std::vector<uint32_t>& order) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

// The order in which strides fall, when that is a dense layout. Dimensions of
// one element may have any stride; they take part in the order by it, so that
// channels-last stays channels-last at size 1.
std::optional<std::vector<uint32_t>> DenseOrder(
    const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  std::vector<uint32_t> order = Identity(shape.size());
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return strides[a] > strides[b];
  });
  int64_t expected = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const uint32_t dimension = order[i];
    if (shape[dimension] != 1 && strides[dimension] != expected) {
      return std::nullopt;
    }
    expected *= shape[dimension];
  }
  return order;
}

}  // namespace

Tensor Tensor::View(std::string name, DType dtype, std::vector<int64_t> shape,
                    const void* data) {
  return Shared(std::move(name), dtype, std::move(shape), nullptr, data);
}

Tensor Tensor::Shared(std::string name, DType dtype, std::vector<int64_t> shape,
                      std::shared_ptr<const void> owner, const void* data) {
  Tensor tensor;
  tensor.name_ = std::move(name);
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.owner_ = std::move(owner);
  tensor.data_ = data;
  return tensor;
}

Tensor Tensor::Strided(std::string name, DType dtype,
                       std::vector<int64_t> shape, std::vector<int64_t> strides,
                       std::shared_ptr<const void> owner, const void* data) {
  Tensor tensor =
      Shared(std::move(name), dtype, std::move(shape), std::move(owner), data);
  tensor.strides_ = std::move(strides);
  return tensor;
}

Tensor Tensor::OnDevice(std::string name, DType dtype,
                        std::vector<int64_t> shape,
                        std::vector<uint32_t> dimension_order,
                        CopyFunction copy) {
  Tensor tensor =
      Elsewhere(std::move(name), dtype, std::move(shape), dimension_order);
  tensor.elsewhere_ = false;
  tensor.copy_ = std::move(copy);
  return tensor;
}

Tensor Tensor::Elsewhere(std::string name, DType dtype,
                         std::vector<int64_t> shape,
                         std::vector<uint32_t> dimension_order) {
  Tensor tensor;
  tensor.name_ = std::move(name);
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  if (!dimension_order.empty()) {
    tensor.strides_ = DenseStrides(tensor.shape_, dimension_order);
  }
  tensor.elsewhere_ = true;
  return tensor;
}

int64_t Tensor::num_elements() const {
  int64_t product = 1;
  for (int64_t extent : shape_) product *= extent;
  return product;
}

std::vector<uint32_t> Tensor::DimensionOrder() const {
  if (strides_.size() != shape_.size() || num_elements() == 0) {
    return Identity(shape_.size());
  }
  return DenseOrder(shape_, strides_).value_or(Identity(shape_.size()));
}

bool Tensor::IsDense() const {
  return strides_.empty() || num_elements() == 0 ||
         DenseOrder(shape_, strides_).has_value();
}

bool Tensor::IsRowMajor() const {
  return IsDense() && IsIdentity(DimensionOrder());
}

absl::Status Tensor::CopyBytes(uint64_t offset, size_t size, char* out) const {
  if (size == 0) return absl::OkStatus();
  if (copy_) return copy_(offset, size, out);
  if (data_ == nullptr) {
    return MakeRefusal(Refusal::MISSING_ITEM,
                       absl::StrCat("tensor ", name_, " has no data"));
  }
  const char* bytes = static_cast<const char*>(data_);
  if (IsDense()) {
    std::memcpy(out, bytes + offset, size);
    return absl::OkStatus();
  }
  // Row-major over a view with gaps: rows of the innermost dimension at once
  // where they are dense, single elements else.
  const size_t element = SizeOf(dtype_);
  const int64_t inner = shape_.back();
  const int64_t inner_stride = strides_.back();
  int64_t index = static_cast<int64_t>(offset / element);
  int64_t left = static_cast<int64_t>(size / element);
  while (left > 0) {
    const int64_t column = index % inner;
    int64_t row = index / inner;
    int64_t position = column * inner_stride;
    for (size_t d = shape_.size() - 1; d-- > 0;) {
      position += row % shape_[d] * strides_[d];
      row /= shape_[d];
    }
    const int64_t count = std::min(left, inner - column);
    const char* from = bytes + position * static_cast<int64_t>(element);
    if (inner_stride == 1) {
      std::memcpy(out, from, count * element);
      out += count * element;
    } else {
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(out, from, element);
        out += element;
        from += inner_stride * static_cast<int64_t>(element);
      }
    }
    index += count;
    left -= count;
  }
  return absl::OkStatus();
}

std::vector<int64_t> DenseStrides(const std::vector<int64_t>& shape,
                                  const std::vector<uint32_t>& order) {
  if (IsIdentity(order)) return {};
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= shape[order[i]];
  }
  return strides;
}

}  // namespace reprise
