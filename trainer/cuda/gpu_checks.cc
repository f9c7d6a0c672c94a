#include "trainer/cuda/gpu_checks.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "format/digest/chunk_digest.h"
#include "trainer/cuda/cuda_library.h"

namespace reprise::cuda {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin)
      .count();
}

at::Tensor RandomBytes(int64_t size) {
  return at::randint(0, 256, {size},
                     at::TensorOptions(at::kByte).device(at::kCUDA));
}

absl::string_view BytesOf(const at::Tensor& on_cpu) {
  return {static_cast<const char*>(on_cpu.const_data_ptr()),
          static_cast<size_t>(on_cpu.nbytes())};
}

GpuCheck DigestsAreTheCpus(const CudaLibrary& library) {
  GpuCheck check{"digests on the GPU are the CPU's", true, ""};
  int compared = 0;
  for (int64_t size : {1, 240, 241, 1024, 1025, 65535, 65536, 65537, 65776,
                       65777, 1000003, 64 << 20}) {
    const at::Tensor whole = RandomBytes(size + 16);
    for (int64_t from : {0, 1, 8}) {
      const at::Tensor view = whole.slice(0, from, from + size);
      const auto found = library.Digest(view.const_data_ptr(), size);
      const at::Tensor copy = view.to(at::kCPU).contiguous();
      ++compared;
      if (!found.ok() || *found != ChunkDigests(BytesOf(copy))) {
        check.passed = false;
        check.says = absl::StrCat(
            size, " bytes from ", from, ": ",
            found.ok() ? "another digest" : found.status().ToString());
        return check;
      }
    }
  }
  check.says = absl::StrCat(compared, " tensors compared");
  return check;
}

// Tensors that are overwritten on the GPU right after Start.
GpuCheck StagedBytesAreThoseOfTheStart(const CudaLibrary& library) {
  GpuCheck check{"staged bytes are those of the moment of the snapshot", true,
                 ""};
  auto stager = library.MakeStager();
  if (!stager.ok()) return {check.name, false, stager.status().ToString()};
  for (int round = 0; round < 20; ++round) {
    std::vector<at::Tensor> tensors, expected;
    std::vector<CudaLibrary::Copy> copies;
    for (int64_t size : {3, 4096, 1000003, 32 << 20}) {
      tensors.push_back(RandomBytes(size));
      expected.push_back(tensors.back().to(at::kCPU));
      copies.push_back(
          {tensors.back().const_data_ptr(), static_cast<uint64_t>(size)});
    }
    std::vector<const char*> host;
    absl::Status status = (*stager)->Start(copies, nullptr, &host);
    for (const at::Tensor& tensor : tensors) tensor.zero_();
    if (status.ok()) status = (*stager)->Wait();
    if (!status.ok()) return {check.name, false, status.ToString()};
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (std::memcmp(host[i], expected[i].const_data_ptr(), copies[i].size) !=
          0) {
        return {check.name, false,
                absl::StrCat("round ", round, ": tensor ", i, " differs")};
      }
    }
  }
  check.says = "20 rounds of 4 tensors, overwritten at once";
  return check;
}

// Time until training can go on, against one bare copy of the same bytes to
// pinned memory; interleaved.
GpuCheck StallAgainstABareCopy(const CudaLibrary& library) {
  GpuCheck check{"a snapshot stalls at most 1.2 x a bare copy", false, ""};
  constexpr int64_t kBytes = int64_t{1} << 30;
  const at::Tensor data = RandomBytes(kBytes);
  const at::Tensor work =
      at::randn({4096, 4096}, at::TensorOptions(at::kFloat).device(at::kCUDA));
  auto stager = library.MakeStager();
  auto bare = library.MakeStager();
  if (!stager.ok() || !bare.ok()) return check;
  // The state of a model is many tensors; a bare copy is one.
  std::vector<CudaLibrary::Copy> parts;
  constexpr int kParts = 200;
  for (int i = 0; i < kParts; ++i) {
    parts.push_back(
        {static_cast<const char*>(data.const_data_ptr()) + kBytes / kParts * i,
         static_cast<uint64_t>(kBytes / kParts)});
  }
  const std::vector<CudaLibrary::Copy> whole = {
      {data.const_data_ptr(), static_cast<uint64_t>(kBytes)}};
  std::vector<double> ratios;
  std::vector<const char*> host;
  for (int round = 0; round < 12; ++round) {
    double times[2];
    for (int which = 0; which < 2; ++which) {
      const auto begin = Clock::now();
      auto& used = which == 0 ? **stager : **bare;
      if (!used.Start(which == 0 ? parts : whole, nullptr, &host).ok()) {
        return check;
      }
      // The next step's first result.
      (void)at::matmul(work, work).sum().item<float>();
      times[which] = MillisecondsSince(begin);
      if (!used.Wait().ok()) return check;
    }
    // The first rounds allocate the pinned memory.
    if (round >= 2) ratios.push_back(times[0] / times[1]);
  }
  std::sort(ratios.begin(), ratios.end());
  const double median = ratios[ratios.size() / 2];
  check.passed = median <= 1.2;
  check.says = absl::StrFormat("median %.3f, %.3f to %.3f, 1 GiB in %d tensors",
                               median, ratios.front(), ratios.back(), kParts);
  return check;
}

GpuCheck GeneratorStateComesBack() {
  GpuCheck check{"the GPU's generator goes on from its saved state", false, ""};
  at::Generator generator =
      at::globalContext().defaultGenerator(at::Device(at::kCUDA, 0));
  const auto options = at::TensorOptions(at::kFloat).device(at::kCUDA);
  (void)at::randn({1000}, options);
  const at::Tensor state = generator.get_state();
  const at::Tensor first = at::randn({1000}, options).to(at::kCPU);
  generator.set_state(state);
  const at::Tensor again = at::randn({1000}, options).to(at::kCPU);
  check.passed = BytesOf(first) == BytesOf(again);
  check.says = absl::StrCat(state.numel(), " bytes of state");
  return check;
}

}  // namespace

std::vector<GpuCheck> RunGpuChecks() {
  const auto library = CudaLibrary::Load();
  if (!library.ok()) {
    return {{"libreprise_cuda.so loads", false, library.status().ToString()}};
  }
  return {DigestsAreTheCpus(**library),
          StagedBytesAreThoseOfTheStart(**library),
          StallAgainstABareCopy(**library), GeneratorStateComesBack()};
}

}  // namespace reprise::cuda
