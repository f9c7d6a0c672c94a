// Lists of names as version 2 stores them: one string and the lengths.
// Thread-safe.
#ifndef REPRISE_FORMAT_V2_NAMES_H_
#define REPRISE_FORMAT_V2_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "reprise/spec/v2/tensors.pb.h"

namespace reprise {

// A name of the user's: UTF-8, not empty, within the limit, without NUL.
// Errors: MISSING_ITEM, LIMIT, INVALID_VALUE; `what` is "tensor", "group", ...
absl::Status CheckNameV2(absl::string_view what, absl::string_view name);

void PackName(absl::string_view name, checkpoint::v2::Names* names);
void PackNames(const std::vector<std::string>& list,
               checkpoint::v2::Names* names);

// Errors: CORRUPT when lengths and text do not fit each other; `what` names the
// list.
absl::StatusOr<std::vector<std::string>> UnpackNames(
    absl::string_view what, const checkpoint::v2::Names& names);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_NAMES_H_
