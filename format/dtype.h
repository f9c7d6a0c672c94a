// Element types of tensors.
//
// Example:
//
//   reprise::SizeOf(reprise::DType::kBF16);  // 2
//   reprise::Name(reprise::DType::kBF16);    // "bf16"
//
// Thread-safe.
#ifndef REPRISE_FORMAT_DTYPE_H_
#define REPRISE_FORMAT_DTYPE_H_

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"

namespace reprise {

// The number is the one of the schemas; version 1 has the first thirteen.
enum class DType {
  kF64 = 1,
  kF32 = 2,
  kF16 = 3,
  kBF16 = 4,
  kI64 = 5,
  kU64 = 6,
  kI32 = 7,
  kU32 = 8,
  kI16 = 9,
  kU16 = 10,
  kI8 = 11,
  kU8 = 12,
  kBool = 13,  // one byte, 0 or 1
  kF8E4M3FN = 14,
  kF8E5M2 = 15,
  kC64 = 16,  // two f32, the real part first
  kC128 = 17,
};

// Every one of them.
const std::vector<DType>& AllDTypes();

// Bytes of one element, 1 to 16; 0 for a number that is no element type.
size_t SizeOf(DType dtype);
// Canonical text: "f32", "bf16", "f8e4m3fn", ...; "unknown".
absl::string_view Name(DType dtype);
// Whether it is a real floating-point type, whose values can be NaN.
bool IsFloatingPoint(DType dtype);

}  // namespace reprise

#endif  // REPRISE_FORMAT_DTYPE_H_
