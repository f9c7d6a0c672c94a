// Stores of the fake trainer that choose, write or report wrongly.
#ifndef REPRISE_CONFORMANCE_FAKE_MUTANTS_FAULTY_STORES_H_
#define REPRISE_CONFORMANCE_FAKE_MUTANTS_FAULTY_STORES_H_

#include "conformance/fake/mutants/wraps.h"

namespace reprise::conformance::fake {

// Loads the newest checkpoint but one.
Customise ChooseSecondNewest();
// Loads the last by name order of numbers without leading zeros (step-90 after
// step-100).
Customise ChooseByName();
// Puts everything aside and starts from scratch.
Customise StartFromScratch();
// From a resume on, says that saves succeed and writes nothing.
Customise SwallowSaves();
// From a resume on, says that the newest checkpoint is the best one.
Customise MarkNewestAsBest();
// Writes a checkpoint one step after it was asked to, half of the parameters
// by their values then: a background save without a copy.
Customise SaveLiveTensors();

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_MUTANTS_FAULTY_STORES_H_
