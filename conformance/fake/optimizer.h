// The right optimizer: AdamW or SGD with momentum, as the state's kind says;
// per-parameter state by name; frozen parameters are left alone.
#ifndef REPRISE_CONFORMANCE_FAKE_OPTIMIZER_H_
#define REPRISE_CONFORMANCE_FAKE_OPTIMIZER_H_

#include <memory>

#include "conformance/fake/parts.h"

namespace reprise::conformance::fake {

std::unique_ptr<Optimizer> MakeOptimizer();

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_OPTIMIZER_H_
