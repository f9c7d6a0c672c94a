#include "trainer/device/cuda_backend.h"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace reprise {
namespace {

constexpr char kLibrary[] = "libtorch_cuda.so";

std::vector<std::string> Candidates() {
  std::vector<std::string> paths = {kLibrary};
  if (const char* home = getenv("LIBTORCH_HOME"); home != nullptr) {
    paths.push_back(absl::StrCat(home, "/lib/", kLibrary));
  }
  // Only the address is taken: calling it would be the first LibTorch call.
  Dl_info cpu_half;
  if (dladdr(reinterpret_cast<const void*>(&at::show_config), &cpu_half) != 0) {
    if (char* real = realpath(cpu_half.dli_fname, nullptr); real != nullptr) {
      const std::string path = real;
      free(real);
      paths.push_back(path.substr(0, path.rfind('/') + 1) + kLibrary);
    }
  }
  return paths;
}

}  // namespace

absl::Status LoadCudaBackend() {
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  std::vector<std::string> failures;
  bool loaded = false;
  for (const std::string& path : Candidates()) {
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) {
      loaded = true;
      break;
    }
    failures.push_back(dlerror());
  }
  if (!loaded) {
    return absl::UnimplementedError(absl::StrCat(
        "--device=cuda: LibTorch's CUDA half could not be loaded: ",
        absl::StrJoin(failures, "; "),
        ". It needs an NVIDIA driver and the CUDA libraries that the torch "
        "wheel names; set LIBTORCH_HOME to a torch installation that has them, "
        "or train with --device=cpu"));
  }
  if (!at::hasCUDA() || at::getNumGPUs() == 0) {
    return absl::UnimplementedError(
        "--device=cuda: LibTorch's CUDA half is loaded and finds no GPU; check "
        "that nvidia-smi lists one, or train with --device=cpu");
  }
  return absl::OkStatus();
}

}  // namespace reprise
