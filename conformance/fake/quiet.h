// What a quiet testee tells (--quiet): step, loss and learning rate, and no
// digests.
#ifndef REPRISE_CONFORMANCE_FAKE_QUIET_H_
#define REPRISE_CONFORMANCE_FAKE_QUIET_H_

#include "conformance/protocol/messages.h"

namespace reprise::conformance::fake {

// Takes everything else out of `event`; false: nothing of it is told.
bool ReduceToQuiet(Event* event);

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_QUIET_H_
