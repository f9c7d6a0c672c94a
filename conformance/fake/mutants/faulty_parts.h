// Parts of the fake trainer that go wrong from a resume on. Each is the right
// part with one fault; see mutants.cc for which mutant uses which.
#ifndef REPRISE_CONFORMANCE_FAKE_MUTANTS_FAULTY_PARTS_H_
#define REPRISE_CONFORMANCE_FAKE_MUTANTS_FAULTY_PARTS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "conformance/fake/mutants/wraps.h"

namespace reprise::conformance::fake {

// Permutes the epoch by `key(epoch, epoch of the resume)` (an epoch and an
// addition to the seed) instead of by the epoch and the seed.
struct OrderKey {
  uint64_t epoch = 0;
  uint64_t seed_addition = 0;
};
Customise OrderBy(std::function<OrderKey(uint64_t epoch, uint64_t resumed)>);

// Computes in another precision than the state's flags say.
Customise ComputeIn(std::string precision);

// The first unscaling after a resume multiplies the gradients again by
// scale^power: 1 leaves them scaled, -1 unscales them twice.
Customise UnscaleWrongOnce(int power);

// From a resume on, the part works on an object that nobody else sees.
Customise StaleScaler();
Customise StaleSchedule();
Customise StaleOptimizer();
Customise StaleEma();

// The run ends `early` attempted steps before (or, negative, after) the plan
// when it resumed and `applies` to the loaded state.
Customise EndEarly(std::function<int64_t(const State& loaded)> early);

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_MUTANTS_FAULTY_PARTS_H_
