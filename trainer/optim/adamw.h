// AdamW (Loshchilov and Hutter, 2019, algorithm 2) with the sequence of
// operations of PyTorch's single-tensor implementation, so that the bits are
// the same, and with state that belongs to parameter names.
//
//   auto optimizer = AdamW::Create({{.name = "all", .parameters = {...}}}, {});
//   ... backward ...
//   (*optimizer)->Step();
#ifndef REPRISE_TRAINER_OPTIM_ADAMW_H_
#define REPRISE_TRAINER_OPTIM_ADAMW_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "format/snapshot.h"
#include "trainer/model/model.h"

namespace reprise {

// Id of the operations that decide the bits (spec/ALGORITHMS.md).
inline constexpr char kTorchSingleTensorV1[] = "torch-single-tensor-v1";

// Not thread-safe.
class AdamW {
 public:
  struct Group {
    std::string name;
    std::vector<NamedTensor> parameters;
    double lr = 1e-3;  // in force for the next step
    double base_lr = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 1e-2;
  };

  // No state exists until a parameter's first Step with a gradient.
  explicit AdamW(std::vector<Group> groups);

  std::vector<Group>& groups() { return groups_; }
  const std::vector<Group>& groups() const { return groups_; }

  // One update of every parameter that has a gradient, in the groups' order. A
  // zero gradient still moves a parameter; no gradient leaves it and its state
  // alone.
  void Step();
  void ZeroGrad();

  // The state; moments share memory with the optimizer until they are copied.
  OptimizerState state() const;
  // Replaces options and moments by those of `state`, matched by name. Errors
  // (nothing is changed then): InvalidArgument naming the parameter when groups
  // or parameters differ, a shape or dtype is another, or a moment is missing.
  absl::Status Load(const OptimizerState& state);

 private:
  struct Moments {
    uint64_t step = 0;
    at::Tensor exp_avg;     // shape of the parameter
    at::Tensor exp_avg_sq;  // shape of the parameter
  };

  std::vector<Group> groups_;
  // Parallel to the parameters of all groups in order.
  std::vector<Moments> moments_;
};

// Splits parameters into "decay" (matrices and kernels) and "no_decay" (biases
// and norms: fewer than two dimensions), both in the given order.
std::vector<AdamW::Group> GroupsByRank(
    const std::vector<NamedTensor>& parameters, const AdamW::Group& options);

}  // namespace reprise

#endif  // REPRISE_TRAINER_OPTIM_ADAMW_H_
