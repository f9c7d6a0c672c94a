// Names that torch gives to element types. Thread-safe.
#ifndef REPRISE_FORMAT_INTEROP_TORCH_NAMES_H_
#define REPRISE_FORMAT_INTEROP_TORCH_NAMES_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "format/dtype.h"

namespace reprise {

// "torch.float32" -> kF32.
std::optional<DType> DTypeOfTorchName(absl::string_view name);
// kF32 -> "torch.float32".
absl::string_view TorchNameOf(DType dtype);
// "torch.FloatStorage" -> kF32.
std::optional<DType> DTypeOfStorageClass(absl::string_view name);
// kF32 -> "FloatStorage"; empty for types that have none (u16, u32, u64 and
// float8 came after typed storages).
absl::string_view StorageClassOf(DType dtype);

}  // namespace reprise

#endif  // REPRISE_FORMAT_INTEROP_TORCH_NAMES_H_
