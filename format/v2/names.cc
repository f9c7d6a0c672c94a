#include "format/v2/names.h"

#include "absl/strings/str_cat.h"
#include "format/refusal.h"
#include "format/utf8.h"
#include "format/v2/limits.h"

namespace reprise {

absl::Status CheckNameV2(absl::string_view what, absl::string_view name) {
  if (name.empty()) {
    return MakeRefusal(Refusal::MISSING_ITEM,
                       absl::StrCat("a ", what, " without a name"));
  }
  if (name.size() > kV2MaxNameBytes) {
    return MakeRefusal(
        Refusal::LIMIT,
        absl::StrCat("a ", what, "'s name has ", name.size(),
                     " bytes, at most ", kV2MaxNameBytes, " are allowed"));
  }
  if (name.find('\0') != absl::string_view::npos) {
    return MakeRefusal(Refusal::INVALID_VALUE,
                       absl::StrCat("a ", what, "'s name contains NUL"));
  }
  if (!IsUtf8(name)) {
    return MakeRefusal(Refusal::INVALID_VALUE,
                       absl::StrCat("a ", what, "'s name is not UTF-8"));
  }
  return absl::OkStatus();
}

void PackName(absl::string_view name, checkpoint::v2::Names* names) {
  names->mutable_text()->append(name.data(), name.size());
  names->add_lengths(static_cast<uint32_t>(name.size()));
}

void PackNames(const std::vector<std::string>& list,
               checkpoint::v2::Names* names) {
  for (const std::string& name : list) PackName(name, names);
}

absl::StatusOr<std::vector<std::string>> UnpackNames(
    absl::string_view what, const checkpoint::v2::Names& names) {
  uint64_t total = 0;
  for (uint32_t length : names.lengths()) total += length;
  if (total != names.text().size()) {
    return MakeRefusal(
        Refusal::CORRUPT,
        absl::StrCat(what, ": the lengths add up to ", total, ", the text has ",
                     names.text().size(), " bytes"));
  }
  std::vector<std::string> list;
  list.reserve(names.lengths_size());
  size_t position = 0;
  for (uint32_t length : names.lengths()) {
    list.push_back(names.text().substr(position, length));
    position += length;
  }
  return list;
}

}  // namespace reprise
