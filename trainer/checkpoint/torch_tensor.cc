#include "trainer/checkpoint/torch_tensor.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace reprise {
namespace {

struct DTypePair {
  DType ours;
  at::ScalarType torch;
};

constexpr DTypePair kDTypes[] = {
    {DType::kF64, at::kDouble},
    {DType::kF32, at::kFloat},
    {DType::kF16, at::kHalf},
    {DType::kBF16, at::kBFloat16},
    {DType::kI64, at::kLong},
    {DType::kU64, at::kUInt64},
    {DType::kI32, at::kInt},
    {DType::kU32, at::kUInt32},
    {DType::kI16, at::kShort},
    {DType::kU16, at::kUInt16},
    {DType::kI8, at::kChar},
    {DType::kU8, at::kByte},
    {DType::kBool, at::kBool},
    {DType::kF8E4M3FN, at::kFloat8_e4m3fn},
    {DType::kF8E5M2, at::kFloat8_e5m2},
    {DType::kC64, at::kComplexFloat},
    {DType::kC128, at::kComplexDouble},
};

DType FromTorch(at::ScalarType type) {
  for (const DTypePair& pair : kDTypes) {
    if (pair.torch == type) return pair.ours;
  }
  TORCH_CHECK(false, "the checkpoint format has no dtype ", toString(type));
}

at::ScalarType ToTorch(DType dtype) {
  for (const DTypePair& pair : kDTypes) {
    if (pair.ours == dtype) return pair.torch;
  }
  TORCH_CHECK(false, "no such dtype: ", static_cast<int>(dtype));
}

std::vector<int64_t> RowMajor(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

}  // namespace

Tensor ViewOf(std::string name, const at::Tensor& tensor) {
  const bool dense = tensor.is_non_overlapping_and_dense();
  at::Tensor host = tensor.detach();
  if (!dense) host = host.contiguous();
  auto owner = std::make_shared<at::Tensor>(host.to(at::kCPU));
  const void* data = owner->numel() == 0 ? nullptr : owner->const_data_ptr();
  Tensor view = Tensor::Strided(
      std::move(name), FromTorch(owner->scalar_type()), owner->sizes().vec(),
      owner->strides().vec(), owner, data);
  if (owner->numel() > 0 && !tensor.is_cpu()) {
    // A copy: the device's address says which tensors are one.
    const Tensor::Storage storage = StorageOf(tensor);
    view.SetStorage(storage.id, storage.offset);
  }
  return view;
}

Tensor ViewThrough(std::string name, const at::Tensor& tensor,
                   const at::Tensor& dense, Tensor::CopyFunction copy) {
  const DType dtype = FromTorch(dense.scalar_type());
  const std::vector<uint32_t> order =
      Tensor::Strided("", dtype, dense.sizes().vec(), dense.strides().vec(),
                      nullptr, nullptr)
          .DimensionOrder();
  Tensor view = Tensor::OnDevice(std::move(name), dtype, dense.sizes().vec(),
                                 order, std::move(copy));
  const Tensor::Storage storage = StorageOf(tensor);
  view.SetStorage(storage.id, storage.offset);
  return view;
}

Tensor::Storage StorageOf(const at::Tensor& tensor) {
  return {
      reinterpret_cast<uint64_t>(tensor.storage().data()),
      static_cast<uint64_t>(tensor.storage_offset() * tensor.element_size())};
}

absl::Status CopyInto(const Tensor& source, const at::Tensor& destination) {
  const at::ScalarType dtype = ToTorch(source.dtype());
  if (dtype != destination.scalar_type()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source.name(), ": expected dtype ",
                     Name(FromTorch(destination.scalar_type())), ", found ",
                     Name(source.dtype())));
  }
  if (source.shape() != destination.sizes().vec()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source.name(), ": expected shape [",
                     absl::StrJoin(destination.sizes(), ","), "], found [",
                     absl::StrJoin(source.shape(), ","), "]"));
  }
  if (source.num_bytes() == 0) return absl::OkStatus();
  const at::NoGradGuard no_grad;
  const std::vector<int64_t> strides =
      source.strides().empty() ? RowMajor(source.shape()) : source.strides();
  if (!source.IsRowMajor() && destination.is_non_overlapping_and_dense() &&
      destination.strides().vec() != strides) {
    destination.unsafeGetTensorImpl()->set_sizes_and_strides(
        destination.sizes(), at::IntArrayRef(strides));
  }
  // The view is only read from; from_blob has no const form.
  const at::Tensor view =
      at::from_blob(const_cast<void*>(source.data()), source.shape(), strides,
                    at::TensorOptions(dtype));
  // Not through `destination` itself: autograd refuses to write into a leaf
  // that requires gradients.
  destination.detach().copy_(view);
  return absl::OkStatus();
}

}  // namespace reprise
