// ckpt export: a checkpoint as a file of torch.save or safetensors.
#ifndef REPRISE_TOOLS_CKPT_EXPORT_VERB_H_
#define REPRISE_TOOLS_CKPT_EXPORT_VERB_H_

#include "tools/ckpt/verb.h"

namespace reprise::ckpt {

Verb ExportVerb();

}  // namespace reprise::ckpt

#endif  // REPRISE_TOOLS_CKPT_EXPORT_VERB_H_
