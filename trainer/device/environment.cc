#include "trainer/device/environment.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <malloc.h>

#include <fstream>
#include <limits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "trainer/device/kernel_probe.h"
#include "trainer/version.h"

namespace reprise {
namespace {

// Model name of the first CPU in /proc/cpuinfo.
std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!absl::StartsWith(line, "model name")) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) break;
    return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return "unknown";
}

std::string PrecisionName(at::ScalarType dtype) {
  return dtype == at::kHalf ? "fp16" : dtype == at::kBFloat16 ? "bf16" : "fp32";
}

// A step frees and allocates the same activations again. By default the C
// library gives the larger ones back to the system each time, and the pages are
// cleared and mapped anew: a tenth of a step's time for gpt.
void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most it takes
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace

void SetUpLibTorch(int threads, bool deterministic, bool allow_tf32) {
  KeepFreedMemory();
  at::set_num_interop_threads(1);
  at::set_num_threads(threads);
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(deterministic, /*warn_only=*/true);
  // Results never read memory that was not written; filling it costs time.
  context.setDeterministicFillUninitializedMemory(false);
  context.setDeterministicCuDNN(deterministic);
  context.setBenchmarkCuDNN(false);
  context.setAllowTF32CuBLAS(allow_tf32);
  context.setAllowTF32CuDNN(allow_tf32);
}

EnvironmentState DescribeEnvironment(at::Device device, at::ScalarType dtype) {
  EnvironmentState now;
  now.level = ResumeLevel::BITWISE;
  now.trainer_version = kTrainerVersion;
  now.libtorch_version = LibTorchVersion();
  now.compiler = absl::StrCat("gcc-compatible ", __VERSION__);
  now.device = device.is_cuda() ? "cuda" : "cpu";
  now.device_name = CpuName();
  now.cpu_capability = at::get_cpu_capability();
  now.threads = at::get_num_threads();
  now.world_size = 1;
  now.autocast_dtype = PrecisionName(dtype);
  now.deterministic = at::globalContext().deterministicAlgorithms();
  now.allow_tf32 = at::globalContext().allowTF32CuBLAS();
  now.kernel_probe = KernelProbe(device, dtype);
  return now;
}

ResumePromise PromiseFor(const EnvironmentState& saved,
                         const EnvironmentState& now) {
  std::vector<std::string> differences;
  auto compare = [&differences](const char* what, auto before, auto after) {
    if (before != after) {
      differences.push_back(absl::StrCat(what, " ", before, " -> ", after));
    }
  };
  compare("LibTorch", saved.libtorch_version, now.libtorch_version);
  compare("device", saved.device, now.device);
  compare("threads", saved.threads, now.threads);
  compare("CPU capability", saved.cpu_capability, now.cpu_capability);
  compare("world size", saved.world_size, now.world_size);
  if (differences.empty() && saved.kernel_probe != now.kernel_probe) {
    differences.push_back("the kernel probe (same names, other kernels)");
  }
  if (differences.empty())
    return {ResumeLevel::BITWISE, "same kernels and threads"};
  return {ResumeLevel::SAME_ORDER,
          absl::StrCat("same samples and random streams, but other bits: ",
                       absl::StrJoin(differences, ", "))};
}

}  // namespace reprise
