// Between the trainer's live state and a Snapshot.
#ifndef REPRISE_TRAINER_CHECKPOINT_TRAIN_STATE_CODEC_H_
#define REPRISE_TRAINER_CHECKPOINT_TRAIN_STATE_CODEC_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "format/snapshot.h"
#include "trainer/checkpoint/torch_tensor.h"
#include "trainer/schedule/schedule.h"
#include "trainer/train_state.h"

namespace reprise {

// What goes into a checkpoint beside TrainState: which run this is, what it was
// told, on what and where it runs.
struct RunInfo {
  std::string run_id;
  uint64_t attempt = 1;
  std::optional<ParentRef> parent;
  std::vector<ConfigField> config;
  std::string architecture;
  std::string augmentation;  // algorithm id; empty: none
  DataFingerprint fingerprint;
  EnvironmentState environment;
  // Items that the checkpoint resumed from did not have.
  std::vector<Item> accepted_missing;
  // What the checkpoint resumed from carries on.
  std::vector<std::string> optional_features;
  std::vector<MigrationRecord> history;
};

// The state as `state` stands, every item of the inventory answered. Tensors
// are as `view` makes them; with ViewOf they are views of the live ones: save
// before the next step.
Snapshot CaptureState(const TrainState& state, const Schedule& schedule,
                      const RunInfo& run, const ViewFunction& view = ViewOf);

// Makes `state`, freshly built from the same configuration, the one that
// `snapshot` (of version 1 or 2) holds; generators last, because building and
// loading draw from them. `data` is the data set that it will train on. Errors
// carry a Refusal: MISSING_ITEM naming the item, MISMATCH naming what differs.
// `state` is unusable then. Each tensor is let go of as soon as it is copied,
// so a snapshot that is moved here, and whose bytes nobody else holds, costs no
// second state's memory.
absl::Status RestoreState(Snapshot snapshot, const Schedule& schedule,
                          const DataFingerprint& data, TrainState* state);

// Lets go of the bytes of all tensors, and keeps what they are: names, dtypes,
// shapes, orders, and which of them are one storage.
void ForgetBytes(Snapshot* snapshot);

// Loads parameters and buffers alone, by name: the weights-only start of
// another run. Errors: as RestoreState.
absl::Status RestoreWeights(const Snapshot& snapshot, TrainState* state);

// Items that the run has and `snapshot` does not because version 1, which wrote
// it or what it was migrated from, does not record them.
std::vector<Item> NotRecordedByV1(const Snapshot& snapshot);

// One row for each item of the inventory, for people: what was restored.
struct RestoredItem {
  std::string item;
  std::string presence;
  std::string value;
};
std::vector<RestoredItem> DescribeRestored(const Snapshot& snapshot);

}  // namespace reprise

#endif  // REPRISE_TRAINER_CHECKPOINT_TRAIN_STATE_CODEC_H_
