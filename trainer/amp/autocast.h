// Scoped automatic mixed precision.
//
//   {
//     amp::Autocast autocast(at::kCPU, at::kHalf);
//     loss = Loss(model->Forward(images), labels);
//   }                      // weights cast inside are forgotten here
//   loss.backward();       // outside, as PyTorch recommends
#ifndef REPRISE_TRAINER_AMP_AUTOCAST_H_
#define REPRISE_TRAINER_AMP_AUTOCAST_H_

#include <ATen/core/Tensor.h>

namespace reprise::amp {

// Runs the operators of LibTorch's autocast lists in `dtype` for the scope;
// kFloat means no autocast. State is per thread; scopes nest.
class Autocast {
 public:
  Autocast(at::DeviceType device, at::ScalarType dtype);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  const at::DeviceType device_;
  const bool was_enabled_;
  const at::ScalarType previous_dtype_;
};

// Leaves autocast for the scope when it would compute in fp16 on the CPU, and
// does nothing anywhere else. A stated per-operation rule, like autocast's own
// lists: it depends on the device and the dtype only.
class FullPrecisionOnHalfCpu {
 public:
  explicit FullPrecisionOnHalfCpu(at::Device device);
  ~FullPrecisionOnHalfCpu();
  FullPrecisionOnHalfCpu(const FullPrecisionOnHalfCpu&) = delete;
  FullPrecisionOnHalfCpu& operator=(const FullPrecisionOnHalfCpu&) = delete;

 private:
  const bool active_;
};

}  // namespace reprise::amp

#endif  // REPRISE_TRAINER_AMP_AUTOCAST_H_
