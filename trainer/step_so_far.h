// The bookkeeping of a step that is made of several micro-steps.
#ifndef REPRISE_TRAINER_STEP_SO_FAR_H_
#define REPRISE_TRAINER_STEP_SO_FAR_H_

#include "trainer/data/sampler.h"
#include "trainer/metrics/event.h"
#include "trainer/train_state.h"

namespace reprise {

// Forgets the gradients and the sums of the step before.
void BeginStep(TrainState* state);

// The share of `batch`, which comes next, in all samples of its step: what its
// mean loss counts for. 1 when the step is one batch.
double ShareOfStep(const TrainState& state, const Batch& batch);

// The record of the step whose micro-steps are all done: position, sample ids,
// loss and the rates that it uses.
StepEvent EventOf(const TrainState& state);

}  // namespace reprise

#endif  // REPRISE_TRAINER_STEP_SO_FAR_H_
