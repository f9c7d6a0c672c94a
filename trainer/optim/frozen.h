// Frozen parameters: those that take no gradient.
//
//   absl::Status status =
//       reprise::FreezeByPattern(model->Parameters(), "^(conv1|norm1)\\.");
//   ...
//   snapshot.frozen = reprise::FrozenNames(model->Parameters());
//
// They stay in their groups: without a gradient the optimizer leaves them and
// their moments alone, and once they are trained again it goes on where it was.
// Buffers are not parameters: a frozen batch norm still counts its statistics.
#ifndef REPRISE_TRAINER_OPTIM_FROZEN_H_
#define REPRISE_TRAINER_OPTIM_FROZEN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainer/model/model.h"

namespace reprise {

// Freezes the parameters in whose name the RE2 pattern is found, and thaws all
// others; an empty pattern thaws all. Errors (nothing is changed then):
// InvalidArgument when RE2 refuses the pattern, when no parameter has it, or
// when every one does, so that nothing would be trained.
absl::Status FreezeByPattern(const std::vector<NamedTensor>& parameters,
                             const std::string& pattern);

// Names of the frozen ones, sorted, as the checkpoint has them.
std::vector<std::string> FrozenNames(
    const std::vector<NamedTensor>& parameters);

}  // namespace reprise

#endif  // REPRISE_TRAINER_OPTIM_FROZEN_H_
