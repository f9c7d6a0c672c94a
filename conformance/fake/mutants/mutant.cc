#include "conformance/fake/mutants/mutant.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "conformance/fake/mutants/tables.h"

namespace reprise::conformance::fake {

absl::string_view Name(Shows shows) {
  switch (shows) {
    case Shows::kFirstResume:
      return "first resume";
    case Shows::kSecondResume:
      return "second resume";
    case Shows::kLaterEpoch:
      return "later epoch";
    case Shows::kEpochEnd:
      return "epoch end";
    case Shows::kMidAccumulation:
      return "mid accumulation";
    case Shows::kRunEnd:
      return "run end";
  }
  return "";
}

namespace {

// Late enough for two checkpoints before it, never at a multiple of the save
// interval, so that steps are done again.
std::vector<uint64_t> UsualKillSteps(const Mutant& mutant) {
  switch (mutant.shows) {
    case Shows::kSecondResume:
      return {63, 77};
    case Shows::kLaterEpoch:
      return {153};
    case Shows::kEpochEnd:
      return {101};
    case Shows::kMidAccumulation:
      return {40};
    case Shows::kFirstResume:
    case Shows::kRunEnd:
      break;
  }
  if (mutant.workload == "T1") return {34};
  // Where evaluations have stopped improving.
  if (mutant.workload == "T0.plateau") return {223};
  return {63};
}

}  // namespace

const std::vector<Mutant>& Mutants() {
  static const auto* mutants = [] {
    auto* all = new std::vector<Mutant>;
    AddModelMutants(all);
    AddOptimizerMutants(all);
    AddScheduleAndScalerMutants(all);
    AddDataMutants(all);
    AddRunMutants(all);
    for (Mutant& mutant : *all) mutant.kill_steps = UsualKillSteps(mutant);
    std::sort(all->begin(), all->end(),
              [](const Mutant& a, const Mutant& b) { return a.id < b.id; });
    return all;
  }();
  return *mutants;
}

const Mutant* FindMutant(absl::string_view id) {
  for (const Mutant& mutant : Mutants()) {
    if (mutant.id == id) return &mutant;
  }
  return nullptr;
}

absl::StatusOr<std::vector<std::vector<Finding>>> ParseExpected(
    absl::string_view expected) {
  std::vector<std::vector<Finding>> all;
  if (expected.empty()) return all;
  for (absl::string_view needed : absl::StrSplit(expected, '+')) {
    std::vector<Finding> any;
    for (absl::string_view one : absl::StrSplit(needed, '/')) {
      const std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(absl::StripAsciiWhitespace(one), ':');
      const auto item = ParseText<Item>(parts.first);
      const auto fault = ParseText<Fault>(parts.second);
      if (!item.has_value() || !fault.has_value()) {
        return absl::InvalidArgumentError(
            absl::StrCat("expected item:FAULT, found \"", one, "\""));
      }
      any.push_back({*item, *fault});
    }
    all.push_back(std::move(any));
  }
  return all;
}

absl::StatusOr<std::vector<const Mutant*>> FindMutants(absl::string_view ids) {
  std::vector<const Mutant*> found;
  for (absl::string_view id : absl::StrSplit(ids, ',')) {
    found.push_back(FindMutant(id));
    if (found.back() == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no mutant \"", id, "\"; --list names all"));
    }
  }
  return found;
}

}  // namespace reprise::conformance::fake
