// What an evaluation decides: the best so far, whether the run stops early, and
// what a plateau schedule has seen.
#ifndef REPRISE_TRAINER_SELECTION_H_
#define REPRISE_TRAINER_SELECTION_H_

#include "reprise/trainer/config/v1/trainer_config.pb.h"
#include "trainer/metrics/event.h"
#include "trainer/schedule/schedule.h"
#include "trainer/train_state.h"

namespace reprise {

// Takes the result of the evaluation at the state's boundary in: last
// evaluation, best (strictly better), early stop (better by more than
// min_delta, else one bad evaluation more), plateau. Writes the best value and
// the bad count into `event`.
void Select(const trainer::v1::TrainerConfig& config, const Schedule& schedule,
            EvaluationEvent* event, TrainState* state);

// Whether as many evaluations without improvement as the patience allows have
// been seen.
bool StopsEarly(const TrainState& state);

}  // namespace reprise

#endif  // REPRISE_TRAINER_SELECTION_H_
