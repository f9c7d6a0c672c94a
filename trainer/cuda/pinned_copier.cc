#include "trainer/cuda/pinned_copier.h"

#include <ATen/core/Tensor.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/cuda/cuda_library.h"

namespace reprise::cuda {
namespace {

class PinnedCopier : public HostCopier {
 public:
  PinnedCopier(std::unique_ptr<CudaLibrary::Stager> stager,
               std::function<void*()> stream)
      : stager_(std::move(stager)), stream_(std::move(stream)) {}

  bool Takes(const at::Tensor& tensor) const override {
    return tensor.is_cuda();
  }

  absl::Status Start(const std::vector<Copy>& copies,
                     std::vector<const char*>* host) override {
    std::vector<CudaLibrary::Copy> staged;
    staged.reserve(copies.size());
    for (const Copy& copy : copies) {
      staged.push_back({copy.device_data, copy.size});
    }
    return stager_->Start(staged, stream_(), host);
  }

  absl::Status Wait() override { return stager_->Wait(); }

 private:
  const std::unique_ptr<CudaLibrary::Stager> stager_;
  const std::function<void*()> stream_;
};

// Through the table that LibTorch's CUDA half enters itself into when it is
// loaded: nothing of it is linked.
void* CurrentStream() {
  const c10::impl::VirtualGuardImpl cuda(c10::DeviceType::CUDA);
  return cuda.getStreamNativeHandle(cuda.getStream(cuda.getDevice()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<HostCopier>> MakePinnedCopier(
    std::function<void*()> stream) {
  const auto library = CudaLibrary::Load();
  if (!library.ok()) return library.status();
  auto stager = (*library)->MakeStager();
  if (!stager.ok()) return stager.status();
  return std::make_unique<PinnedCopier>(*std::move(stager), std::move(stream));
}

std::shared_ptr<HostCopier> PinnedCopierFor(
    c10::Device device, const std::function<void(absl::string_view)>& say) {
  if (!device.is_cuda()) return nullptr;
  auto copier = MakePinnedCopier(CurrentStream);
  if (copier.ok()) return *std::move(copier);
  say(absl::StrCat(
      "Snapshots are plain copies, which training waits for, and not through "
      "pinned memory: ",
      copier.status().message()));
  return nullptr;
}

}  // namespace reprise::cuda
