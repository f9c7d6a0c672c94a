// Removes checkpoints that a policy does not keep.
#ifndef REPRISE_TOOLS_CKPT_PRUNE_VERB_H_
#define REPRISE_TOOLS_CKPT_PRUNE_VERB_H_

#include "tools/ckpt/verb.h"

namespace reprise::ckpt {

Verb PruneVerb();

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_PRUNE_VERB_H_
