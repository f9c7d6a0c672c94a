// Compares two checkpoints.
#ifndef REPRISE_TOOLS_CKPT_DIFF_VERB_H_
#define REPRISE_TOOLS_CKPT_DIFF_VERB_H_

#include "tools/ckpt/verb.h"

namespace reprise::ckpt {

Verb DiffVerb();

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_DIFF_VERB_H_
