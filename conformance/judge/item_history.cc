#include "conformance/judge/item_history.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "conformance/judge/item_digest.h"

namespace reprise::conformance {

ItemHistory::ItemHistory(const Context& context, const Lineage& lineage,
                         size_t index) {
  for (const Timeline& baseline : context.baselines) {
    if (initial_.empty()) initial_ = baseline.before_forward;
    for (const SaveRecord& save : baseline.saves) {
      if (save.step == 0 && save.micro == 0 && initial_.empty()) {
        initial_ = save.digests;
      }
      Remember(save.step, save.digests);
    }
  }
  initial_known_ = !initial_.empty();
  if (!context.baselines.empty()) AddFirstValues(context.baselines[0]);
  for (size_t i = 0; i < index; ++i) {
    const Timeline& attempt = lineage.attempts[i];
    if (initial_.empty() && lineage.resumes[i].fresh) {
      initial_ = attempt.before_forward;
    }
    for (const SaveRecord& save : attempt.saves) {
      Remember(save.step, save.digests);
    }
  }
}

bool ItemHistory::IsInitial(Item item, const v1::ItemDigest& found) const {
  auto initial = initial_.find(item);
  return initial != initial_.end() && SameDigest(initial->second, found);
}

bool ItemHistory::MovedTo(Item item, const v1::ItemDigest& found) const {
  auto initial = initial_.find(item);
  return initial != initial_.end() && !SameDigest(initial->second, found);
}

std::optional<uint64_t> ItemHistory::SavedAt(Item item,
                                             const v1::ItemDigest& found,
                                             uint64_t step) const {
  std::optional<uint64_t> nearest;
  auto known = history_.find(item);
  if (found.digest().empty() || known == history_.end()) return nearest;
  for (const auto& [at, digest] : known->second) {
    if (at == step || digest.digest() != found.digest()) continue;
    if (!nearest.has_value() ||
        StepDistance(at, step) < StepDistance(*nearest, step)) {
      nearest = at;
    }
  }
  return nearest;
}

void ItemHistory::Remember(uint64_t step, const Digests& digests) {
  for (const auto& [item, digest] : digests) {
    if (!digest.digest().empty()) {
      history_[item].emplace_back(step, digest);
    }
  }
}

// Where the testee gives no digests of a fresh start: generators before step
// 1 from its record, and from the first save what moves only now and then.
void ItemHistory::AddFirstValues(const Timeline& baseline) {
  if (!baseline.steps.empty()) {
    for (const std::string& entry : baseline.steps[0].rng()) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(entry, absl::MaxSplits('=', 1));
      v1::ItemDigest digest;
      digest.set_item(absl::StartsWith(parts.first, "cpu")    ? Item::RNG_CPU
                      : absl::StartsWith(parts.first, "cuda") ? Item::RNG_CUDA
                                                              : Item::RNG_DATA);
      digest.set_digest(parts.second);
      initial_.try_emplace(digest.item(), digest);
    }
  }
  if (baseline.saves.empty()) return;
  for (const auto& [item, digest] : baseline.saves.front().digests) {
    if (item == Item::BEST || item == Item::EARLY_STOP ||
        item == Item::SCHED_STATE || item == Item::FROZEN_FLAGS ||
        item == Item::EVAL) {
      initial_.try_emplace(item, digest);
    }
  }
}

}  // namespace reprise::conformance
