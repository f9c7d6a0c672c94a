// What the files that implement ValidateForV1 share.
#ifndef REPRISE_FORMAT_V1_VALIDATE_INTERNAL_H_
#define REPRISE_FORMAT_V1_VALIDATE_INTERNAL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "format/refusal.h"
#include "format/snapshot.h"

namespace reprise {
namespace v1_internal {

inline absl::Status Missing(Item item, absl::string_view what) {
  return MakeRefusal(Refusal::MISSING_ITEM,
                     absl::StrCat(TextOf(item), ": ", what));
}

inline absl::Status Invalid(Item item, absl::string_view what) {
  return MakeRefusal(Refusal::INVALID_VALUE,
                     absl::StrCat(TextOf(item), ": ", what));
}

// Name of a tensor, parameter, group or generator: not empty, within the
// limit, no NUL.
absl::Status CheckName(Item item, absl::string_view kind,
                       absl::string_view name);

// Name, shape and that there are bytes where the shape has elements.
absl::Status CheckTensor(Item item, const Tensor& tensor);

// Items whose value the whole of one message holds: data and SAVED go together.
absl::Status CheckGroupPresence(const Snapshot& snapshot,
                                const std::vector<Item>& items, bool has_data,
                                absl::string_view data);

// Everything about the optimizer (validate_optimizer.cc).
absl::Status ValidateOptimizer(const Snapshot& snapshot);

// The other values (validate_values.cc).
absl::Status ValidateSchedule(const Snapshot& snapshot);
absl::Status ValidateScaler(const Snapshot& snapshot);
absl::Status ValidateSampler(const Snapshot& snapshot);
absl::Status ValidateGenerators(const Snapshot& snapshot);
absl::Status ValidateConfig(const Snapshot& snapshot);
absl::Status ValidateEnvironment(const Snapshot& snapshot);

}  // namespace v1_internal
}  // namespace reprise

#endif  // REPRISE_FORMAT_V1_VALIDATE_INTERNAL_H_
