#include "format/non_finite.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "format/little_endian.h"

namespace reprise {
namespace {

// Non-finite is: every bit of the exponent set.
template <typename T>
bool AnyWithExponent(absl::string_view bytes, T exponent) {
  for (size_t offset = 0; offset < bytes.size(); offset += sizeof(T)) {
    if ((LoadLittleEndian<T>(bytes, offset) & exponent) == exponent) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool HasNonFinite(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF64:
      return AnyWithExponent<uint64_t>(tensor.bytes(), 0x7ff0000000000000);
    case DType::kF32:
      return AnyWithExponent<uint32_t>(tensor.bytes(), 0x7f800000);
    case DType::kF16:
      return AnyWithExponent<uint16_t>(tensor.bytes(), 0x7c00);
    case DType::kBF16:
      return AnyWithExponent<uint16_t>(tensor.bytes(), 0x7f80);
    default:
      return false;
  }
}

std::vector<std::string> NonFiniteTensors(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const auto* tensors : {&snapshot.parameters, &snapshot.buffers}) {
    for (const Tensor& tensor : *tensors) {
      if (HasNonFinite(tensor)) names.push_back(tensor.name());
    }
  }
  if (!snapshot.optimizer.has_value()) return names;
  for (const ParameterState& state : snapshot.optimizer->states) {
    for (const Tensor& moment : state.moments) {
      if (HasNonFinite(moment)) {
        names.push_back(absl::StrCat(state.parameter, "/", moment.name()));
      }
    }
  }
  return names;
}

}  // namespace reprise
