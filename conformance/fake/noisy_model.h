// NoisyModel: a model whose gradients differ at rounding level from run to run,
// as those of kernels that add in any order do.
#ifndef REPRISE_CONFORMANCE_FAKE_NOISY_MODEL_H_
#define REPRISE_CONFORMANCE_FAKE_NOISY_MODEL_H_

#include <cstdint>
#include <memory>

#include "conformance/fake/parts.h"

namespace reprise::conformance::fake {

class NoisyModel : public Model {
 public:
  // `entropy` differs from process to process.
  NoisyModel(std::unique_ptr<Model> model, uint64_t entropy)
      : model_(std::move(model)) {
    generator_.set_seed(entropy);
  }

  double LossAndGradients(const Batch& batch, float factor, State* state,
                          Arrays* gradients) override;
  double HeldOutLoss(uint64_t sample, const Arrays& weights,
                     const State& state) override;

 private:
  float Perturbed(float value);

  std::unique_ptr<Model> model_;
  GeneratorState generator_;
};

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_NOISY_MODEL_H_
