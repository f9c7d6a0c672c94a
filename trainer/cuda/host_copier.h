// HostCopier: copies of device memory that are made behind the device's work,
// while the caller goes on. An interface, so that whoever stages a snapshot can
// be tested without a device.
//
//   std::vector<const char*> host;
//   absl::Status status = copier->Start({{data, size}}, &host);
//   ... training goes on, and another thread takes the bytes: ...
//   status = copier->Wait();
//   Use(host[0], size);
#ifndef REPRISE_TRAINER_CUDA_HOST_COPIER_H_
#define REPRISE_TRAINER_CUDA_HOST_COPIER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace at {
class Tensor;
}

namespace reprise::cuda {

// Start and Wait in turns, from any thread, one call at a time.
class HostCopier {
 public:
  struct Copy {
    const void* device_data = nullptr;
    uint64_t size = 0;  // bytes; 0: nothing is copied
  };

  virtual ~HostCopier() = default;

  // Whether it copies from the memory of `tensor`.
  virtual bool Takes(const at::Tensor& tensor) const = 0;

  // Queues the copies behind the work that the calling thread has queued on the
  // device, and makes what it queues later wait for them. Returns at once. The
  // bytes of copy i are at (*host)[i] from Wait on, until the next Start.
  // REQUIRES: what an earlier Start gave is no longer used, and was waited for.
  // Errors: no copy is under way then.
  virtual absl::Status Start(const std::vector<Copy>& copies,
                             std::vector<const char*>* host) = 0;

  // Returns when the bytes are there, or with the error that a copy, or the
  // device's work before it, had.
  virtual absl::Status Wait() = 0;
};

}  // namespace reprise::cuda

#endif  // REPRISE_TRAINER_CUDA_HOST_COPIER_H_
