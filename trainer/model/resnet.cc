// ResNet-18 (He et al., 2016, table 1), with torchvision's parameter names and
// initialisation: its state dict and ours have the same keys, and equal seeds
// give equal values.
//
//   [B,C,H,W] conv1 7x7/2 -> [B,w,H/2,W/2] bn1 relu maxpool 3x3/2
//             layer1..layer4, two basic blocks each, w 2w 4w 8w channels,
//             the first of layer2..4 halves H and W
//             average over H, W -> [B,8w], fc -> [B,K]
//
// w is 64 in the paper (ModelOptions.resnet_width).
#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "trainer/amp/autocast.h"
#include "trainer/model/module_model.h"
#include "trainer/model/nets.h"

namespace reprise {
namespace {

namespace nn = torch::nn;

nn::Conv2d Convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride,
                       int64_t padding) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel)
                        .stride(stride)
                        .padding(padding)
                        .bias(false));
}

struct BasicBlock : nn::Module {
  BasicBlock(int64_t in, int64_t out, int64_t stride)
      : conv1(register_module("conv1", Convolution(in, out, 3, stride, 1))),
        bn1(register_module("bn1", nn::BatchNorm2d(out))),
        conv2(register_module("conv2", Convolution(out, out, 3, 1, 1))),
        bn2(register_module("bn2", nn::BatchNorm2d(out))) {}

  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor inner = bn2(conv2(at::relu(bn1(conv1(x)))));
    return at::relu(inner.add(downsample ? downsample->forward(x) : x));
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Sequential downsample{nullptr};
};

// Two blocks; the first changes channels and size where they differ.
nn::Sequential Layer(int64_t in, int64_t out, int64_t stride) {
  // torchvision makes the projection before the block, and the generator is
  // drawn from in that order.
  nn::Sequential downsample{nullptr};
  if (stride != 1 || in != out) {
    downsample = nn::Sequential(Convolution(in, out, 1, stride, 0),
                                nn::BatchNorm2d(out));
  }
  auto first = std::make_shared<BasicBlock>(in, out, stride);
  if (downsample) {
    first->downsample = first->register_module("downsample", downsample);
  }
  return nn::Sequential(first, std::make_shared<BasicBlock>(out, out, 1));
}

struct ResNet18 : nn::Module {
  explicit ResNet18(const ModelOptions& o)
      : ResNet18(o.channels, o.resnet_width, o.classes) {}

  ResNet18(int64_t channels, int64_t w, int64_t classes)
      : conv1(register_module("conv1", Convolution(channels, w, 7, 2, 3))),
        bn1(register_module("bn1", nn::BatchNorm2d(w))),
        layer1(register_module("layer1", Layer(w, w, 1))),
        layer2(register_module("layer2", Layer(w, 2 * w, 2))),
        layer3(register_module("layer3", Layer(2 * w, 4 * w, 2))),
        layer4(register_module("layer4", Layer(4 * w, 8 * w, 2))),
        fc(register_module("fc", nn::Linear(8 * w, classes))) {
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto* conv = module->as<nn::Conv2d>()) {
        nn::init::kaiming_normal_(conv->weight, 0, torch::kFanOut,
                                  torch::kReLU);
      }
    }
  }

  at::Tensor forward(const at::Tensor& images) {
    at::Tensor x;
    {
      // Convolutions stay in fp32 under fp16 on the CPU (see convnet.cc).
      const amp::FullPrecisionOnHalfCpu full_precision(images.device());
      x = at::max_pool2d(at::relu(bn1(conv1(images))), 3, 2, 1);
      x = layer4->forward(layer3->forward(layer2->forward(layer1->forward(x))));
      x = at::adaptive_avg_pool2d(x, {1, 1}).flatten(1);
    }
    return fc(x).to(at::kFloat);
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Sequential layer1, layer2, layer3, layer4;
  nn::Linear fc;
};

}  // namespace

std::unique_ptr<Model> MakeResNet18(const ModelOptions& options) {
  return std::make_unique<ModuleModel<ResNet18>>(
      std::make_shared<ResNet18>(options));
}

}  // namespace reprise
