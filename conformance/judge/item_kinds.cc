#include "conformance/judge/item_kinds.h"

namespace reprise::conformance {

bool IsTensors(Item item) {
  return item == Item::MODEL_PARAMS || item == Item::MODEL_BUFFERS ||
         item == Item::OPTIM_MOMENTS || item == Item::EMA_WEIGHTS ||
         item == Item::ACCUM_GRADS;
}

bool IsGenerator(Item item) {
  return item == Item::RNG_CPU || item == Item::RNG_CUDA ||
         item == Item::RNG_DATA;
}

bool IsCount(Item item) {
  return item == Item::SCHED_POSITION || item == Item::SAMPLER_CURSOR ||
         item == Item::OPTIM_STEP || item == Item::EMA_UPDATES ||
         item == Item::COUNTERS_STEP || item == Item::COUNTERS_APPLIED ||
         item == Item::COUNTERS_SKIPPED || item == Item::COUNTERS_SAMPLES ||
         item == Item::ACCUM_COUNT || item == Item::EARLY_STOP;
}

bool IsSetting(Item item) {
  switch (item) {
    case Item::OPTIM_KIND:
    case Item::OPTIM_DTYPE:
    case Item::SCHED_DEFINITION:
    case Item::SCHED_HORIZON:
    case Item::SCHED_BASE:
    case Item::SCALER_CONFIG:
    case Item::SAMPLER_ALGORITHM:
    case Item::SAMPLER_SEED:
    case Item::DATA_FINGERPRINT:
    case Item::DATA_BATCH:
    case Item::EMA_CONFIG:
    case Item::CLIP:
    case Item::PRECISION_FLAGS:
    case Item::CONFIG:
    case Item::MODEL_TIES:
    case Item::MODE:
      return true;
    default:
      return false;
  }
}

bool IsIgnored(Item item) {
  return item == Item::ENVIRONMENT || item == Item::WITNESS ||
         item == Item::ITEM_UNSPECIFIED;
}

bool AlwaysMoves(Item item) {
  return (IsTensors(item) && item != Item::ACCUM_GRADS) ||
         item == Item::OPTIM_STEP || item == Item::EMA_UPDATES ||
         item == Item::SAMPLER_CURSOR || item == Item::COUNTERS_STEP ||
         item == Item::COUNTERS_SAMPLES;
}

}  // namespace reprise::conformance
