#include "trainer/step_so_far.h"

#include <vector>

namespace reprise {

void BeginStep(TrainState* state) {
  state->optimizer->ZeroGrad();
  state->so_far = StepSoFar();
}

double ShareOfStep(const TrainState& state, const Batch& batch) {
  if (state.accumulation.per_step == 1) return 1;
  // Batches differ where an epoch ends with a smaller one.
  uint64_t samples = state.so_far.samples;
  Sampler ahead = *state.sampler;
  for (uint32_t i = state.accumulation.count; i < state.accumulation.per_step;
       ++i) {
    samples += ahead.NextBatch().sample_ids.size();
    ahead.Advance();
  }
  return static_cast<double>(batch.sample_ids.size()) /
         static_cast<double>(samples);
}

StepEvent EventOf(const TrainState& state) {
  StepEvent event;
  event.step = state.attempted + 1;
  event.samples = state.sampler->cursor();
  event.loss = static_cast<float>(state.so_far.loss);
  for (const Optimizer::Group& group : state.optimizer->groups()) {
    event.lr.push_back(group.lr);
  }
  // The ids follow from where the step began, in a resumed one too.
  Sampler from = *state.sampler;
  std::vector<uint64_t> ids;
  if (from.SeekTo(event.samples - state.so_far.samples).ok()) {
    const Batch first = from.NextBatch();
    event.epoch = first.epoch;
    event.batch = first.index;
    while (ids.size() < state.so_far.samples) {
      const Batch batch = from.NextBatch();
      ids.insert(ids.end(), batch.sample_ids.begin(), batch.sample_ids.end());
      from.Advance();
    }
  }
  event.ids = SampleIdDigest(ids);
  return event;
}

}  // namespace reprise
