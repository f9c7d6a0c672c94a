#include "format/run_layout.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace reprise {
namespace {

constexpr char kCheckpointPrefix[] = "step-";
constexpr char kMicroMark[] = "-micro-";

// Digits only, at least `width` of them and no more zeros in front than that.
template <typename T>
bool ParsePadded(absl::string_view digits, size_t width, T* value) {
  if (digits.size() < width || (digits.size() > width && digits[0] == '0')) {
    return false;
  }
  for (char c : digits) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return false;
  }
  return absl::SimpleAtoi(digits, value);
}

}  // namespace

std::string CheckpointName(uint64_t step) {
  return absl::StrFormat("%s%012d", kCheckpointPrefix, step);
}

std::string CheckpointName(uint64_t step, uint32_t micro) {
  if (micro == 0) return CheckpointName(step);
  return absl::StrFormat("%s%s%04d", CheckpointName(step), kMicroMark, micro);
}

CheckpointPosition PositionOf(uint64_t step, uint32_t micro) {
  CheckpointPosition position;
  position.step = step;
  if (micro > 0) position.micro = micro;
  return position;
}

std::optional<CheckpointPosition> ParseCheckpointName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, kCheckpointPrefix)) return std::nullopt;
  CheckpointPosition position;
  const size_t mark = name.find(kMicroMark);
  if (mark != absl::string_view::npos) {
    uint32_t micro = 0;
    if (!ParsePadded(name.substr(mark + sizeof(kMicroMark) - 1), 4, &micro)) {
      return std::nullopt;
    }
    position.micro = micro;
    name = name.substr(0, mark);
  }
  if (!ParsePadded(name, 12, &position.step)) return std::nullopt;
  return position;
}

bool IsCheckpointNamed(absl::string_view name) {
  return absl::StartsWith(name, kCheckpointPrefix);
}

bool IsLeftover(absl::string_view name) {
  return absl::StartsWith(name, kTemporaryPrefix) ||
         absl::StartsWith(name, kTrashPrefix);
}

}  // namespace reprise
