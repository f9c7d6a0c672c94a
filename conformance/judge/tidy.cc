#include "conformance/judge/tidy.h"

#include <algorithm>
#include <utility>

#include "conformance/judge/settle.h"

namespace reprise::conformance {
namespace {

// Removes the findings whose only name is such a one.
template <typename F>
void Drop(std::vector<v1::Finding>* findings, F condition) {
  findings->erase(std::remove_if(findings->begin(), findings->end(),
                                 [&](const v1::Finding& finding) {
                                   return finding.names_size() == 1 &&
                                          condition(finding.names(0));
                                 }),
                  findings->end());
}

}  // namespace

void TidyFindings(const Context& context, std::vector<v1::Finding>* findings) {
  std::vector<v1::Finding*> all;
  for (v1::Finding& finding : *findings) all.push_back(&finding);
  SettleReadings(all);
  std::vector<v1::Finding> kept;
  // Sharp ones first, in order of appearance.
  std::stable_sort(findings->begin(), findings->end(),
                   [](const v1::Finding& a, const v1::Finding& b) {
                     return (a.names_size() > 1) < (b.names_size() > 1);
                   });
  for (v1::Finding& finding : *findings) {
    bool merged = false;
    for (v1::Finding& known : kept) {
      const bool same = NamesText(known) == NamesText(finding);
      bool covered = false;
      if (finding.names_size() > 1) {
        for (const v1::FaultName& name : known.names()) {
          covered |= Names(finding, name.item());
        }
      }
      if (!same && !covered) continue;
      if (finding.attempt() != known.attempt() &&
          std::find(known.again_in_attempts().begin(),
                    known.again_in_attempts().end(),
                    finding.attempt()) == known.again_in_attempts().end()) {
        known.add_again_in_attempts(finding.attempt());
      }
      merged = true;
      break;
    }
    if (!merged) kept.push_back(std::move(finding));
  }
  *findings = std::move(kept);
  // Parts that follow from a whole, in whichever resume it was seen.
  if (NamesAny(*findings, {Item::OPTIM_DTYPE})) {
    Drop(findings, [](const v1::FaultName& name) {
      return name.item() == Item::OPTIM_MOMENTS;
    });
  }
  if (NamesAny(*findings, {Item::DATA_FINGERPRINT, Item::DATA_BATCH,
                           Item::SAMPLER_SEED})) {
    Drop(findings, [](const v1::FaultName& name) {
      return name.item() == Item::SAMPLER_ORDER;
    });
  }
  // Checkpoints that were said to be durable and are not there cannot have
  // been passed over.
  if (NamesAny(*findings, {Item::SAVE})) {
    Drop(findings, [](const v1::FaultName& name) {
      return name.item() == Item::SOURCE && name.fault() == Fault::FAULT_STALE;
    });
  }
  if (std::any_of(findings->begin(), findings->end(),
                  [](const v1::Finding& finding) {
                    return finding.names_size() == 1 &&
                           finding.names(0).fault() == Fault::FAULT_NONFINITE;
                  })) {
    Drop(findings, [](const v1::FaultName& name) {
      return name.item() == Item::RUN && name.fault() != Fault::FAULT_NONFINITE;
    });
  }
  // Ends that other names explain.
  const bool moved_end =
      NamesAny(*findings, {Item::COUNTERS_STEP, Item::DATA_BATCH,
                           Item::DATA_FINGERPRINT}) ||
      std::any_of(findings->begin(), findings->end(),
                  [](const v1::Finding& finding) {
                    return finding.names_size() == 1 &&
                           finding.names(0).fault() == Fault::FAULT_EPOCH_END;
                  });
  // A run that stops early by a rule ends elsewhere when its losses do.
  const bool by_rule =
      !context.baselines.empty() && context.workload.planned_steps != 0 &&
      context.baselines[0].last_step() < context.workload.planned_steps &&
      std::any_of(findings->begin(), findings->end(),
                  [](const v1::Finding& finding) {
                    return finding.ground() != v1::Finding::LINEAGE;
                  });
  if (moved_end || by_rule) {
    findings->erase(std::remove_if(findings->begin(), findings->end(),
                                   [](const v1::Finding& finding) {
                                     return finding.ground() ==
                                                v1::Finding::LINEAGE &&
                                            finding.channel() == kEndOfTheRun &&
                                            !Names(finding, Item::SAVE);
                                   }),
                    findings->end());
  }
  std::stable_sort(findings->begin(), findings->end(),
                   [](const v1::Finding& a, const v1::Finding& b) {
                     return std::make_pair(a.attempt(), a.onset_step()) <
                            std::make_pair(b.attempt(), b.onset_step());
                   });
}

}  // namespace reprise::conformance
