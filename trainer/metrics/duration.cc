#include "trainer/metrics/duration.h"

#include <cstdint>

#include "absl/strings/str_format.h"

namespace reprise {

std::string FormatDuration(double seconds) {
  constexpr double kCentury = 100.0 * 365 * 86400;
  // Written so that NaN fails it.
  if (!(seconds >= 0 && seconds < kCentury)) return "-:--";
  int64_t whole = static_cast<int64_t>(seconds);
  int64_t days = whole / 86400, hours = whole / 3600 % 24;
  int64_t minutes = whole / 60 % 60, rest = whole % 60;
  if (days > 0) {
    return absl::StrFormat("%dd %02d:%02d:%02d", days, hours, minutes, rest);
  }
  if (hours > 0) return absl::StrFormat("%d:%02d:%02d", hours, minutes, rest);
  return absl::StrFormat("%d:%02d", minutes, rest);
}

}  // namespace reprise
