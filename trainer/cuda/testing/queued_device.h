// A device without a GPU: the functions of trainer/cuda/device_api.h over plain
// memory, as a shared library that REPRISE_CUDA_LIBRARY names. A stream is a
// queue of closures that nothing runs before somebody waits for the stager, so
// a byte that is taken too early is seen to be the wrong one.
//
//   QueuedDevice* device = find();              // reprise_queued_device
//   device->Compute([&] { weights[0] = 1; });   // what a kernel would do
//   ... Start ...
//   device->Compute([&] { weights[0] = 2; });   // the next step
//   ... Wait ...                                // sees 1
//
// Only null is a compute stream. Thread-safe: one thread may wait while another
// computes.
#ifndef REPRISE_TRAINER_CUDA_TESTING_QUEUED_DEVICE_H_
#define REPRISE_TRAINER_CUDA_TESTING_QUEUED_DEVICE_H_

#include <functional>
#include <string>
#include <vector>

namespace reprise::cuda {

class QueuedDevice {
 public:
  virtual ~QueuedDevice() = default;
  // Queues work on the compute stream.
  virtual void Compute(std::function<void()> work) = 0;
  // Runs what is queued on the compute stream, and what that waits for.
  virtual void RunCompute() = 0;
  // The next call of the library's function `name` ("reserve", "begin", "copy",
  // "fence", "wait") returns error 700 and does nothing.
  virtual void Fail(std::string name) = 0;
  // The next wait first calls `held`, on its thread.
  virtual void BeforeWait(std::function<void()> held) = 0;
  // Names of the functions called since the last time.
  virtual std::vector<std::string> TakeCalls() = 0;
  // Copies that were queued and have not run.
  virtual int CopiesUnderWay() const = 0;
};

}  // namespace reprise::cuda

extern "C" reprise::cuda::QueuedDevice* reprise_queued_device();

#endif  // REPRISE_TRAINER_CUDA_TESTING_QUEUED_DEVICE_H_
