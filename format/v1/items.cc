#include "format/v1/items.h"

namespace reprise {

const std::vector<Item>& ItemsOfV1() {
  static const auto* const items = new std::vector<Item>{
      Item::MODEL_PARAMS,
      Item::MODEL_BUFFERS,
      Item::MODE,
      Item::OPTIM_KIND,
      Item::OPTIM_GROUPS,
      Item::OPTIM_MOMENTS,
      Item::OPTIM_STEP,
      Item::OPTIM_IDENTITY,
      Item::SCHED_DEFINITION,
      Item::SCHED_POSITION,
      Item::SCHED_UNIT,
      Item::SCHED_HORIZON,
      Item::SCHED_BASE,
      Item::SCHED_APPLIED,
      Item::SCALER_SCALE,
      Item::SCALER_GROWTH_TRACKER,
      Item::SCALER_CONFIG,
      Item::SAMPLER_ALGORITHM,
      Item::SAMPLER_SEED,
      Item::SAMPLER_CURSOR,
      Item::SAMPLER_ORDER,
      Item::DATA_BATCH,
      Item::RNG_CPU,
      Item::RNG_CUDA,
      Item::RNG_DATA,
      Item::CLIP,
      Item::PRECISION_FLAGS,
      Item::COUNTERS_STEP,
      Item::CONFIG,
      Item::ENVIRONMENT,
  };
  return *items;
}

}  // namespace reprise
