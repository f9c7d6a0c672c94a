// Between LibTorch's tensors and the checkpoint's.
#ifndef REPRISE_TRAINER_CHECKPOINT_TORCH_TENSOR_H_
#define REPRISE_TRAINER_CHECKPOINT_TORCH_TENSOR_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "absl/status/status.h"
#include "format/snapshot.h"

namespace reprise {

// `tensor` under `name`. Shares its memory when it is dense, row-major and on
// the CPU; otherwise holds a copy that is. REQUIRES: a dtype that the format
// has (checked).
Tensor ViewOf(std::string name, const at::Tensor& tensor);

// Overwrites the elements of `destination` (any device, any strides) by those
// of `source`. Errors: InvalidArgument naming the tensor when dtype or shape
// differ; nothing is changed then.
absl::Status CopyInto(const Tensor& source, const at::Tensor& destination);

}  // namespace reprise

#endif  // REPRISE_TRAINER_CHECKPOINT_TORCH_TENSOR_H_
