#include "tools/ckpt/tensor_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace reprise::ckpt {
namespace {

template <typename T>
T Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// IEEE-like bits of `exponent` and `mantissa` bits below the sign. E4M3FN has
// no infinity: only its highest pattern is a NaN.
double SmallFloat(uint32_t bits, int exponent, int mantissa, bool infinities) {
  const int bias = (1 << (exponent - 1)) - 1;
  const bool negative = (bits >> (exponent + mantissa)) & 1;
  const int e = (bits >> mantissa) & ((1 << exponent) - 1);
  const int m = bits & ((1 << mantissa) - 1);
  double value = 0;
  if (infinities && e == (1 << exponent) - 1) {
    value = m == 0 ? std::numeric_limits<double>::infinity()
                   : std::numeric_limits<double>::quiet_NaN();
  } else if (!infinities && e == (1 << exponent) - 1 &&
             m == (1 << mantissa) - 1) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (e == 0) {
    value = std::ldexp(m, 1 - bias - mantissa);
  } else {
    value = std::ldexp((1 << mantissa) + m, e - bias - mantissa);
  }
  return negative ? -value : value;
}

bool IsComplex(DType dtype) {
  return dtype == DType::kC64 || dtype == DType::kC128;
}

// 64-bit integers beyond 2^53 are rounded.
double AsDouble(DType dtype, const char* bytes) {
  switch (dtype) {
    case DType::kF64:
      return Load<double>(bytes);
    case DType::kF32:
      return Load<float>(bytes);
    case DType::kF16:
      return SmallFloat(Load<uint16_t>(bytes), 5, 10, true);
    case DType::kBF16:
      return SmallFloat(Load<uint16_t>(bytes), 8, 7, true);
    case DType::kF8E4M3FN:
      return SmallFloat(Load<uint8_t>(bytes), 4, 3, false);
    case DType::kF8E5M2:
      return SmallFloat(Load<uint8_t>(bytes), 5, 2, true);
    case DType::kI64:
      return static_cast<double>(Load<int64_t>(bytes));
    case DType::kU64:
      return static_cast<double>(Load<uint64_t>(bytes));
    case DType::kI32:
      return Load<int32_t>(bytes);
    case DType::kU32:
      return Load<uint32_t>(bytes);
    case DType::kI16:
      return Load<int16_t>(bytes);
    case DType::kU16:
      return Load<uint16_t>(bytes);
    case DType::kI8:
      return Load<int8_t>(bytes);
    case DType::kU8:
    case DType::kBool:
      return Load<uint8_t>(bytes);
    case DType::kC64:
    case DType::kC128:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::string TextOfElement(DType dtype, const char* bytes) {
  switch (dtype) {
    case DType::kF64:
      return absl::StrFormat("%.17g", Load<double>(bytes));
    case DType::kI64:
      return absl::StrCat(Load<int64_t>(bytes));
    case DType::kU64:
      return absl::StrCat(Load<uint64_t>(bytes));
    case DType::kBool:
      return *bytes != 0 ? "true" : "false";
    case DType::kC64:
      return absl::StrFormat("%.9g%+.9gi", Load<float>(bytes),
                             Load<float>(bytes + 4));
    case DType::kC128:
      return absl::StrFormat("%.17g%+.17gi", Load<double>(bytes),
                             Load<double>(bytes + 8));
    default:
      return absl::StrFormat("%.9g", AsDouble(dtype, bytes));
  }
}

// Place in memory, in elements, of the `index`-th element in row-major order.
int64_t PlaceOf(const Tensor& tensor, int64_t index) {
  if (tensor.strides().empty()) return index;
  int64_t place = 0;
  for (size_t d = tensor.shape().size(); d-- > 0;) {
    place += index % tensor.shape()[d] * tensor.strides()[d];
    index /= tensor.shape()[d];
  }
  return place;
}

}  // namespace

TensorStatistics StatisticsOf(const Tensor& tensor, size_t values) {
  TensorStatistics statistics;
  const int64_t elements = tensor.num_elements();
  const size_t size = SizeOf(tensor.dtype());
  const char* const bytes = static_cast<const char*>(tensor.data());
  statistics.set_elements(elements);
  for (int64_t i = 0; i < std::min<int64_t>(elements, values); ++i) {
    statistics.add_values(
        TextOfElement(tensor.dtype(), bytes + PlaceOf(tensor, i) * size));
  }
  if (IsComplex(tensor.dtype())) return statistics;
  uint64_t finite = 0;
  uint64_t nan = 0, infinite = 0, zero = 0;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  // Welford's recurrence: no difference of large sums.
  double mean = 0;
  double squares = 0;
  for (int64_t i = 0; i < elements; ++i) {
    const double value = AsDouble(tensor.dtype(), bytes + i * size);
    if (std::isnan(value)) {
      ++nan;
    } else if (std::isinf(value)) {
      ++infinite;
    } else {
      ++finite;
      zero += value == 0;
      low = std::min(low, value);
      high = std::max(high, value);
      const double distance = value - mean;
      mean += distance / static_cast<double>(finite);
      squares += distance * (value - mean);
    }
  }
  statistics.set_nan(nan);
  statistics.set_infinite(infinite);
  statistics.set_zero(zero);
  if (finite > 0) {
    statistics.set_minimum(low);
    statistics.set_maximum(high);
    statistics.set_mean(mean);
    statistics.set_standard_deviation(
        std::sqrt(squares / static_cast<double>(finite)));
  }
  return statistics;
}

}  // namespace reprise::ckpt
