// Where there is no pinned copier, and what is said about it. What one does:
// staging_test.cc and //trainer:saver_test.
#include "trainer/cuda/pinned_copier.h"

#include <stdlib.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::cuda {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PinnedCopierFor, IsNoneOnTheCpuAndNothingIsSaid) {
  std::vector<std::string> said;
  EXPECT_EQ(PinnedCopierFor(c10::Device(c10::kCPU),
                            [&](absl::string_view s) { said.emplace_back(s); }),
            nullptr);
  EXPECT_THAT(said, IsEmpty());
}

TEST(PinnedCopierFor, IsNoneWithoutTheLibraryAndThatIsSaid) {
  // Read by the first load of the process, which this is.
  setenv("REPRISE_CUDA_LIBRARY", "/nowhere/libreprise_cuda.so", 1);
  std::vector<std::string> said;
  EXPECT_EQ(PinnedCopierFor(c10::Device(c10::kCUDA, 0),
                            [&](absl::string_view s) { said.emplace_back(s); }),
            nullptr);
  // tools/gpu_check looks for the first words.
  EXPECT_THAT(said, ElementsAre(AllOf(HasSubstr("plain copies"),
                                      HasSubstr("/nowhere/"))));
}

}  // namespace
}  // namespace reprise::cuda
