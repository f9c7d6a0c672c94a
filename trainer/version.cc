#include "trainer/version.h"

#include <torch/version.h>

namespace reprise {

std::string LibTorchVersion() { return TORCH_VERSION; }

}  // namespace reprise
