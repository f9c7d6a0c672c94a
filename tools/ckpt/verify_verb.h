// Reads every byte of checkpoints and names all damage.
#ifndef REPRISE_TOOLS_CKPT_VERIFY_VERB_H_
#define REPRISE_TOOLS_CKPT_VERIFY_VERB_H_

#include "tools/ckpt/verb.h"

namespace reprise::ckpt {

Verb VerifyVerb();

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_VERIFY_VERB_H_
