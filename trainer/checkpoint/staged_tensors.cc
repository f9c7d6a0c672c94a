#include "trainer/checkpoint/staged_tensors.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sum.h>

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace reprise {
namespace {

// Whether the sum of the magnitudes of all elements is finite, which no NaN and
// no infinity leaves it. One number from the device; tensors of one dtype share
// kernels there, so that thousands of small ones take no thousands of launches.
bool FiniteSum(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> sums;
  for (const at::ScalarType type :
       {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
    std::vector<at::Tensor> of_type;
    for (const at::Tensor& tensor : tensors) {
      if (tensor.scalar_type() == type) of_type.push_back(tensor);
    }
    if (of_type.empty()) continue;
    const at::ScalarType wide = type == at::kDouble ? type : at::kFloat;
    sums.push_back(at::sum(
        at::stack(at::_foreach_norm(of_type, /*ord=*/1, wide)), at::kDouble));
  }
  if (sums.empty()) return true;
  return std::isfinite(at::sum(at::stack(sums)).item().toDouble());
}

}  // namespace

// What the tensors of a snapshot share.
class StagedTensors::Batch {
 public:
  explicit Batch(std::shared_ptr<cuda::HostCopier> copier)
      : copier_(std::move(copier)) {}

  // The copies write to memory that the next snapshot uses.
  ~Batch() { Await().IgnoreError(); }

  const cuda::HostCopier& copier() const { return *copier_; }

  // The place of `dense` among the copies.
  size_t Add(const at::Tensor& dense) {
    const std::pair<const void*, uint64_t> bytes = {dense.const_data_ptr(),
                                                    dense.nbytes()};
    const auto [known, is_new] = places_.emplace(bytes, tensors_.size());
    if (is_new) tensors_.push_back(dense);
    return known->second;
  }
  void AddOnHost(const at::Tensor& tensor) { on_host_.push_back(tensor); }

  bool AllFinite() const {
    const at::NoGradGuard no_grad;
    return FiniteSum(tensors_) && FiniteSum(on_host_);
  }

  absl::Status Start() {
    std::vector<cuda::HostCopier::Copy> copies;
    for (const at::Tensor& tensor : tensors_) {
      copies.push_back({tensor.const_data_ptr(), tensor.nbytes()});
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    status_ = copier_->Start(copies, &host_);
    under_way_ = status_.ok();
    return status_;
  }

  absl::Status Read(size_t place, uint64_t offset, size_t size, char* out) {
    if (absl::Status status = Await(); !status.ok()) return status;
    std::memcpy(out, host_[place] + offset, size);
    return absl::OkStatus();
  }

 private:
  // Of several threads one waits for the device, the others for it.
  absl::Status Await() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!under_way_) return status_;
    status_ = copier_->Wait();
    under_way_ = false;
    // Until here nothing else was to use their memory.
    tensors_.clear();
    on_host_.clear();
    return status_;
  }

  const std::shared_ptr<cuda::HostCopier> copier_;
  std::vector<at::Tensor> tensors_;
  std::vector<at::Tensor> on_host_;
  std::map<std::pair<const void*, uint64_t>, size_t> places_;
  std::mutex mutex_;  // of what follows
  bool under_way_ = false;
  absl::Status status_ =
      absl::FailedPreconditionError("the copies were not started");
  std::vector<const char*> host_;
};

StagedTensors::StagedTensors(std::shared_ptr<cuda::HostCopier> copier)
    : batch_(std::make_shared<Batch>(std::move(copier))) {}

ViewFunction StagedTensors::View() {
  return [batch = batch_](std::string name, const at::Tensor& tensor) {
    if (tensor.numel() == 0) return ViewOf(std::move(name), tensor);
    const at::Tensor live = tensor.detach();
    if (!batch->copier().Takes(tensor)) {
      // Training writes to it meanwhile.
      const at::Tensor copy = live.clone();
      batch->AddOnHost(copy);
      Tensor view = ViewOf(std::move(name), copy);
      const Tensor::Storage storage = StorageOf(tensor);
      view.SetStorage(storage.id, storage.offset);
      return view;
    }
    const at::Tensor dense =
        tensor.is_non_overlapping_and_dense() ? live : live.contiguous();
    const size_t place = batch->Add(dense);
    return ViewThrough(std::move(name), tensor, dense,
                       [batch, place](uint64_t offset, size_t size, char* out) {
                         return batch->Read(place, offset, size, out);
                       });
  };
}

bool StagedTensors::AllFinite() const { return batch_->AllFinite(); }

absl::Status StagedTensors::Start() { return batch_->Start(); }

}  // namespace reprise
