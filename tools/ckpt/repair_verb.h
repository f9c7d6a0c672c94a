// Puts a run folder in order after a crash.
#ifndef REPRISE_TOOLS_CKPT_REPAIR_VERB_H_
#define REPRISE_TOOLS_CKPT_REPAIR_VERB_H_

#include "tools/ckpt/verb.h"

namespace reprise::ckpt {

Verb RepairVerb();

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_REPAIR_VERB_H_
