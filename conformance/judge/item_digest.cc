#include "conformance/judge/item_digest.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace reprise::conformance {

bool SameDigest(const v1::ItemDigest& a, const v1::ItemDigest& b) {
  if (!a.digest().empty() && !b.digest().empty()) {
    return a.digest() == b.digest();
  }
  return a.value() == b.value();
}

std::optional<double> ValueOf(const v1::ItemDigest& digest) {
  double value = 0;
  if (absl::SimpleAtod(digest.value(), &value)) return value;
  const size_t of = digest.value().find(" of ");
  if (of != std::string::npos &&
      absl::SimpleAtod(digest.value().substr(0, of), &value)) {
    return value;
  }
  std::optional<double> common;
  for (absl::string_view entry :
       absl::StrSplit(digest.value(), ';', absl::SkipEmpty())) {
    const size_t equals = entry.rfind('=');
    if (equals == absl::string_view::npos ||
        !absl::SimpleAtod(entry.substr(equals + 1), &value) ||
        (common.has_value() && *common != value)) {
      return std::nullopt;
    }
    common = value;
  }
  return common;
}

}  // namespace reprise::conformance
