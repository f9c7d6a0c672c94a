#include "trainer/optim/frozen.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "re2/re2.h"

namespace reprise {

absl::Status FreezeByPattern(const std::vector<NamedTensor>& parameters,
                             const std::string& pattern) {
  const re2::RE2 re(pattern, re2::RE2::Quiet);
  if (!re.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("frozen parameters: expected an RE2 pattern, found ",
                     pattern, " (", re.error(), ")"));
  }
  std::vector<bool> frozen;
  for (const NamedTensor& p : parameters) {
    frozen.push_back(!pattern.empty() && re2::RE2::PartialMatch(p.name, re));
  }
  const auto count = std::count(frozen.begin(), frozen.end(), true);
  if (!pattern.empty() &&
      (count == 0 || count == static_cast<int64_t>(frozen.size()))) {
    return absl::InvalidArgumentError(
        absl::StrCat("frozen parameters: expected some of the ", frozen.size(),
                     " parameters to have ", pattern, " in their name, found ",
                     count == 0 ? "none" : "all"));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor tensor = parameters[i].tensor;
    tensor.set_requires_grad(!frozen[i]);
  }
  return absl::OkStatus();
}

std::vector<std::string> FrozenNames(
    const std::vector<NamedTensor>& parameters) {
  std::vector<std::string> names;
  for (const NamedTensor& p : parameters) {
    if (!p.tensor.requires_grad()) names.push_back(p.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace reprise
