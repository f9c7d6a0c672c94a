// Refusals of version 2 that name an item, in one form.
#ifndef REPRISE_FORMAT_V2_PROBLEM_H_
#define REPRISE_FORMAT_V2_PROBLEM_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "format/refusal.h"
#include "format/vocabulary.h"

namespace reprise {
namespace v2_internal {

inline absl::Status Missing(Item item, absl::string_view what) {
  return MakeRefusal(Refusal::MISSING_ITEM,
                     absl::StrCat(TextOf(item), ": ", what));
}

inline absl::Status Invalid(Item item, absl::string_view what) {
  return MakeRefusal(Refusal::INVALID_VALUE,
                     absl::StrCat(TextOf(item), ": ", what));
}

}  // namespace v2_internal
}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_PROBLEM_H_
