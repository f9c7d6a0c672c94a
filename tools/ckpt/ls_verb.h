// Lists the checkpoints of a run folder.
#ifndef REPRISE_TOOLS_CKPT_LS_VERB_H_
#define REPRISE_TOOLS_CKPT_LS_VERB_H_

#include "tools/ckpt/verb.h"

namespace reprise::ckpt {

Verb LsVerb();

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_LS_VERB_H_
