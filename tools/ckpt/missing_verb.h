// Says what a checkpoint lacks for a resume level.
#ifndef REPRISE_TOOLS_CKPT_MISSING_VERB_H_
#define REPRISE_TOOLS_CKPT_MISSING_VERB_H_

#include "tools/ckpt/verb.h"

namespace reprise::ckpt {

Verb MissingVerb();

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_MISSING_VERB_H_
