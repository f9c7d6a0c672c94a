// ckpt import: somebody else's checkpoint becomes one of ours.
#ifndef REPRISE_TOOLS_CKPT_IMPORT_VERB_H_
#define REPRISE_TOOLS_CKPT_IMPORT_VERB_H_

#include "tools/ckpt/verb.h"

namespace reprise::ckpt {

Verb ImportVerb();

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_IMPORT_VERB_H_
