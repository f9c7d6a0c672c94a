#include "trainer/checkpoint/torch_tensor.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace reprise {
namespace {

struct DTypePair {
  DType ours;
  at::ScalarType torch;
};

constexpr DTypePair kDTypes[] = {
    {DType::kF64, at::kDouble}, {DType::kF32, at::kFloat},
    {DType::kF16, at::kHalf},   {DType::kBF16, at::kBFloat16},
    {DType::kI64, at::kLong},   {DType::kU64, at::kUInt64},
    {DType::kI32, at::kInt},    {DType::kU32, at::kUInt32},
    {DType::kI16, at::kShort},  {DType::kU16, at::kUInt16},
    {DType::kI8, at::kChar},    {DType::kU8, at::kByte},
    {DType::kBool, at::kBool},
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

}  // namespace

Tensor ViewOf(std::string name, const at::Tensor& tensor) {
  auto dense =
      std::make_shared<at::Tensor>(tensor.detach().to(at::kCPU).contiguous());
  const void* data = dense->numel() == 0 ? nullptr : dense->const_data_ptr();
  return Tensor::Shared(std::move(name), FromTorch(tensor.scalar_type()),
                        tensor.sizes().vec(), std::move(dense), data);
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
  // The view is only read from; from_blob has no const form.
  const at::Tensor view =
      at::from_blob(const_cast<void*>(source.data()), source.shape(),
                    at::TensorOptions(dtype));
  // Not through `destination` itself: autograd refuses to write into a leaf
  // that requires gradients.
  destination.detach().copy_(view);
  return absl::OkStatus();
}

}  // namespace reprise
