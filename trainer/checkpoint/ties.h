// Which tensors are one storage under several names (model.ties).
//
//   reprise::TiesOf(model->Parameters());  // {{"embed.weight", "head.weight"}}
//
// Thread-safe.
#ifndef REPRISE_TRAINER_CHECKPOINT_TIES_H_
#define REPRISE_TRAINER_CHECKPOINT_TIES_H_

#include <string>
#include <vector>

#include "format/snapshot.h"
#include "trainer/model/model.h"

namespace reprise {

// Groups of two and more names, each group and the list sorted.
using Ties = std::vector<std::vector<std::string>>;

// Of live tensors: those that begin at one address.
Ties TiesOf(const std::vector<NamedTensor>& live);
// Of tensors as a checkpoint gave them: those that share their bytes, or are
// said to be of one storage.
Ties TiesOf(const std::vector<Tensor>& saved);

}  // namespace reprise

#endif  // REPRISE_TRAINER_CHECKPOINT_TIES_H_
