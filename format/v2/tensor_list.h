// The tensors of a snapshot as one list, and back into their places.
// Thread-safe.
#ifndef REPRISE_FORMAT_V2_TENSOR_LIST_H_
#define REPRISE_FORMAT_V2_TENSOR_LIST_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/snapshot.h"
#include "format/v2/tensor_table.h"

namespace reprise {

struct ListedTensor {
  Item item = vocab::ITEM_UNSPECIFIED;
  std::string name;  // of the parameter, for moments
  std::string part;  // "exp_avg", for moments
  const Tensor* tensor = nullptr;
};

// All tensors, sorted as the table is. They refer to `snapshot`.
std::vector<ListedTensor> ListTensors(const Snapshot& snapshot);

// One entry for each listed tensor, with aliases and without extents and
// digests. Tensors of the model that are the same storage, of the same dtype,
// shape and order, become aliases. Errors: INVALID_VALUE when tensors share
// bytes in any other way, when aliases and the record of model.ties disagree,
// or names repeat; LIMIT; MISSING_ITEM for a tensor without data.
absl::StatusOr<std::vector<TableEntry>> EntriesOf(
    const Snapshot& snapshot, const std::vector<ListedTensor>& tensors);

// Takes all tensors away, and leaves every other value.
void ClearTensors(Snapshot* snapshot);

// Puts a tensor of that entry into its place in `snapshot`, whose optimizer has
// states by the time moments come. Error: CORRUPT for moments of a parameter
// without state.
class TensorPlacer {
 public:
  explicit TensorPlacer(Snapshot* snapshot);
  absl::Status Place(const TableEntry& entry, Tensor tensor);

 private:
  Snapshot* const snapshot_;
  std::vector<std::pair<std::string, size_t>> states_;  // sorted by name
};

// Names of the model's tensors that are one storage, by groups, in the order of
// the table.
std::vector<std::vector<std::string>> TiedNames(
    const std::vector<TableEntry>& entries);

}  // namespace reprise

#endif  // REPRISE_FORMAT_V2_TENSOR_LIST_H_
