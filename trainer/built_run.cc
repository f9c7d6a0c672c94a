#include "trainer/built_run.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "format/run_id.h"
#include "trainer/config_changes.h"
#include "trainer/data/augment.h"
#include "trainer/data/fingerprint.h"
#include "trainer/data/from_config.h"
#include "trainer/device/environment.h"

namespace reprise {
namespace {

// How many threads to compute with: the person's number, else the
// checkpoint's, else one per core.
int Threads(const TrainerConfig& config,
            const std::optional<LoadedCheckpoint>& from) {
  if (config.run().threads() != 0) return config.run().threads();
  if (from.has_value() && from->snapshot.environment.has_value() &&
      from->snapshot.environment->threads > 0) {
    return from->snapshot.environment->threads;
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

absl::StatusOr<BuiltRun> BuildRun(const TrainerConfig& config,
                                  const std::vector<ConfigChange>& changes,
                                  const std::string& data_dir,
                                  const std::optional<LoadedCheckpoint>& from) {
  auto train = DatasetFromConfig(config.data(), data_dir, Split::kTrain);
  if (!train.ok()) return train.status();
  auto test = DatasetFromConfig(config.data(), data_dir, Split::kTest);
  if (!test.ok()) return test.status();
  auto schedule = MakeSchedule(config, *train);
  if (!schedule.ok()) return schedule.status();
  // Before the first computation.
  SetUpLibTorch(Threads(config, from), config.precision().deterministic(),
                config.precision().allow_tf32());
  const at::Device device =
      config.run().device() == "cuda" ? at::kCUDA : at::kCPU;
  auto state = MakeTrainState(config, *train, device);
  if (!state.ok()) return state.status();

  RunInfo info;
  info.run_id = DrawRunId();
  info.config = RecordConfig(config, changes);
  info.architecture = config.model().kind();
  info.fingerprint = FingerprintOf(*train);
  if (config.data().augment()) info.augmentation = std::string(kShift2FlipV1);
  info.environment =
      DescribeEnvironment(device, AutocastDType(config.precision()));
  return BuiltRun{*std::move(train),    *std::move(test),  device,
                  *std::move(schedule), *std::move(state), std::move(info)};
}

}  // namespace reprise
