// ScheduleFromConfig: the schedule that a trainer's configuration asks for.
//
//   reprise::RunLength length;
//   length.steps = config.run().steps();
//   auto schedule = reprise::ScheduleFromConfig(config.schedule(), length);
#ifndef REPRISE_TRAINER_SCHEDULE_FROM_CONFIG_H_
#define REPRISE_TRAINER_SCHEDULE_FROM_CONFIG_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "reprise/trainer/config/v1/trainer_config.pb.h"
#include "trainer/schedule/schedule.h"

namespace reprise {

// How long a run is in each unit: what a horizon of 0 stands for.
struct RunLength {
  uint64_t steps = 0;
  uint64_t samples = 0;
  uint64_t epochs = 0;  // begun ones count
};

// REQUIRES: `config` is resolved. INVALID_ARGUMENT as Schedule::Create, and for
// a unit that is none.
absl::StatusOr<Schedule> ScheduleFromConfig(
    const trainer::v1::ScheduleConfig& config, const RunLength& length);

}  // namespace reprise

#endif  // REPRISE_TRAINER_SCHEDULE_FROM_CONFIG_H_
