// The pinned copier over the device of plain memory (queued_device.h): it takes
// every tensor, and LibTorch's CPU tensors are the device's.
#ifndef REPRISE_TRAINER_CUDA_TESTING_QUEUED_COPIER_H_
#define REPRISE_TRAINER_CUDA_TESTING_QUEUED_COPIER_H_

#include <memory>

#include "trainer/cuda/host_copier.h"
#include "trainer/cuda/testing/queued_device.h"

namespace reprise::cuda {

// The one of this process. REQUIRES: no CudaLibrary was loaded before; the
// working folder is a test's.
QueuedDevice* TheQueuedDevice();

// Null when it cannot be made; why is on stderr.
std::shared_ptr<HostCopier> MakeQueuedCopier();

}  // namespace reprise::cuda

#endif  // REPRISE_TRAINER_CUDA_TESTING_QUEUED_COPIER_H_
