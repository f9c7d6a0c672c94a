// Optimizers with the sequence of operations of PyTorch's single-tensor
// implementations, so that the bits are the same, and with state that belongs
// to parameter names:
//
//   adamw  Loshchilov and Hutter, 2019, algorithm 2 (decoupled decay)
//   adam   Kingma and Ba, 2015, algorithm 1 (decay added to the gradient)
//   sgd    with momentum and Nesterov's variant (Sutskever et al., 2013)
//
//   Optimizer::Group group;
//   group.name = "all";
//   group.parameters = model->Parameters();
//   auto optimizer = Optimizer::Create("adamw", {group});
//   ... backward ...
//   (*optimizer)->Step();
//
// Half-precision parameters are stepped through fp32 masters, which the
// optimizer makes, keeps and rounds to the parameters after each step. What
// happens to gradients between backward and Step is then done to the masters':
//
//   loss.backward();
//   optimizer->GatherGradients();                       // nothing to do in
//   fp32 const auto stepped = optimizer->StepTensors(model->Parameters());
//   scaler.Unscale(stepped);
//   ClipGradients(stepped, GradientNorm(stepped), 1.0);
//   optimizer->Step();
#ifndef REPRISE_TRAINER_OPTIM_OPTIMIZER_H_
#define REPRISE_TRAINER_OPTIM_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "format/snapshot.h"
#include "trainer/checkpoint/torch_tensor.h"
#include "trainer/model/model.h"

namespace reprise {

// Id of the operations that decide the bits (spec/ALGORITHMS.md).
inline constexpr char kTorchSingleTensorV1[] = "torch-single-tensor-v1";

// Not thread-safe.
class Optimizer {
 public:
  struct Group {
    std::string name;
    std::string pattern;  // RE2 that chose the parameters; empty: none did
    std::vector<NamedTensor> parameters;
    double lr = 1e-3;       // in force for the next step
    double base_lr = 1e-3;  // what a schedule multiplies
    double lr_scale = 1;    // base_lr as a multiple of the optimizer's own; > 0
    double weight_decay = 1e-2;  // >= 0
    // Whether it is the group's own, and another of the optimizer's leaves it.
    bool own_weight_decay = false;
    // adam, adamw
    double beta1 = 0.9;    // [0, 1)
    double beta2 = 0.999;  // [0, 1)
    double eps = 1e-8;     // > 0
    // sgd
    double momentum = 0;   // >= 0; 0: no buffer
    double dampening = 0;  // 0 with nesterov
    bool nesterov = false;
  };

  // `kind` is "adamw", "adam" or "sgd". No state exists until a parameter's
  // first Step with a gradient, except the masters of f16 and bf16 parameters,
  // which start at the parameters' values. Errors: InvalidArgument for another
  // kind.
  static absl::StatusOr<std::unique_ptr<Optimizer>> Create(
      const std::string& kind, std::vector<Group> groups);
  virtual ~Optimizer() = default;

  const std::string& kind() const { return kind_; }
  std::vector<Group>& groups() { return groups_; }
  const std::vector<Group>& groups() const { return groups_; }

  // One update of every parameter that has a gradient, in the groups' order. A
  // zero gradient still moves a parameter; no gradient leaves it and its state
  // alone.
  void Step();
  void ZeroGrad();
  // Sets every group's learning rate to `fraction` of its base, and where there
  // is a `momentum`, that of sgd or the beta1 of adam and adamw.
  void ApplySchedule(double fraction, std::optional<double> momentum);

  // What Step changes for each of `parameters`, in their order: the parameter
  // or its master. REQUIRES: they are this optimizer's.
  std::vector<at::Tensor> StepTensors(
      const std::vector<NamedTensor>& parameters) const;
  // Gives each master an fp32 copy of its parameter's gradient, or none where
  // that has none. Call it after the last backward of a step.
  void GatherGradients();

  // The state; moments are as `view` makes them, which with ViewOf share memory
  // with the optimizer.
  OptimizerState state(const ViewFunction& view = ViewOf) const;
  // The masters, named as their parameters, likewise.
  std::vector<Tensor> masters(const ViewFunction& view = ViewOf) const;
  // Replaces options, moments and masters by those given, matched by name; the
  // parameters are the caller's to load. Errors (nothing is changed then):
  // InvalidArgument naming the parameter when groups or parameters differ, a
  // shape or dtype is another, or a moment or master is missing or not wanted.
  // Moments and masters are let go of as they are copied.
  absl::Status Load(OptimizerState state, std::vector<Tensor> masters = {});

 protected:
  struct ParameterMoments {
    at::Tensor master;  // f32, of an f16 or bf16 parameter; else undefined
    uint64_t step = 0;  // applied steps
    // In the order of moment_names(), shape of the parameter; empty before the
    // first step.
    std::vector<at::Tensor> tensors;
  };

  Optimizer(std::string kind, std::vector<Group> groups);

 private:
  // Names of the tensors that `group` keeps for each parameter.
  virtual std::vector<std::string> MomentNames(const Group& group) const = 0;
  // Sets the option that a schedule's momentum stands for.
  virtual void SetMomentum(double momentum, Group* group) const = 0;
  // One update of `p`, f32, by `grad`, after moments->step was advanced.
  virtual void Update(const Group& group, const at::Tensor& p,
                      const at::Tensor& grad, ParameterMoments* moments) = 0;
  // Whether a group of the checkpoint has every option of this kind; the copy
  // of the options into `group`.
  virtual absl::Status LoadOptions(const ParameterGroup& from,
                                   Group* group) const = 0;
  virtual void SaveOptions(const Group& group, ParameterGroup* to) const = 0;

  const std::string kind_;
  std::vector<Group> groups_;
  // Parallel to the parameters of all groups in order.
  std::vector<ParameterMoments> moments_;
};

// Splits parameters into "decay" (matrices and kernels) and "no_decay" (biases
// and norms: fewer than two dimensions), both in the given order. Rules over
// names are in parameter_groups.h.
std::vector<Optimizer::Group> GroupsByRank(
    const std::vector<NamedTensor>& parameters,
    const Optimizer::Group& options);

}  // namespace reprise

#endif  // REPRISE_TRAINER_OPTIM_OPTIMIZER_H_
