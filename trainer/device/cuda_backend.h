// Brings LibTorch's CUDA half into the process. Programs link the CPU half
// only, so that they start on a machine without a driver.
#ifndef REPRISE_TRAINER_DEVICE_CUDA_BACKEND_H_
#define REPRISE_TRAINER_DEVICE_CUDA_BACKEND_H_

#include "absl/status/status.h"

namespace reprise {

// Loads libtorch_cuda.so and checks that a device answers. Looks beside the
// program, in LIBTORCH_HOME/lib, and beside libtorch_cpu.so. Call it before the
// first LibTorch call of the process: LibTorch looks for its CUDA half once,
// and cuBLAS reads its workspace setting (set here, for deterministic results)
// when it starts. Errors: Unimplemented saying what was tried and what is
// missing.
absl::Status LoadCudaBackend();

}  // namespace reprise

#endif  // REPRISE_TRAINER_DEVICE_CUDA_BACKEND_H_
