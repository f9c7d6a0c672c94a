// Between the trainer's live state and a Snapshot.
#ifndef REPRISE_TRAINER_CHECKPOINT_TRAIN_STATE_CODEC_H_
#define REPRISE_TRAINER_CHECKPOINT_TRAIN_STATE_CODEC_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "format/snapshot.h"
#include "trainer/schedule/schedule.h"
#include "trainer/train_state.h"

namespace reprise {

// What goes into a checkpoint beside TrainState: which run this is, what it was
// told, where it runs.
struct RunInfo {
  std::string run_id;
  uint64_t attempt = 1;
  std::optional<ParentRef> parent;
  std::vector<ConfigField> config;
  std::string architecture;
  std::string augmentation;  // algorithm id; empty: none
  EnvironmentState environment;
};

// The state at the boundary that `state` stands at. Tensors are views of the
// live ones: save before the next step.
Snapshot CaptureState(const TrainState& state, const WarmupCosine& schedule,
                      const RunInfo& run);

// Makes `state`, freshly built from the same configuration, the one that
// `snapshot` holds; generators last, because building and loading draw from
// them. Errors carry a Refusal: MISSING_ITEM naming the item, MISMATCH naming
// what differs. `state` is unusable then.
absl::Status RestoreState(const Snapshot& snapshot,
                          const WarmupCosine& schedule, TrainState* state);

// One row for each item of the inventory, for people: what was restored.
struct RestoredItem {
  std::string item;
  std::string presence;
  std::string value;
};
std::vector<RestoredItem> DescribeRestored(const Snapshot& snapshot);

}  // namespace reprise

#endif  // REPRISE_TRAINER_CHECKPOINT_TRAIN_STATE_CODEC_H_
