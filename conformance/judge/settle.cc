#include "conformance/judge/settle.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "conformance/judge/finding.h"
#include "format/vocabulary.h"

namespace reprise::conformance {
namespace {

std::set<std::string> ReadingsOf(const v1::Finding& finding) {
  if (finding.readings_size() > 0) {
    return {finding.readings().begin(), finding.readings().end()};
  }
  return {reprise::TextOf(finding.names(0).fault())};
}

bool OfOneItem(const v1::Finding& finding) {
  for (const v1::FaultName& name : finding.names()) {
    if (name.item() != finding.names(0).item()) return false;
  }
  return finding.names_size() > 0 && finding.ground() == v1::Finding::DIGEST;
}

void SettleItem(const std::vector<v1::Finding*>& findings) {
  std::optional<std::set<std::string>> common;
  bool open = false;
  for (const v1::Finding* finding : findings) {
    const std::set<std::string> readings = ReadingsOf(*finding);
    open |= readings.size() > 1;
    if (!common.has_value()) {
      common = readings;
      continue;
    }
    std::set<std::string> both;
    std::set_intersection(common->begin(), common->end(), readings.begin(),
                          readings.end(), std::inserter(both, both.end()));
    common = both;
  }
  if (!open || !common.has_value() || common->size() != 1) return;
  const std::string reading = *common->begin();
  const std::optional<Fault> fault =
      ParseText<Fault>(reading.substr(0, reading.find(' ')));
  if (!fault.has_value()) return;
  for (v1::Finding* finding : findings) {
    const v1::FaultName& name = finding->names(0);
    const Item item = name.item();
    finding->clear_names();
    finding->add_names()->set_item(item);
    finding->mutable_names(0)->set_fault(*fault);
  }
}

}  // namespace

void SettleReadings(const std::vector<v1::Finding*>& findings) {
  std::map<Item, std::vector<v1::Finding*>> by_item;
  for (v1::Finding* finding : findings) {
    if (OfOneItem(*finding)) {
      by_item[finding->names(0).item()].push_back(finding);
    }
  }
  for (const auto& [item, same] : by_item) SettleItem(same);
}

void SettleAcrossCases(v1::Report* report) {
  std::vector<v1::Finding*> findings;
  for (v1::CaseResult& result : *report->mutable_results()) {
    for (v1::Finding& finding : *result.mutable_verdict()->mutable_findings()) {
      findings.push_back(&finding);
    }
  }
  SettleReadings(findings);
  for (v1::CaseResult& result : *report->mutable_results()) {
    v1::Verdict* verdict = result.mutable_verdict();
    if (verdict->outcome() == v1::FAIL && verdict->findings_size() > 0) {
      verdict->set_summary(
          absl::StrCat("lost: ", absl::StrJoin(NamesOf(*verdict), ", ")));
    }
  }
}

}  // namespace reprise::conformance
