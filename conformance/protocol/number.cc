#include "conformance/protocol/number.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace reprise::conformance {
namespace {

std::optional<uint64_t> ParseHex(absl::string_view digits) {
  uint64_t value = 0;
  for (char c : digits) {
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<uint64_t>(digit);
  }
  return value;
}

// Half a unit of the last digit of a decimal number: "0.6931" 0.00005,
// "1.5e-3" 0.00005, "12" 0.5.
double HalfUnit(absl::string_view text) {
  size_t exponent_at = text.find_first_of("eE");
  absl::string_view mantissa = text.substr(0, exponent_at);
  int exponent = 0;
  if (exponent_at != absl::string_view::npos &&
      !absl::SimpleAtoi(text.substr(exponent_at + 1), &exponent)) {
    exponent = 0;
  }
  size_t point = mantissa.find('.');
  if (point != absl::string_view::npos) {
    exponent -= static_cast<int>(mantissa.size() - point - 1);
  }
  return 0.5 * std::pow(10.0, exponent);
}

absl::StatusOr<Reading> ReadBits(absl::string_view bits) {
  std::optional<uint64_t> parsed;
  if (bits.size() == 8 || bits.size() == 16) parsed = ParseHex(bits);
  if (!parsed.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Number.bits: expected 8 or 16 hexadecimal digits, found ",
                     "\"", bits, "\""));
  }
  Reading reading;
  if (bits.size() == 8) {
    uint32_t narrow = static_cast<uint32_t>(*parsed);
    float value;
    std::memcpy(&value, &narrow, sizeof(value));
    reading.value = value;
    reading.width = 32;
  } else {
    std::memcpy(&reading.value, &*parsed, sizeof(reading.value));
    reading.width = 64;
  }
  return reading;
}

}  // namespace

Number NumberOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  Number number;
  number.set_bits(absl::StrFormat("%08x", bits));
  if (std::isfinite(value)) number.set_v(value);
  return number;
}

Number NumberOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  Number number;
  number.set_bits(absl::StrFormat("%016x", bits));
  if (std::isfinite(value)) number.set_v(value);
  return number;
}

Number NumberOfText(absl::string_view text) {
  Number number;
  number.set_text(std::string(absl::StripAsciiWhitespace(text)));
  double value;
  if (absl::SimpleAtod(number.text(), &value) && std::isfinite(value)) {
    number.set_v(value);
  }
  return number;
}

absl::StatusOr<Reading> Read(const Number& number) {
  if (!number.bits().empty()) {
    absl::StatusOr<Reading> reading = ReadBits(number.bits());
    if (!reading.ok() || !number.has_v()) return reading;
    // A writer may print fewer digits than the value has, and no other value.
    double slack = std::abs(reading->value) * 1e-5 +
                   std::numeric_limits<float>::denorm_min();
    if (!reading->finite() || std::abs(number.v() - reading->value) > slack) {
      return absl::InvalidArgumentError(
          absl::StrCat("Number: v is ", number.v(), " and bits \"",
                       number.bits(), "\" are ", reading->value));
    }
    return reading;
  }
  Reading reading;
  if (!number.text().empty()) {
    if (!absl::SimpleAtod(number.text(), &reading.value)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Number.text: expected a number, found \"", number.text(), "\""));
    }
    if (reading.finite()) reading.resolution = HalfUnit(number.text());
    return reading;
  }
  if (!number.has_v()) {
    return absl::InvalidArgumentError(
        "Number: expected v, bits or text, found none of them");
  }
  reading.value = number.v();
  if (reading.finite()) {
    reading.resolution = std::ldexp(std::abs(reading.value), -24);
  }
  return reading;
}

bool SameBits(const Number& a, const Number& b) {
  return !a.bits().empty() &&
         absl::AsciiStrToLower(a.bits()) == absl::AsciiStrToLower(b.bits());
}

}  // namespace reprise::conformance
