// The state of a checkpoint as Python's torch keeps it.
//
// Example (a test as well):
//
//   reprise::PyDocument document = reprise::ExportTorch(loaded->snapshot);
//   auto file = FileSystem::Real()->CreateExclusive("checkpoint.pt", 0644);
//   absl::Status status = reprise::WriteTorchFile(*document.root, file->get());
//
// The dict has: "model" (what load_state_dict takes), "master" (fp32 masters of
// half-precision parameters, by their names), "optimizer" (what
// torch.optim.AdamW, Adam or SGD.load_state_dict takes; parameters numbered in
// the order of the groups, their names under "param_names"), "scaler" (what
// GradScaler.load_state_dict takes), "ema", "scheduler" (last_epoch, base_lrs,
// _last_lr: what torch's schedulers share; LambdaLR wants its lr_lambdas
// beside), "step", "applied", "skipped",
// "samples", each where the checkpoint has it. Thread-safe.
#ifndef REPRISE_FORMAT_INTEROP_EXPORT_SNAPSHOT_H_
#define REPRISE_FORMAT_INTEROP_EXPORT_SNAPSHOT_H_

#include <vector>

#include "format/interop/pickle.h"
#include "format/snapshot.h"

namespace reprise {

// The tensors refer to those of the snapshot.
PyDocument ExportTorch(const Snapshot& snapshot);

// Parameters and buffers, for WriteSafetensors.
std::vector<Tensor> ExportWeights(const Snapshot& snapshot);

}  // namespace reprise

#endif  // REPRISE_FORMAT_INTEROP_EXPORT_SNAPSHOT_H_
