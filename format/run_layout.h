// Names inside a run folder (spec/SPEC.md, layout). Thread-safe.
//
// Example (a test as well):
//
//   reprise::CheckpointName(60);                          // step-000000000060
//   reprise::ParseCheckpointName("step-000000000060")->step;  // 60
#ifndef REPRISE_FORMAT_RUN_LAYOUT_H_
#define REPRISE_FORMAT_RUN_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "absl/strings/string_view.h"

namespace reprise {

constexpr char kManifestName[] = "manifest.ckpt";
constexpr char kLockName[] = "lock";
constexpr char kLockClaimName[] = "lock.claim";
constexpr char kLatestName[] = "latest";
constexpr char kAbandonedName[] = "abandoned";
constexpr char kTemporaryPrefix[] = ".tmp-";
constexpr char kTrashPrefix[] = ".trash-";

// Where in the run a checkpoint was taken.
struct CheckpointPosition {
  uint64_t step = 0;
  // Micro-steps of the next step that are done; none at a boundary, and never
  // in version 1.
  std::optional<uint32_t> micro;

  bool operator<(const CheckpointPosition& other) const {
    return std::make_tuple(step, micro) <
           std::make_tuple(other.step, other.micro);
  }
};

// step-%012d.
std::string CheckpointName(uint64_t step);

// step-%012d, or step-%012d-micro-%04d when `micro` is not 0.
std::string CheckpointName(uint64_t step, uint32_t micro);

// The position that `micro` micro-steps after the boundary of `step` are.
CheckpointPosition PositionOf(uint64_t step, uint32_t micro);

// The position that a folder's name announces: step-%012d or
// step-%012d-micro-%04d, written exactly so; nullopt for every other name.
std::optional<CheckpointPosition> ParseCheckpointName(absl::string_view name);

// Whether a name looks like a checkpoint's, well-formed or not: an entry that
// nobody may start a fresh run over.
bool IsCheckpointNamed(absl::string_view name);

// Whether a name is of a save or a prune that did not finish.
bool IsLeftover(absl::string_view name);

}  // namespace reprise

#endif  // REPRISE_FORMAT_RUN_LAYOUT_H_
