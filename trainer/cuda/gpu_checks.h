// What has to hold on a machine with a GPU; run by tools/gpu_check.
#ifndef REPRISE_TRAINER_CUDA_GPU_CHECKS_H_
#define REPRISE_TRAINER_CUDA_GPU_CHECKS_H_

#include <string>
#include <vector>

namespace reprise::cuda {

struct GpuCheck {
  std::string name;
  bool passed = false;
  std::string says;  // what was seen, or measured
};

// REQUIRES: LibTorch's CUDA half is loaded (trainer/device/cuda_backend.h).
std::vector<GpuCheck> RunGpuChecks();

}  // namespace reprise::cuda

#endif  // REPRISE_TRAINER_CUDA_GPU_CHECKS_H_
