// A fingerprint of the kernels that a process computes with.
#ifndef REPRISE_TRAINER_DEVICE_KERNEL_PROBE_H_
#define REPRISE_TRAINER_DEVICE_KERNEL_PROBE_H_

#include <ATen/core/Tensor.h>

#include <string>

namespace reprise {

// XXH3-128 (16 bytes, canonical) over the results of small fixed passes:
// matrix product and linear layer in `dtype`, 3x3 convolution forward and
// backward, softmax, batch norm and a long sum in fp32, on `device` with the
// threads in force. Two processes with equal probes compute with the same
// kernels as far as these passes can tell; only then may bitwise resumption be
// claimed. Draws from no generator; takes some ten milliseconds.
std::string KernelProbe(at::Device device, at::ScalarType dtype);

}  // namespace reprise

#endif  // REPRISE_TRAINER_DEVICE_KERNEL_PROBE_H_
