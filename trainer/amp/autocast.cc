#include "trainer/amp/autocast.h"

#include <ATen/autocast_mode.h>

namespace reprise::amp {

Autocast::Autocast(at::DeviceType device, at::ScalarType dtype)
    : device_(device),
      was_enabled_(at::autocast::is_autocast_enabled(device)),
      previous_dtype_(at::autocast::get_autocast_dtype(device)) {
  at::autocast::set_autocast_enabled(device, dtype != at::kFloat);
  if (dtype != at::kFloat) at::autocast::set_autocast_dtype(device, dtype);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  // The cache holds half-precision copies of the weights; the optimizer is
  // about to change the originals.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, previous_dtype_);
}

FullPrecisionOnHalfCpu::FullPrecisionOnHalfCpu(at::Device device)
    : active_(device.is_cpu() && at::autocast::is_autocast_enabled(at::kCPU) &&
              at::autocast::get_autocast_dtype(at::kCPU) == at::kHalf) {
  if (active_) at::autocast::set_autocast_enabled(at::kCPU, false);
}

FullPrecisionOnHalfCpu::~FullPrecisionOnHalfCpu() {
  if (active_) at::autocast::set_autocast_enabled(at::kCPU, true);
}

}  // namespace reprise::amp
