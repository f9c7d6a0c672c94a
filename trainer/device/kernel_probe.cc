#include "trainer/device/kernel_probe.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <xxhash.h>

#include <vector>

namespace reprise {
namespace {

// Values in [-1, 1) that look random and are the same everywhere: a
// multiplicative sequence of integers, exact in fp32.
at::Tensor Fixed(at::IntArrayRef shape, at::Device device) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  at::Tensor values = at::empty({count}, at::kFloat);
  float* out = values.mutable_data_ptr<float>();
  uint32_t x = 12345;
  for (int64_t i = 0; i < count; ++i) {
    x = x * 1664525u + 1013904223u;
    out[i] = static_cast<float>(static_cast<int32_t>(x) >> 8) / (1 << 23);
  }
  return values.view(shape).to(device);
}

}  // namespace

std::string KernelProbe(at::Device device, at::ScalarType dtype) {
  std::vector<at::Tensor> results;
  {
    const at::NoGradGuard no_grad;
    // Sizes that cross the blocking of common kernels, with ragged edges.
    const at::Tensor a = Fixed({70, 333}, device).to(dtype);
    const at::Tensor b = Fixed({333, 130}, device).to(dtype);
    results.push_back(at::matmul(a, b));
    results.push_back(
        at::linear(a, b.t().contiguous(), Fixed({130}, device).to(dtype)));
    results.push_back(at::softmax(Fixed({33, 257}, device), 1));
    results.push_back(at::sum(Fixed({100003}, device)));
    results.push_back(at::batch_norm(
        Fixed({8, 5, 11, 11}, device), Fixed({5}, device), Fixed({5}, device),
        {}, {}, /*training=*/true, 0.1, 1e-5, /*cudnn_enabled=*/true));
  }
  const at::Tensor images = Fixed({4, 3, 17, 17}, device).requires_grad_(true);
  const at::Tensor kernels = Fixed({8, 3, 3, 3}, device).requires_grad_(true);
  const at::Tensor convolved = at::conv2d(images, kernels, {}, 1, 1);
  convolved.square().sum().backward();
  results.push_back(convolved.detach());
  results.push_back(images.grad());
  results.push_back(kernels.grad());

  XXH3_state_t* hash = XXH3_createState();
  XXH3_128bits_reset(hash);
  for (const at::Tensor& result : results) {
    const at::Tensor dense = result.to(at::kCPU).contiguous();
    XXH3_128bits_update(hash, dense.const_data_ptr(), dense.nbytes());
  }
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(hash));
  XXH3_freeState(hash);
  return std::string(reinterpret_cast<const char*>(canonical.digest),
                     sizeof(canonical.digest));
}

}  // namespace reprise
