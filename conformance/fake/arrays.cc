#include "conformance/fake/arrays.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace reprise::conformance::fake {
namespace {

// Drops the lowest `bits` bits of the significand, to nearest, ties to even.
float DropBits(float value, int bits) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof(word));
  const uint32_t half_less_one = (uint32_t{1} << (bits - 1)) - 1;
  word += half_less_one + ((word >> bits) & 1);
  word &= ~((uint32_t{1} << bits) - 1);
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

}  // namespace

Array* Find(absl::string_view name, Arrays* arrays) {
  for (Array& array : *arrays) {
    if (array.name() == name) return &array;
  }
  return nullptr;
}

const Array* Find(absl::string_view name, const Arrays& arrays) {
  for (const Array& array : arrays) {
    if (array.name() == name) return &array;
  }
  return nullptr;
}

Arrays ZerosLike(const Arrays& arrays) {
  Arrays zeros = arrays;
  for (Array& array : zeros) {
    std::fill(array.mutable_values()->begin(), array.mutable_values()->end(),
              0.0f);
  }
  return zeros;
}

double Norm(const Arrays& arrays) {
  double sum = 0;
  for (const Array& array : arrays) {
    for (float value : array.values()) sum += double{value} * value;
  }
  return std::sqrt(sum);
}

double Distance(const Array& a, const Array& b) {
  double sum = 0;
  for (int i = 0; i < a.values_size(); ++i) {
    double difference = double{a.values(i)} - double{b.values(i)};
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

float RoundTo(absl::string_view precision, float value) {
  if (precision == "fp32" || !std::isfinite(value)) return value;
  if (precision == "bf16") return DropBits(value, 16);
  if (std::abs(value) >= 65520.0f) {
    return std::copysign(std::numeric_limits<float>::infinity(), value);
  }
  // Below 2^-14 the spacing is 2^-24, which is also that of floats near 0.75.
  if (std::abs(value) < 6.103515625e-05f) return (value + 0.75f) - 0.75f;
  return DropBits(value, 13);
}

void RoundTo(absl::string_view precision, Array* array) {
  if (precision == "fp32") return;
  for (float& value : *array->mutable_values()) {
    value = RoundTo(precision, value);
  }
}

const Arrays& Trained(const State& state) {
  return state.masters().empty() ? state.parameters() : state.masters();
}

Arrays* Trained(State* state) {
  return state->masters().empty() ? state->mutable_parameters()
                                  : state->mutable_masters();
}

bool IsFrozen(const State& state, absl::string_view parameter) {
  return std::find(state.frozen().begin(), state.frozen().end(), parameter) !=
         state.frozen().end();
}

}  // namespace reprise::conformance::fake
