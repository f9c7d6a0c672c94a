// Shows what is in a checkpoint.
#ifndef REPRISE_TOOLS_CKPT_SHOW_VERB_H_
#define REPRISE_TOOLS_CKPT_SHOW_VERB_H_

#include "tools/ckpt/verb.h"

namespace reprise::ckpt {

Verb ShowVerb();

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_SHOW_VERB_H_
