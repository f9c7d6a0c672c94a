// Saver: brings the training state to the disk, at once or behind training, and
// keeps the run folder in order.
//
// On a GPU the snapshot is copied through pinned memory behind the device's
// work (trainer/checkpoint/staged_tensors.h): a save that is written behind
// returns before a byte of it has left the device. Where that cannot be done,
// and for a state that is not finite, the copy is a plain one that the caller
// waits for.
//
//   saver.Save(state, /*wait=*/false);   // where a save is due
//   saver.Poll();                        // at every turn: late errors
//   saver.StepDone(event);               // after every step
//   saver.Save(state, /*wait=*/true);    // the last one
#ifndef REPRISE_TRAINER_SAVER_H_
#define REPRISE_TRAINER_SAVER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "format/checkpoint_store.h"
#include "format/run_layout.h"
#include "reprise/trainer/config/v1/trainer_config.pb.h"
#include "trainer/checkpoint/staged_tensors.h"
#include "trainer/checkpoint/train_state_codec.h"
#include "trainer/cuda/host_copier.h"
#include "trainer/metrics/metrics_log.h"
#include "trainer/metrics/progress.h"
#include "trainer/schedule/schedule.h"
#include "trainer/time_budget.h"
#include "trainer/train_observer.h"
#include "trainer/train_state.h"

namespace reprise {

// Pointers outlive it. Not thread-safe; a save behind runs on a thread of the
// store.
class Saver {
 public:
  struct Parts {
    const trainer::v1::SaveConfig* config;
    const Schedule* schedule;
    RunInfo run;
    CheckpointStore* store;
    MetricsLog* metrics;
    Progress* progress;
    TrainObserver* observer;
    TimeBudget* budget;
    // The checkpoint resumed from, where it lies in the run folder.
    std::optional<CheckpointPosition> resumed_from;
    std::string resumed_digest;
    // Null: tensors are on the CPU, or copied plainly.
    std::shared_ptr<cuda::HostCopier> copier = nullptr;
  };

  explicit Saver(Parts parts);

  // Commits the state as it stands, or hands a copy of it to the store and
  // returns. `wait`: it is on the disk when this returns. Does nothing when the
  // run folder has this position already. An error is of this save or of an
  // earlier one that was written behind; the first cause.
  absl::Status Save(const TrainState& state, bool wait);

  // The state as a checkpoint would hold it.
  Snapshot Capture(const TrainState& state) const {
    return CaptureState(state, *parts_.schedule, parts_.run);
  }

  // Reports what was committed behind since, and its error. Never waits.
  absl::Status Poll();

  // INTERNAL naming the tensors or the scale that are not finite in the last
  // state saved. That checkpoint is marked, and no earlier one was removed.
  absl::Status CheckFinite() const;

  // Step `event.step` is done: its loss goes to the witness of the checkpoint
  // that it started from.
  void StepDone(const StepEvent& event);

 private:
  // Waits for the save in flight and reports it. None is in flight when SaveNow
  // and SaveBehind begin.
  absl::Status Settle();
  absl::Status SaveNow(const Snapshot& snapshot);
  // `staged`: the tensors own their bytes, and nothing is copied.
  absl::Status SaveBehind(const Snapshot& snapshot, bool staged);
  // The state as a checkpoint holds it, with its tensors staged; nullopt where
  // that cannot be done or the state is not finite.
  std::optional<Snapshot> Stage(const TrainState& state,
                                std::optional<StagedTensors>* staged) const;
  void Committed(const std::string& name, const std::string& digest);
  void Removed(const std::vector<std::string>& names);
  void WriteNextLoss(const std::string& name);
  void PrintNotices();

  const Parts parts_;
  std::shared_ptr<cuda::HostCopier> copier_;
  std::optional<CheckpointPosition> saved_;
  // The save that is written behind.
  std::optional<CheckpointPosition> in_flight_;
  std::string not_finite_;
  // By name of the checkpoint: its digest, and the loss of the step after it.
  struct Next {
    uint64_t step = 0;  // the one after
    std::optional<std::string> digest;
    std::optional<float> loss;
  };
  std::map<std::string, Next> next_;
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_SAVER_H_
