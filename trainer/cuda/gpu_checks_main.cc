// Prints one line a check; exit 0 when all passed, 12 when one did not, 10
// without a GPU. tools/gpu_check runs it.
#include <iostream>

#include "format/refusal.h"
#include "trainer/cuda/gpu_checks.h"
#include "trainer/device/cuda_backend.h"

int main() {
  const absl::Status loaded = reprise::LoadCudaBackend();
  if (!loaded.ok()) {
    std::cerr << loaded.message() << "\n";
    return static_cast<int>(reprise::ExitCodeFor(loaded));
  }
  bool all = true;
  for (const reprise::cuda::GpuCheck& check : reprise::cuda::RunGpuChecks()) {
    std::cout << (check.passed ? "PASS  " : "FAIL  ") << check.name << " ("
              << check.says << ")\n";
    all &= check.passed;
  }
  return static_cast<int>(all ? reprise::ExitCode::EXIT_DONE
                              : reprise::ExitCode::EXIT_TRAINING_FAILED);
}
