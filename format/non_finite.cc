#include "format/non_finite.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "format/little_endian.h"

namespace reprise {
namespace {

// Non-finite is: every bit of the exponent set. Looked for in memory order, a
// block at a time without leaving early, which compilers turn into vectors:
// every save looks through the whole state.
template <typename T>
bool AnyWithExponent(absl::string_view bytes, T exponent) {
  constexpr size_t kBlock = 2048 / sizeof(T);
  std::string little_endian;
  AppendLittleEndian(exponent, &little_endian);
  T mask;
  std::memcpy(&mask, little_endian.data(), sizeof(T));
  const auto is_set = [mask](const char* element) {
    T value;
    std::memcpy(&value, element, sizeof(T));
    return (value & mask) == mask;
  };
  const char* at = bytes.data();
  size_t left = bytes.size() / sizeof(T);
  for (; left >= kBlock; left -= kBlock, at += kBlock * sizeof(T)) {
    T found = 0;
    for (size_t i = 0; i < kBlock; ++i) {
      found |= static_cast<T>(is_set(at + i * sizeof(T)));
    }
    if (found != 0) return true;
  }
  for (; left > 0; --left, at += sizeof(T)) {
    if (is_set(at)) return true;
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
