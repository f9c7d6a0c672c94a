#include "format/inventory.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "format/refusal.h"
#include "format/v1/items.h"
#include "format/v2/items.h"

namespace reprise {
namespace {

// The weakest level that needs the item; UNSPECIFIED: none does.
ResumeLevel WeakestLevelThatNeeds(Item item) {
  switch (item) {
    case Item::MODEL_PARAMS:
    case Item::MODEL_BUFFERS:
    case Item::MODEL_TIES:
    case Item::FROZEN_FLAGS:
    case Item::MODE:
    case Item::OPTIM_KIND:
    case Item::OPTIM_GROUPS:
    case Item::OPTIM_MOMENTS:
    case Item::OPTIM_STEP:
    case Item::OPTIM_IDENTITY:
    case Item::OPTIM_DTYPE:
    case Item::MASTER:
    case Item::SCHED_DEFINITION:
    case Item::SCHED_POSITION:
    case Item::SCHED_UNIT:
    case Item::SCHED_HORIZON:
    case Item::SCHED_BASE:
    case Item::SCHED_APPLIED:
    case Item::SCHED_STATE:
    case Item::SCALER_SCALE:
    case Item::SCALER_GROWTH_TRACKER:
    case Item::SCALER_CONFIG:
    case Item::EMA_WEIGHTS:
    case Item::EMA_UPDATES:
    case Item::EMA_CONFIG:
    case Item::CLIP:
    case Item::COUNTERS_STEP:
    case Item::COUNTERS_APPLIED:
    case Item::COUNTERS_SKIPPED:
    case Item::COUNTERS_SAMPLES:
    case Item::CONFIG:
      return ResumeLevel::STATISTICAL;
    case Item::SAMPLER_ALGORITHM:
    case Item::SAMPLER_SEED:
    case Item::SAMPLER_CURSOR:
    case Item::SAMPLER_ORDER:
    case Item::DATA_FINGERPRINT:
    case Item::DATA_BATCH:
    case Item::LOADER_INFLIGHT:
    case Item::RNG_DATA:
    case Item::ACCUM_COUNT:
    case Item::ACCUM_GRADS:
    case Item::EVAL:
    case Item::BEST:
    case Item::EARLY_STOP:
      return ResumeLevel::SAME_ORDER;
    case Item::RNG_CPU:
    case Item::RNG_CUDA:
    case Item::PRECISION_FLAGS:
    case Item::ENVIRONMENT:
      return ResumeLevel::BITWISE;
    default:
      return vocab::RESUME_LEVEL_UNSPECIFIED;
  }
}

bool KnownToV1(Item item) {
  for (Item known : ItemsOfV1()) {
    if (known == item) return true;
  }
  return false;
}

}  // namespace

std::set<Item> ItemsNeededFor(ResumeLevel level) {
  std::set<Item> items;
  for (Item item : ItemsOfV2()) {
    const ResumeLevel weakest = WeakestLevelThatNeeds(item);
    // Stronger levels have lower numbers and need what weaker ones need.
    if (weakest != vocab::RESUME_LEVEL_UNSPECIFIED && weakest >= level) {
      items.insert(item);
    }
  }
  return items;
}

std::vector<LackingItem> LackingFor(const Snapshot& snapshot,
                                    ResumeLevel level) {
  std::vector<LackingItem> lacking;
  for (Item item : ItemsNeededFor(level)) {
    const ItemRecord* record = snapshot.Find(item);
    if (record == nullptr) {
      lacking.push_back({item, Presence::PRESENCE_UNSPECIFIED,
                         KnownToV1(item) ? "there is no record of it"
                                         : "not recorded by version 1"});
    } else if (record->presence == Presence::PRESENCE_OMITTED) {
      lacking.push_back({item, record->presence, record->reason});
    }
  }
  return lacking;
}

absl::Status RequireFor(const Snapshot& snapshot, ResumeLevel level,
                        const std::set<Item>& accepted) {
  std::vector<std::string> named;
  for (const LackingItem& lacking : LackingFor(snapshot, level)) {
    if (accepted.count(lacking.item) > 0) continue;
    named.push_back(
        absl::StrCat(TextOf(lacking.item), " (", lacking.reason, ")"));
  }
  if (named.empty()) return absl::OkStatus();
  return MakeRefusal(
      Refusal::MISSING_ITEM,
      absl::StrCat("for resuming at ", TextOf(level),
                   " the checkpoint lacks: ", absl::StrJoin(named, ", ")));
}

ResumeLevel HighestLevel(const Snapshot& snapshot) {
  for (ResumeLevel level : {ResumeLevel::BITWISE, ResumeLevel::SAME_ORDER,
                            ResumeLevel::STATISTICAL}) {
    if (LackingFor(snapshot, level).empty()) return level;
  }
  return vocab::RESUME_LEVEL_UNSPECIFIED;
}

}  // namespace reprise
