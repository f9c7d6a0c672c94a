// The optimizer's half of an import: a torch state dict numbers parameters, a
// checkpoint names them. Thread-safe.
#ifndef REPRISE_FORMAT_INTEROP_IMPORT_OPTIMIZER_H_
#define REPRISE_FORMAT_INTEROP_IMPORT_OPTIMIZER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/interop/import_snapshot.h"

namespace reprise {

// Fills the optimizer of `imported->snapshot` from torch's optimizer state dict
// {state, param_groups} and marks its items. `parameters` are the model's, in
// its order, each storage once. Errors: as ImportTorch.
absl::Status ImportOptimizer(const PyValue& state_dict,
                             const std::vector<Tensor>& parameters,
                             const ImportOptions& options,
                             ImportedSnapshot* imported);

// A number, or a tensor of one element.
absl::StatusOr<double> NumberOf(const PyValue& value);

// `tensor` under another name, with the same bytes.
Tensor Renamed(const Tensor& tensor, std::string name);

}  // namespace reprise

#endif  // REPRISE_FORMAT_INTEROP_IMPORT_OPTIMIZER_H_
