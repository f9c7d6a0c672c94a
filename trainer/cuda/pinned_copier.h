// The HostCopier of a GPU: through pinned memory, on a stream of its own.
//
//   std::shared_ptr<HostCopier> copier = PinnedCopierFor(
//       device, [](absl::string_view why) { std::cout << why << "\n"; });
//   if (copier == nullptr) CopyPlainly();
#ifndef REPRISE_TRAINER_CUDA_PINNED_COPIER_H_
#define REPRISE_TRAINER_CUDA_PINNED_COPIER_H_

#include <c10/core/Device.h>

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "trainer/cuda/host_copier.h"

namespace reprise::cuda {

// Copies behind the work of the stream that `stream` gives when Start is called
// (a cudaStream_t). Pinned memory as large as the largest set of copies is kept
// until the copier's end. Errors: those of CudaLibrary.
absl::StatusOr<std::unique_ptr<HostCopier>> MakePinnedCopier(
    std::function<void*()> stream);

// For a trainer on `device`, behind LibTorch's current stream. Null on the CPU;
// null also where it cannot be made, and then `say` is told why. REQUIRES: for
// cuda, LibTorch's CUDA half is loaded (trainer/device/cuda_backend.h).
std::shared_ptr<HostCopier> PinnedCopierFor(
    c10::Device device, const std::function<void(absl::string_view)>& say);

}  // namespace reprise::cuda

#endif  // REPRISE_TRAINER_CUDA_PINNED_COPIER_H_
