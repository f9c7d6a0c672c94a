// Where and with what a run computes: what a checkpoint records of it, and what
// resuming may promise.
#ifndef REPRISE_TRAINER_DEVICE_ENVIRONMENT_H_
#define REPRISE_TRAINER_DEVICE_ENVIRONMENT_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "format/snapshot.h"

namespace reprise {

// Makes results repeatable: one inter-operator thread, `threads` (>= 1)
// intra-operator threads; deterministic kernels and TF32 as asked; and lets the
// process keep memory that it freed, up to 2 GiB. Call it once, before the
// first computation.
void SetUpLibTorch(int threads, bool deterministic = true,
                   bool allow_tf32 = false);

// The environment as it is now, kernel probe included. `dtype` is what autocast
// computes in.
EnvironmentState DescribeEnvironment(at::Device device, at::ScalarType dtype);

// What a process in `now` can promise for a run saved in `saved`.
struct ResumePromise {
  ResumeLevel level;
  std::string reason;  // for people; names what differs below BITWISE
};
ResumePromise PromiseFor(const EnvironmentState& saved,
                         const EnvironmentState& now);

}  // namespace reprise

#endif  // REPRISE_TRAINER_DEVICE_ENVIRONMENT_H_
