// What a resumed run does with the fields of the configuration that a person
// changed (ConfigChange of trainer/config/config.h): they take effect in the
// state, which has the checkpoint's values, and are recorded in its next file.
//
//   changes = merged->changes;                       // MergeForResume
//   run.config = RecordConfig(merged->config, changes);
//   RestoreState(...);                               // the checkpoint's values
//   ApplyChanges(merged->config, changes, schedule, &state);
#ifndef REPRISE_TRAINER_CONFIG_CHANGES_H_
#define REPRISE_TRAINER_CONFIG_CHANGES_H_

#include <vector>

#include "absl/status/status.h"
#include "format/snapshot.h"
#include "trainer/config/config.h"
#include "trainer/schedule/schedule.h"
#include "trainer/train_state.h"

namespace reprise {

// Puts the changed fields of `config` that are state into `state`: clipping,
// frozen parameters, rates and the numbers of the optimizer's groups. A group
// without weight decay keeps none; a rate is in force at once, at the
// schedule's position. Errors: those of FreezeByPattern.
absl::Status ApplyChanges(const TrainerConfig& config,
                          const std::vector<ConfigChange>& changes,
                          const Schedule& schedule, TrainState* state);

// The configuration as a checkpoint holds it: every field, and of those that
// changed the value before.
std::vector<ConfigField> RecordConfig(const TrainerConfig& config,
                                      const std::vector<ConfigChange>& changes);

}  // namespace reprise

#endif  // REPRISE_TRAINER_CONFIG_CHANGES_H_
