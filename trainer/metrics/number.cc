#include "trainer/metrics/number.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace reprise {
namespace {

template <typename Bits, typename Number>
std::string JsonNumber(Number value) {
  static_assert(sizeof(Bits) == sizeof(Number));
  Bits bits;
  std::memcpy(&bits, &value, sizeof bits);
  std::string shortest = "null";
  if (std::isfinite(value)) {
    char text[32];
    shortest.assign(text, std::to_chars(text, text + sizeof text, value).ptr);
  }
  return absl::StrFormat("{\"v\":%s,\"bits\":\"%0*x\"}", shortest,
                         static_cast<int>(2 * sizeof bits), bits);
}

}  // namespace

std::string JsonFloat(float value) { return JsonNumber<uint32_t>(value); }

std::string JsonDouble(double value) { return JsonNumber<uint64_t>(value); }

std::string Hex64(uint64_t value) {
  return absl::StrCat(absl::Hex(value, absl::kZeroPad16));
}

std::string JsonString(absl::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(&out, "\\u%04x", c);
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace reprise
