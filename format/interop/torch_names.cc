#include "format/interop/torch_names.h"

#include "absl/strings/strip.h"

namespace reprise {
namespace {

struct Names {
  DType dtype;
  absl::string_view torch;
  absl::string_view storage;
};

constexpr Names kNames[] = {
    {DType::kF64, "torch.float64", "DoubleStorage"},
    {DType::kF32, "torch.float32", "FloatStorage"},
    {DType::kF16, "torch.float16", "HalfStorage"},
    {DType::kBF16, "torch.bfloat16", "BFloat16Storage"},
    {DType::kI64, "torch.int64", "LongStorage"},
    {DType::kU64, "torch.uint64", ""},
    {DType::kI32, "torch.int32", "IntStorage"},
    {DType::kU32, "torch.uint32", ""},
    {DType::kI16, "torch.int16", "ShortStorage"},
    {DType::kU16, "torch.uint16", ""},
    {DType::kI8, "torch.int8", "CharStorage"},
    {DType::kU8, "torch.uint8", "ByteStorage"},
    {DType::kBool, "torch.bool", "BoolStorage"},
    {DType::kF8E4M3FN, "torch.float8_e4m3fn", ""},
    {DType::kF8E5M2, "torch.float8_e5m2", ""},
    {DType::kC64, "torch.complex64", "ComplexFloatStorage"},
    {DType::kC128, "torch.complex128", "ComplexDoubleStorage"},
};

}  // namespace

std::optional<DType> DTypeOfTorchName(absl::string_view name) {
  for (const Names& names : kNames) {
    if (names.torch == name) return names.dtype;
  }
  return std::nullopt;
}

absl::string_view TorchNameOf(DType dtype) {
  for (const Names& names : kNames) {
    if (names.dtype == dtype) return names.torch;
  }
  return "";
}

std::optional<DType> DTypeOfStorageClass(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "torch.")) return std::nullopt;
  for (const Names& names : kNames) {
    if (!names.storage.empty() && names.storage == name) return names.dtype;
  }
  return std::nullopt;
}

absl::string_view StorageClassOf(DType dtype) {
  for (const Names& names : kNames) {
    if (names.dtype == dtype) return names.storage;
  }
  return "";
}

}  // namespace reprise
