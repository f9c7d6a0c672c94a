#include "conformance/judge/save_attribution.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "conformance/judge/causes.h"
#include "conformance/judge/item_digest.h"
#include "conformance/judge/item_kinds.h"

namespace reprise::conformance {
namespace {

bool Contaminated(Item item, const std::vector<v1::Finding>& known) {
  for (const v1::Finding& finding : known) {
    for (const v1::FaultName& name : finding.names()) {
      if (Contaminates(name.item(), name.fault(), item)) return true;
    }
  }
  return false;
}

// Several steps of the attempt, none of them skipped, came before `step`.
bool AppliedSince(const Timeline& attempt, uint64_t step) {
  uint64_t applied = 0;
  for (const v1::StepEvent& record : attempt.steps) {
    if (record.step() <= step) applied += !record.skipped();
  }
  return applied >= 2;
}

}  // namespace

std::vector<v1::Finding> AttributeSaves(const Context& context,
                                        const Lineage& lineage, size_t index,
                                        const std::vector<v1::Finding>& known,
                                        bool always_moving) {
  std::vector<v1::Finding> findings;
  const Timeline& attempt = lineage.attempts[index];
  if (context.baselines.empty() || lineage.resumes[index].fresh)
    return findings;
  // Under noise what may rest may rest longer.
  if (context.noise.Noisy() && !always_moving) return findings;
  std::set<Item> named;
  for (const SaveRecord& save : attempt.saves) {
    for (const SaveRecord& reference : context.baselines[0].saves) {
      if (reference.step != save.step || reference.micro != save.micro) {
        continue;
      }
      const bool applied = AppliedSince(attempt, save.step);
      for (const auto& [item, found] : save.digests) {
        auto expected = reference.digests.find(item);
        auto loaded = attempt.after_load.find(item);
        if (IsIgnored(item) || item == Item::BEST || item == Item::EARLY_STOP ||
            IsSetting(item) || !applied ||
            expected == reference.digests.end() ||
            loaded == attempt.after_load.end() ||
            !context.noise.ItemExact(item) ||
            SameDigest(found, expected->second) ||
            !SameDigest(found, loaded->second) ||
            AlwaysMoves(item) != always_moving ||
            (!always_moving && Contaminated(item, known)) ||
            (item == Item::MODEL_BUFFERS && NamesAny(known, {Item::MODE})) ||
            !named.insert(item).second) {
          continue;
        }
        findings.push_back(MakeFinding(
            {Name(item, Fault::FAULT_STICKY)}, v1::Finding::DIGEST, index + 1,
            save.step, "digest at save",
            absl::StrCat("attempt ", index + 1, ": ", reprise::TextOf(item),
                         " saved at step ", save.step,
                         " is still the one that was loaded")));
      }
    }
  }
  return findings;
}

}  // namespace reprise::conformance
