// Two hidden layers of the same shape, batch norm after the first, dropout
// after the second.
//
//   [B,C*H*W] fc1 -> [B,hidden] norm relu, fc2 -> [B,hidden] relu dropout,
//             fc3 -> [B,K]
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include "trainer/model/module_model.h"
#include "trainer/model/nets.h"

namespace reprise {
namespace {

namespace nn = torch::nn;

struct Mlp : nn::Module {
  explicit Mlp(const ModelOptions& o)
      : fc1(register_module(
            "fc1", nn::Linear(o.channels * o.height * o.width, o.hidden))),
        norm(register_module("norm", nn::BatchNorm1d(o.hidden))),
        fc2(register_module("fc2", nn::Linear(o.hidden, o.hidden))),
        dropout(register_module("dropout", nn::Dropout(o.dropout))),
        fc3(register_module("fc3", nn::Linear(o.hidden, o.classes))) {}

  at::Tensor forward(const at::Tensor& images) {
    // The statistics are taken in fp32: a half-precision sum over the batch
    // would lose what they measure.
    at::Tensor x = at::relu(norm(fc1(images.flatten(1)).to(at::kFloat)));
    x = dropout(at::relu(fc2(x)));
    return fc3(x).to(at::kFloat);
  }

  nn::Linear fc1;
  nn::BatchNorm1d norm;
  nn::Linear fc2;
  nn::Dropout dropout;
  nn::Linear fc3;
};

}  // namespace

std::unique_ptr<Model> MakeMlp(const ModelOptions& options) {
  return std::make_unique<ModuleModel<Mlp>>(std::make_shared<Mlp>(options));
}

}  // namespace reprise
