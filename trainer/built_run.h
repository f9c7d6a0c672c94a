// Everything that a run is made of in memory, from its configuration alone: the
// state of step 0, to which a checkpoint is then restored.
#ifndef REPRISE_TRAINER_BUILT_RUN_H_
#define REPRISE_TRAINER_BUILT_RUN_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "format/checkpoint_store.h"
#include "trainer/checkpoint/train_state_codec.h"
#include "trainer/config/config.h"
#include "trainer/data/dataset.h"
#include "trainer/schedule/schedule.h"
#include "trainer/train_state.h"

namespace reprise {

struct BuiltRun {
  Dataset train, test;
  at::Device device;
  Schedule schedule;
  TrainState state;
  RunInfo info;
};

// Loads the data (`data_dir`: DatasetFromConfig), sets LibTorch up and builds
// the state. `changes` are recorded beside the configuration. The run id is a
// new one; `from`, where a run is gone on with, gives the number of threads
// that the person does not give. REQUIRES: `config` is valid; for a CUDA
// device, LoadCudaBackend has been called. Errors: what the configuration asks
// and the data cannot give, or a file of the data by name.
absl::StatusOr<BuiltRun> BuildRun(const TrainerConfig& config,
                                  const std::vector<ConfigChange>& changes,
                                  const std::string& data_dir,
                                  const std::optional<LoadedCheckpoint>& from);

}  // namespace reprise

#endif  // REPRISE_TRAINER_BUILT_RUN_H_
