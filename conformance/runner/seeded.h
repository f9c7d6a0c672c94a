// Numbers drawn from a seed and a name, the same on every machine: whatever a
// plan draws depends on nothing else, so one case can be run again alone.
#ifndef REPRISE_CONFORMANCE_RUNNER_SEEDED_H_
#define REPRISE_CONFORMANCE_RUNNER_SEEDED_H_

#include <xxhash.h>

#include <cstdint>

#include "absl/strings/string_view.h"
#include "format/random/mix.h"

namespace reprise::conformance {

// SplitMix64 (Steele, Lea, Flood 2014), started from XXH3-64 of the name.
class Seeded {
 public:
  Seeded(uint64_t seed, absl::string_view name)
      : state_(XXH3_64bits_withSeed(name.data(), name.size(), seed)) {}

  uint64_t Next() {
    state_ += kGolden64;
    return Mix64(state_);
  }

  // Of [low, high], both inclusive; low when the range is empty.
  uint64_t Between(uint64_t low, uint64_t high) {
    if (high <= low) return low;
    const unsigned __int128 span = high - low + 1;
    return low + static_cast<uint64_t>((span * Next()) >> 64);
  }

  // Of [0, 1).
  double Share() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_SEEDED_H_
