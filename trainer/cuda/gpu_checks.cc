#include "trainer/cuda/gpu_checks.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "format/digest/chunk_digest.h"
#include "trainer/checkpoint/staged_tensors.h"
#include "trainer/cuda/cuda_library.h"
#include "trainer/cuda/pinned_copier.h"

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

// The tensors of a snapshot as saves stage them, overwritten as soon as they
// are staged; each against a copy that the device made in between.
GpuCheck StagedTensorsAreThoseOfTheSave(
    const std::shared_ptr<HostCopier>& copier) {
  GpuCheck check{"a staged snapshot is the state at the save", false, ""};
  const auto options = at::TensorOptions(at::kFloat).device(at::kCUDA);
  const at::Tensor work = at::randn({2048, 2048}, options);
  for (int round = 0; round < 10; ++round) {
    const at::Tensor whole = at::randn({1000, 300}, options);
    std::vector<at::Tensor> tensors = {
        at::randn({4 << 20}, options),
        at::randn({300, 1000}, options).t(),
        at::randn({8, 3, 32, 32}, options)
            .contiguous(at::MemoryFormat::ChannelsLast),
        whole.slice(1, 10, 290),
        at::randn({777}, options).to(at::kHalf),
        at::empty({0, 4}, options),
        at::randn({}, options),
    };
    // A big model's norms and biases.
    for (int i = 0; i < 3000; ++i) {
      tensors.push_back(at::randn({i % 97 + 1}, options));
    }
    tensors.push_back(tensors[0]);  // tied
    // The step that is still queued when the save begins.
    at::Tensor product = at::matmul(work, work);
    for (int i = 0; i < 20; ++i) product = at::matmul(product, work).tanh();
    for (at::Tensor& tensor : tensors) tensor.add_(1);
    std::vector<at::Tensor> expected;
    for (const at::Tensor& tensor : tensors) expected.push_back(tensor.clone());

    StagedTensors staged(copier);
    const ViewFunction view = staged.View();
    std::vector<Tensor> saved;
    for (const at::Tensor& tensor : tensors) saved.push_back(view("", tensor));
    const absl::Status started = staged.Start();
    for (at::Tensor& tensor : tensors) tensor.fill_(-1);
    if (!started.ok()) return {check.name, false, started.ToString()};
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor plain = ViewOf("", expected[i]);
      std::string bytes(saved[i].num_bytes(), '?');
      const absl::Status read =
          saved[i].CopyBytes(0, bytes.size(), bytes.data());
      if (!read.ok()) return {check.name, false, read.ToString()};
      if (bytes != plain.bytes() ||
          saved[i].DimensionOrder() != plain.DimensionOrder()) {
        return {check.name, false,
                absl::StrCat("round ", round, ": tensor ", i, " differs")};
      }
    }
  }
  check.passed = true;
  check.says = "10 rounds of 3008 tensors, overwritten at once";
  return check;
}

GpuCheck WhatIsNotFiniteIsSeenOnTheDevice(
    const std::shared_ptr<HostCopier>& copier) {
  GpuCheck check{"what is not finite is seen before it is saved", true, ""};
  const auto options = at::TensorOptions(at::kFloat).device(at::kCUDA);
  int tried = 0;
  for (at::ScalarType type :
       {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
    for (double value : {0.0, std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN()}) {
      at::Tensor tensor = at::full({1000003}, 30000, options).to(type);
      tensor[1000002].fill_(value);
      StagedTensors staged(copier);
      (void)staged.View()("", tensor);
      ++tried;
      if (staged.AllFinite() != (value == 0)) {
        check.passed = false;
        absl::StrAppend(&check.says, at::toString(type), " ", value, "; ");
      }
    }
  }
  absl::StrAppend(&check.says, tried, " tensors");
  return check;
}

// Time until training can go on after a snapshot is staged as saves do it,
// against one bare copy of the same bytes to pinned memory; interleaved.
GpuCheck StallAgainstABareCopy(const CudaLibrary& library,
                               const std::shared_ptr<HostCopier>& copier) {
  GpuCheck check{"a snapshot stalls at most 1.2 x a bare copy", false, ""};
  constexpr int64_t kBytes = int64_t{1} << 30;
  const at::Tensor data = RandomBytes(kBytes).view(at::kInt);
  const at::Tensor work =
      at::randn({4096, 4096}, at::TensorOptions(at::kFloat).device(at::kCUDA));
  auto bare = library.MakeStager();
  if (!bare.ok()) return {check.name, false, bare.status().ToString()};
  // The state of a model is many tensors, most of them small; a bare copy is
  // one. As floats, as it is looked through for what is not finite.
  std::vector<at::Tensor> parts;
  constexpr int kSmall = 1000;
  constexpr int64_t kSmallElements = 768;
  constexpr int kLarge = 200;
  const at::Tensor floats = data.to(at::kFloat);
  int64_t at = 0;
  for (int i = 0; i < kSmall; ++i, at += kSmallElements) {
    parts.push_back(floats.slice(0, at, at + kSmallElements));
  }
  const int64_t large = (floats.numel() - at) / kLarge;
  for (int i = 0; i < kLarge; ++i, at += large) {
    parts.push_back(floats.slice(0, at, at + large));
  }
  const std::vector<CudaLibrary::Copy> whole = {
      {floats.const_data_ptr(), static_cast<uint64_t>(floats.nbytes())}};
  std::vector<double> ratios, returned;
  std::vector<const char*> host;
  for (int round = 0; round < 12; ++round) {
    double times[2];
    for (int which = 0; which < 2; ++which) {
      // Nothing of the round before is left to wait for.
      (void)at::matmul(work, work).sum().item<float>();
      StagedTensors staged(copier);
      const auto begin = Clock::now();
      absl::Status started;
      if (which == 0) {
        const ViewFunction view = staged.View();
        for (const at::Tensor& part : parts) (void)view("", part);
        if (!staged.AllFinite()) return check;
        started = staged.Start();
        if (round >= 2) returned.push_back(MillisecondsSince(begin));
      } else {
        started = (*bare)->Start(whole, nullptr, &host);
      }
      if (!started.ok()) return {check.name, false, started.ToString()};
      // The next step's first result.
      (void)at::matmul(work, work).sum().item<float>();
      times[which] = MillisecondsSince(begin);
      if (which == 1 && !(*bare)->Wait().ok()) return check;
    }
    // The first rounds allocate the pinned memory.
    if (round >= 2) ratios.push_back(times[0] / times[1]);
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(returned.begin(), returned.end());
  const double median = ratios[ratios.size() / 2];
  check.passed = median <= 1.2;
  check.says = absl::StrFormat(
      "median %.3f, %.3f to %.3f; 1 GiB in %d tensors; the caller went on "
      "after %.2f ms",
      median, ratios.front(), ratios.back(), kSmall + kLarge,
      returned[returned.size() / 2]);
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
  std::string why;
  const auto copier =
      PinnedCopierFor(at::Device(at::kCUDA, 0),
                      [&](absl::string_view said) { why = std::string(said); });
  if (copier == nullptr) return {{"a stream for snapshots", false, why}};
  return {DigestsAreTheCpus(**library),
          StagedBytesAreThoseOfTheStart(**library),
          StagedTensorsAreThoseOfTheSave(copier),
          WhatIsNotFiniteIsSeenOnTheDevice(copier),
          StallAgainstABareCopy(**library, copier),
          GeneratorStateComesBack()};
}

}  // namespace reprise::cuda
