// Two convolutions with batch norm, two linear layers with dropout between.
//
//   [B,C,H,W] conv1 3x3 -> [B,16,H,W] norm relu pool -> [B,16,H/2,W/2]
//             conv2 3x3 -> [B,32,H/2,W/2] norm relu pool -> [B,32,H/4,W/4]
//             fc1 -> [B,hidden] relu dropout, fc2 -> [B,K]
#include <torch/nn/functional/activation.h>
#include <torch/nn/functional/pooling.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include "trainer/amp/autocast.h"
#include "trainer/model/module_model.h"
#include "trainer/model/nets.h"

namespace reprise {
namespace {

namespace nn = torch::nn;

struct ConvNet : nn::Module {
  explicit ConvNet(const ModelOptions& o)
      : conv1(register_module(
            "conv1",
            nn::Conv2d(nn::Conv2dOptions(o.channels, 16, 3).padding(1)))),
        norm1(register_module("norm1", nn::BatchNorm2d(16))),
        conv2(register_module(
            "conv2", nn::Conv2d(nn::Conv2dOptions(16, 32, 3).padding(1)))),
        norm2(register_module("norm2", nn::BatchNorm2d(32))),
        fc1(register_module(
            "fc1", nn::Linear(32 * (o.height / 4) * (o.width / 4), o.hidden))),
        dropout(register_module("dropout", nn::Dropout(o.dropout))),
        fc2(register_module("fc2", nn::Linear(o.hidden, o.classes))) {}

  at::Tensor forward(const at::Tensor& images) {
    at::Tensor x;
    {
      // An fp16 convolution's backward is two orders of magnitude slower than
      // fp32 on the CPU, so there this part leaves autocast.
      const amp::FullPrecisionOnHalfCpu full_precision(images.device());
      x = at::max_pool2d(at::relu(norm1(conv1(images))), 2);
      x = at::max_pool2d(at::relu(norm2(conv2(x))), 2);
    }
    x = dropout(at::relu(fc1(x.flatten(1))));
    return fc2(x).to(at::kFloat);
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d norm1;
  nn::Conv2d conv2;
  nn::BatchNorm2d norm2;
  nn::Linear fc1;
  nn::Dropout dropout;
  nn::Linear fc2;
};

}  // namespace

std::unique_ptr<Model> MakeConvNet(const ModelOptions& options) {
  return std::make_unique<ModuleModel<ConvNet>>(
      std::make_shared<ConvNet>(options));
}

}  // namespace reprise
