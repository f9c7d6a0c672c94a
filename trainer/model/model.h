// What the training loop asks of a model: named parameters and buffers, a
// forward pass, and the train / evaluate mode.
//
// Shape legend of this folder: B batch, C channels, H height, W width, K
// classes.
#ifndef REPRISE_TRAINER_MODEL_MODEL_H_
#define REPRISE_TRAINER_MODEL_MODEL_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace reprise {

// A tensor with the name that identifies it across processes, e.g.
// "conv1.weight". Copies share storage.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

struct ModelOptions {
  std::string kind;      // "convnet", "mlp" or "resnet18"
  int64_t hidden = 128;  // width of hidden linear layers, >= 1; not resnet18
  double dropout = 0;    // [0, 1); not resnet18
  int64_t channels = 1;  // C
  int64_t height = 28;   // H
  int64_t width = 28;    // W
  int64_t classes = 10;  // K
};

// Algorithm of the first values: LibTorch's default initialisation of each
// module, drawn from its CPU generator in the order of registration.
inline constexpr char kTorchDefaultV1[] = "torch-default-v1";

// Not thread-safe.
class Model {
 public:
  virtual ~Model() = default;

  // images: f32 [B, C, H, W], normalised. Returns logits [B, K], f32 whatever
  // precision the linear layers ran in.
  virtual at::Tensor Forward(const at::Tensor& images) = 0;

  // In registration order, which is the same in every process.
  virtual std::vector<NamedTensor> Parameters() const = 0;
  // Running statistics and their counters.
  virtual std::vector<NamedTensor> Buffers() const = 0;

  // Dropout and batch statistics are on while training only.
  virtual void SetTraining(bool training) = 0;
  virtual void MoveTo(at::Device device) = 0;
};

// Builds a model with freshly drawn values (kTorchDefaultV1). Errors:
// InvalidArgument for an unknown kind, naming the known ones.
absl::StatusOr<std::unique_ptr<Model>> MakeModel(const ModelOptions& options);

}  // namespace reprise

#endif  // REPRISE_TRAINER_MODEL_MODEL_H_
