// What the training loop asks of a model: named parameters and buffers, a
// forward pass, and the train / evaluate mode.
//
//   reprise::ModelOptions options;
//   options.kind = "gpt";
//   auto model = reprise::MakeModel(options);
//   if (!model.ok()) return model.status();
//   at::Tensor loss = reprise::MeanLoss((*model)->Forward(tokens), next);
//
// Shape legend of this folder: B batch, C channels, H height, W width, K
// classes, T sequence length.
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
  std::string kind;      // "convnet", "mlp", "resnet18" or "gpt"
  int64_t hidden = 128;  // width of hidden linear layers, of gpt's embedding;
                         // >= 1; not resnet18
  double dropout = 0;    // [0, 1); not resnet18
  int64_t channels = 1;  // C
  int64_t height = 28;   // H
  int64_t width = 28;    // W
  int64_t classes = 10;  // K; of gpt: different tokens
  int64_t resnet_width = 64;  // resnet18 only: channels of its first stage,
                              // >= 1; its paper's is 64
  // gpt only
  int64_t layers = 4;             // blocks, >= 1
  int64_t heads = 4;              // of attention, >= 1, divide hidden
  int64_t sequence_length = 128;  // the longest T, >= 1
};

// Algorithm of the first values: LibTorch's default initialisation of each
// module, drawn from its CPU generator in the order of registration.
inline constexpr char kTorchDefaultV1[] = "torch-default-v1";
// The same, then drawn again as in GPT-2 (spec/ALGORITHMS.md).
inline constexpr char kGpt2NormalV1[] = "gpt2-normal-v1";

// Not thread-safe.
class Model {
 public:
  virtual ~Model() = default;

  // input: f32 [B, C, H, W], normalised images, or of gpt i64 [B, T], tokens.
  // Returns logits [B, K], of gpt [B, T, K], f32 whatever precision the linear
  // layers ran in.
  virtual at::Tensor Forward(const at::Tensor& input) = 0;

  // In registration order, which is the same in every process. No two share
  // storage: a tied tensor is here once.
  virtual std::vector<NamedTensor> Parameters() const = 0;
  // The other names of tied parameters, e.g. gpt's "lm_head.weight", which is
  // "wte.weight": for the checkpoint's model.ties, not for an optimizer.
  virtual std::vector<NamedTensor> TiedNames() const { return {}; }
  // Running statistics and their counters.
  virtual std::vector<NamedTensor> Buffers() const = 0;

  // Dropout and batch statistics are on while training only.
  virtual void SetTraining(bool training) = 0;
  virtual void MoveTo(at::Device device) = 0;
  // Rounds the matrices (parameters of two dimensions) to `dtype` and keeps
  // them in it, f16 or bf16; kernels, norms and biases stay f32. Forward then
  // runs under autocast to the same dtype. REQUIRES: no gradients.
  virtual void KeepMatricesIn(at::ScalarType dtype) = 0;

  // Id of the algorithm that gave the first values.
  virtual const char* initialisation() const { return kTorchDefaultV1; }
};

// Builds a model with freshly drawn values. Errors: InvalidArgument for an
// unknown kind, naming the known ones, and for heads that do not divide hidden.
absl::StatusOr<std::unique_ptr<Model>> MakeModel(const ModelOptions& options);

}  // namespace reprise

#endif  // REPRISE_TRAINER_MODEL_MODEL_H_
