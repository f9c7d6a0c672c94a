#include <cstdint>
#include <vector>

#include "trainer/checkpoint/train_state_codec.h"

namespace reprise {
namespace {

void Forget(std::vector<Tensor>* tensors) {
  for (Tensor& tensor : *tensors) {
    Tensor shell = Tensor::Elsewhere(tensor.name(), tensor.dtype(),
                                     tensor.shape(), tensor.DimensionOrder());
    if (tensor.storage().has_value()) {
      shell.SetStorage(tensor.storage()->id, tensor.storage()->offset);
    } else if (tensor.data() != nullptr) {
      // Where it lay says which are one.
      shell.SetStorage(reinterpret_cast<uintptr_t>(tensor.data()), 0);
    }
    tensor = shell;
  }
}

}  // namespace

void ForgetBytes(Snapshot* snapshot) {
  for (auto* tensors : {&snapshot->parameters, &snapshot->buffers,
                        &snapshot->masters, &snapshot->gradients,
                        &snapshot->ema_weights, &snapshot->user_tensors}) {
    Forget(tensors);
  }
  if (!snapshot->optimizer.has_value()) return;
  for (ParameterState& state : snapshot->optimizer->states) {
    Forget(&state.moments);
  }
}

}  // namespace reprise
