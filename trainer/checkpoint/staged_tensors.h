// StagedTensors: the tensors of one snapshot, copied from the device behind
// training.
//
//   StagedTensors staged(copier);
//   Snapshot snapshot = CaptureState(state, schedule, run, staged.View());
//   if (!staged.AllFinite()) ...             // on the device
//   absl::Status status = staged.Start();    // returns at once
//   options.tensors = AsyncSaveOptions::Tensors::kHandedOver;
//   store->SaveAsync(std::move(snapshot), options);
//   ... the next step may begin ...
//
// The tensors of the snapshot own what they need. Whoever reads the first byte
// of one waits until all copies have ended, which is the thread that writes the
// checkpoint; an error of the copies is what it gets. What training queues
// after Start does not change them. Tensors that are not the copier's (a
// counter in host memory) are copied at once.
//
// The checkpoint is the one that ViewOf's plain copies give: same order of
// dimensions, same ties.
#ifndef REPRISE_TRAINER_CHECKPOINT_STAGED_TENSORS_H_
#define REPRISE_TRAINER_CHECKPOINT_STAGED_TENSORS_H_

#include <memory>

#include "absl/status/status.h"
#include "trainer/checkpoint/torch_tensor.h"
#include "trainer/cuda/host_copier.h"

namespace reprise {

// Not thread-safe; the tensors that View makes are.
class StagedTensors {
 public:
  explicit StagedTensors(std::shared_ptr<cuda::HostCopier> copier);

  // Makes the tensors of the snapshot; REQUIRES: used before Start. One with
  // gaps is copied on the device first. Several names of one tensor are one
  // copy.
  ViewFunction View();

  // Whether every floating-point element of all tensors so far is finite. Waits
  // for the work queued on the device. May say no of finite values whose sum is
  // too large for f32 (of f64: for f64).
  bool AllFinite() const;

  // Queues the copies. REQUIRES: no tensor of an earlier snapshot with the same
  // copier is read any more. Errors: no tensor of this one can be read then.
  absl::Status Start();

 private:
  class Batch;
  const std::shared_ptr<Batch> batch_;
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_CHECKPOINT_STAGED_TENSORS_H_
