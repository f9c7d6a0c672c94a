#include "conformance/fake/noisy_model.h"

#include "conformance/fake/generator.h"

namespace reprise::conformance::fake {

// Up to two units in the last place of a float, either way.
float NoisyModel::Perturbed(float value) {
  return value * (1.0f + (Draw(&generator_) - 0.5f) * 0x1p-21f);
}

double NoisyModel::LossAndGradients(const Batch& batch, float factor,
                                    State* state, Arrays* gradients) {
  const double loss = model_->LossAndGradients(batch, factor, state, gradients);
  for (Array& array : *gradients) {
    for (float& value : *array.mutable_values()) value = Perturbed(value);
  }
  return double{Perturbed(static_cast<float>(loss))};
}

double NoisyModel::HeldOutLoss(uint64_t sample, const Arrays& weights,
                               const State& state) {
  return model_->HeldOutLoss(sample, weights, state);
}

}  // namespace reprise::conformance::fake
