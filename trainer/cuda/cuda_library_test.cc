// What can be known without a GPU: the library loads, and says clearly why it
// can do nothing. With one (tag requires-gpu): gpu_test.cc.
#include "trainer/cuda/cuda_library.h"

#include <stdlib.h>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace reprise::cuda {
namespace {

TEST(CudaLibrary, LoadsWhereItWasBuiltAndSaysWhyNotElsewhere) {
  const auto library = CudaLibrary::Load();
  if (!library.ok()) {
    EXPECT_EQ(library.status().code(), absl::StatusCode::kUnimplemented);
    EXPECT_TRUE(absl::StrContains(library.status().message(), "nvcc"))
        << library.status();
    return;
  }
  // Without a driver CUDA refuses; with one the digest of nothing is nothing.
  const auto nothing = (*library)->Digest(nullptr, 0);
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_TRUE(nothing->empty());
  const auto stager = (*library)->MakeStager();
  if (!stager.ok()) {
    EXPECT_EQ(stager.status().code(), absl::StatusCode::kInternal);
    EXPECT_TRUE(absl::StrContains(stager.status().message(), "CUDA error"))
        << stager.status();
  }
}

}  // namespace
}  // namespace reprise::cuda
