// Names of the values of a step in progress that a checkpoint between
// micro-steps has beside the gradients.
#ifndef REPRISE_TRAINER_CHECKPOINT_STEP_VALUES_H_
#define REPRISE_TRAINER_CHECKPOINT_STEP_VALUES_H_

namespace reprise {

inline constexpr char kStepLoss[] = "trainer.step_loss";        // double
inline constexpr char kStepSamples[] = "trainer.step_samples";  // uint64_t

}  // namespace reprise

#endif  // REPRISE_TRAINER_CHECKPOINT_STEP_VALUES_H_
