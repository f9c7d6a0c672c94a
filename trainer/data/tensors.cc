#include "trainer/data/tensors.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

namespace reprise {
namespace {

// In LibTorch's own memory: its alignment is part of what decides which kernel
// runs.
template <typename T>
at::Tensor Copy(const std::vector<T>& values, at::IntArrayRef shape,
                at::ScalarType dtype) {
  at::Tensor tensor = at::empty(shape, dtype);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<T>());
  return tensor;
}

}  // namespace

BatchTensors ToTensors(const HostBatch& batch, const Dataset& data,
                       at::Device device) {
  const int64_t n = batch.order.sample_ids.size();
  BatchTensors tensors;
  if (data.is_text()) {
    const int64_t length = data.sequence_length;
    tensors.input = Copy(batch.tokens, {n, length}, at::kLong);
    tensors.labels = Copy(batch.labels, {n, length}, at::kLong);
  } else {
    tensors.input = Copy(
        batch.images, {n, data.channels, data.height, data.width}, at::kFloat);
    tensors.labels = Copy(batch.labels, {n}, at::kLong);
  }
  return {tensors.input.to(device), tensors.labels.to(device)};
}

}  // namespace reprise
