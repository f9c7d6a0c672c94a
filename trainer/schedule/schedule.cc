#include "trainer/schedule/schedule.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace reprise {
namespace {

constexpr double kPi = 3.141592653589793;
constexpr uint64_t kMaxHorizon = uint64_t{1} << 53;

// cos(pi t) for t in [0, 1], within 3e-16. The order of operations is part of
// warmup-cosine-v1. The series is summed as 1 - z/(a b) (1 - z/(c d) (...)).
double CosPi(double t) {
  if (t > 0.5) return -CosPi(1.0 - t);
  double sum = 1.0;
  if (t > 0.25) {
    double x = kPi * (0.5 - t);  // the sine of the complement
    double z = x * x;
    for (int k = 8; k >= 1; --k) {
      sum = 1.0 - z / static_cast<double>((2 * k) * (2 * k + 1)) * sum;
    }
    return x * sum;
  }
  double x = kPi * t;
  double z = x * x;
  for (int k = 8; k >= 1; --k) {
    sum = 1.0 - z / static_cast<double>((2 * k - 1) * (2 * k)) * sum;
  }
  return sum;
}

}  // namespace

absl::StatusOr<WarmupCosine> WarmupCosine::Create(Definition definition) {
  std::vector<std::string> problems;
  if (definition.horizon <= definition.warmup) {
    problems.push_back(absl::StrCat("horizon: expected more than warmup (",
                                    definition.warmup, "), found ",
                                    definition.horizon));
  }
  if (definition.horizon > kMaxHorizon) {
    problems.push_back(absl::StrCat("horizon: expected at most 2^53, found ",
                                    definition.horizon));
  }
  // Written so that NaN is refused too.
  if (!(definition.final_fraction >= 0 && definition.final_fraction <= 1)) {
    problems.push_back(
        absl::StrCat("final_fraction: expected a number in [0, 1], found ",
                     definition.final_fraction));
  }
  if (!problems.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "schedule ", kWarmupCosineV1, ": ", absl::StrJoin(problems, "; ")));
  }
  return WarmupCosine(definition);
}

double WarmupCosine::Fraction(uint64_t position) const {
  const auto& [warmup, horizon, final_fraction] = definition_;
  if (position < warmup) {
    return static_cast<double>(position + 1) / static_cast<double>(warmup);
  }
  if (position >= horizon) return final_fraction;
  double t = static_cast<double>(position - warmup) /
             static_cast<double>(horizon - warmup);
  return final_fraction + (1.0 - final_fraction) * (0.5 * (1.0 + CosPi(t)));
}

}  // namespace reprise
