// Between LibTorch's tensors and the checkpoint's.
#ifndef REPRISE_TRAINER_CHECKPOINT_TORCH_TENSOR_H_
#define REPRISE_TRAINER_CHECKPOINT_TORCH_TENSOR_H_

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "format/snapshot.h"

namespace reprise {

// `tensor` under `name`, with its order of dimensions. Shares its memory when
// it is dense and on the CPU; otherwise holds a copy that is. Views of one
// storage, on a device too, are one tensor in the checkpoint (model.ties).
// REQUIRES: a dtype that the format has (checked).
Tensor ViewOf(std::string name, const at::Tensor& tensor);

// How a capture makes its tensors: ViewOf, or another (staged_tensors.h).
using ViewFunction =
    std::function<Tensor(std::string name, const at::Tensor& tensor)>;

// `tensor` under `name` as ViewOf makes it of one on a device, whose elements
// `copy` brings, in the order in which they lie in `dense`: `tensor` itself, or
// a copy of it without gaps.
Tensor ViewThrough(std::string name, const at::Tensor& tensor,
                   const at::Tensor& dense, Tensor::CopyFunction copy);

// Which storage `tensor` is a view of, for a Tensor that holds a copy.
Tensor::Storage StorageOf(const at::Tensor& tensor);

// Overwrites the elements of `destination` (any device, any strides) by those
// of `source`, and takes over an order of dimensions that is not row-major: it
// decides bits. Errors: InvalidArgument naming the tensor when dtype or shape
// differ; nothing is changed then.
absl::Status CopyInto(const Tensor& source, const at::Tensor& destination);

}  // namespace reprise

#endif  // REPRISE_TRAINER_CHECKPOINT_TORCH_TENSOR_H_
