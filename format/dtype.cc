#include "format/dtype.h"

namespace reprise {
namespace {

struct Properties {
  absl::string_view name;
  size_t size;
  bool floating_point;
};

Properties PropertiesOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {"f64", 8, true};
    case DType::kF32:
      return {"f32", 4, true};
    case DType::kF16:
      return {"f16", 2, true};
    case DType::kBF16:
      return {"bf16", 2, true};
    case DType::kI64:
      return {"i64", 8, false};
    case DType::kU64:
      return {"u64", 8, false};
    case DType::kI32:
      return {"i32", 4, false};
    case DType::kU32:
      return {"u32", 4, false};
    case DType::kI16:
      return {"i16", 2, false};
    case DType::kU16:
      return {"u16", 2, false};
    case DType::kI8:
      return {"i8", 1, false};
    case DType::kU8:
      return {"u8", 1, false};
    case DType::kBool:
      return {"bool", 1, false};
    case DType::kF8E4M3FN:
      return {"f8e4m3fn", 1, true};
    case DType::kF8E5M2:
      return {"f8e5m2", 1, true};
    case DType::kC64:
      return {"c64", 8, false};
    case DType::kC128:
      return {"c128", 16, false};
  }
  return {"unknown", 0, false};
}

}  // namespace

const std::vector<DType>& AllDTypes() {
  static const auto* const all = [] {
    auto* dtypes = new std::vector<DType>;
    for (int number = 1; number <= static_cast<int>(DType::kC128); ++number) {
      dtypes->push_back(static_cast<DType>(number));
    }
    return dtypes;
  }();
  return *all;
}

size_t SizeOf(DType dtype) { return PropertiesOf(dtype).size; }

absl::string_view Name(DType dtype) { return PropertiesOf(dtype).name; }

bool IsFloatingPoint(DType dtype) { return PropertiesOf(dtype).floating_point; }

}  // namespace reprise
