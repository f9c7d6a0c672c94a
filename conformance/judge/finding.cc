#include "conformance/judge/finding.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace reprise::conformance {

v1::FaultName Name(Item item, Fault fault) {
  v1::FaultName name;
  name.set_item(item);
  name.set_fault(fault);
  return name;
}

std::string TextOf(const v1::FaultName& name) {
  return absl::StrCat(reprise::TextOf(name.item()), ":",
                      reprise::TextOf(name.fault()));
}

std::string NameOf(const v1::Finding& finding) {
  return absl::StrJoin(finding.names(), " or ",
                       [](std::string* out, const v1::FaultName& name) {
                         absl::StrAppend(out, TextOf(name));
                       });
}

std::string NamesText(const v1::Finding& finding) {
  std::string text = NameOf(finding);
  if (finding.names_size() > 1) text += " (cannot tell)";
  return text;
}

bool Names(const v1::Finding& finding, Item item) {
  return std::any_of(
      finding.names().begin(), finding.names().end(),
      [item](const v1::FaultName& name) { return name.item() == item; });
}

bool NamesAny(const std::vector<v1::Finding>& findings,
              std::initializer_list<Item> items) {
  for (const v1::Finding& finding : findings) {
    for (Item item : items) {
      if (Names(finding, item)) return true;
    }
  }
  return false;
}

v1::Finding MakeFinding(std::vector<v1::FaultName> names,
                        v1::Finding::Ground ground, uint32_t attempt,
                        uint64_t onset_step, std::string channel,
                        std::string evidence) {
  v1::Finding finding;
  for (v1::FaultName& name : names) *finding.add_names() = std::move(name);
  finding.set_ground(ground);
  finding.set_attempt(attempt);
  finding.set_onset_step(onset_step);
  finding.set_channel(std::move(channel));
  finding.set_evidence(std::move(evidence));
  return finding;
}

std::vector<std::string> NamesOf(const v1::Verdict& verdict) {
  std::set<std::string> names;
  for (const v1::Finding& finding : verdict.findings()) {
    names.insert(NameOf(finding));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace reprise::conformance
