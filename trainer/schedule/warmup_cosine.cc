#include "trainer/schedule/warmup_cosine.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/schedule/exact_math.h"

namespace reprise {
namespace {

constexpr uint64_t kMaxHorizon = uint64_t{1} << 53;

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
