// The sidecar RUN/witness/<checkpoint>.pb: the loss of the step that followed a
// checkpoint, so that a process that resumes from it at level BITWISE can see
// after one step whether it is the same run.
//
// It is no part of the checkpoint: nothing else depends on it, it may be
// missing, and it goes with its checkpoint when that is pruned.
#ifndef REPRISE_TRAINER_CHECKPOINT_NEXT_LOSS_H_
#define REPRISE_TRAINER_CHECKPOINT_NEXT_LOSS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace reprise {

// In the run folder.
inline constexpr char kWitnessFolder[] = "witness";

struct NextLoss {
  std::string manifest_digest;  // of the checkpoint, 16 bytes
  uint64_t step = 0;            // the one that followed
  float loss = 0;
};

// Writes the sidecar of the checkpoint folder `name` in `run_folder`, in one
// piece or not at all. UNAVAILABLE naming the file.
absl::Status WriteNextLoss(const std::string& run_folder,
                           const std::string& name, const NextLoss& next);

// What was written for the checkpoint `name`; nullopt when there is none, it
// cannot be read, or it belongs to another checkpoint of that name.
std::optional<float> ReadNextLoss(const std::string& run_folder,
                                  const std::string& name,
                                  const std::string& manifest_digest);

// Removes it if it is there.
void RemoveNextLoss(const std::string& run_folder, const std::string& name);

}  // namespace reprise

#endif  // REPRISE_TRAINER_CHECKPOINT_NEXT_LOSS_H_
