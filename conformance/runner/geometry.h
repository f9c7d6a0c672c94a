// What an uninterrupted run looks like: where its epochs end, where it saves,
// how long its parts take. Kills are planned on it.
#ifndef REPRISE_CONFORMANCE_RUNNER_GEOMETRY_H_
#define REPRISE_CONFORMANCE_RUNNER_GEOMETRY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "conformance/runner/attempt.h"

namespace reprise::conformance {

// From the events of a run that finished. An epoch ends with the step after
// which StepEvent.epoch is higher than after the step before (0 before the
// first); a testee that does not write it has no known epochs.
v1::Geometry MeasureGeometry(const AttemptResult& baseline);

// A stretch of attempted steps, first..last, from 1.
struct Epoch {
  uint64_t first = 1;
  uint64_t last = 1;
  // Its end is the testee's own word (and not just the end of the run).
  bool end_known = false;
};

// The epochs of the run; a single one when the testee tells of none. Steps
// after the last known end form one more, whose end is not known.
std::vector<Epoch> EpochsOf(const v1::Geometry& geometry);

// Committed saves at first..last, without `last` itself: a run resumed from one
// of them starts inside the epoch.
std::vector<uint64_t> SavesInside(const v1::Geometry& geometry,
                                  const Epoch& epoch);

// Steps between one save and the next, as most of them are; 0 when there are
// fewer than two.
uint64_t SaveSpacing(const v1::Geometry& geometry);

bool SavesAt(const v1::Geometry& geometry, uint64_t step);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_GEOMETRY_H_
