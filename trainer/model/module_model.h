// Gives a torch::nn::Module the interface that the loop uses. Included by the
// models' .cc files only: LibTorch's module headers are slow to compile.
#ifndef REPRISE_TRAINER_MODEL_MODULE_MODEL_H_
#define REPRISE_TRAINER_MODEL_MODULE_MODEL_H_

#include <torch/nn/module.h>

#include <memory>
#include <utility>
#include <vector>

#include "trainer/model/model.h"

namespace reprise {

// Net is a torch::nn::Module with `at::Tensor forward(const at::Tensor&)`.
template <typename Net>
class ModuleModel : public Model {
 public:
  explicit ModuleModel(std::shared_ptr<Net> net) : net_(std::move(net)) {}

  at::Tensor Forward(const at::Tensor& input) override {
    return net_->forward(input);
  }
  std::vector<NamedTensor> Parameters() const override {
    return Named(net_->named_parameters());
  }
  std::vector<NamedTensor> Buffers() const override {
    return Named(net_->named_buffers());
  }
  void SetTraining(bool training) override { net_->train(training); }
  void MoveTo(at::Device device) override { net_->to(device); }
  void KeepMatricesIn(at::ScalarType dtype) override {
    for (at::Tensor& p : net_->parameters()) {
      if (p.dim() == 2) p.set_data(p.detach().to(dtype));
    }
  }

 protected:
  const Net& net() const { return *net_; }

 private:
  static std::vector<NamedTensor> Named(
      const torch::OrderedDict<std::string, at::Tensor>& tensors) {
    std::vector<NamedTensor> named;
    for (const auto& item : tensors)
      named.push_back({item.key(), item.value()});
    return named;
  }

  std::shared_ptr<Net> net_;
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_MODEL_MODULE_MODEL_H_
