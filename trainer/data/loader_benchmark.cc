// Throughput of the loader, and how long it takes to reach a far position.
//
//   bazel run //trainer/data:loader_benchmark
//
// Prints medians and spread; nothing is asserted.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "trainer/data/loader.h"
#include "trainer/data/synthetic.h"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since)
      .count();
}

void Print(const char* what, std::vector<double> values, const char* unit) {
  std::sort(values.begin(), values.end());
  std::printf("%-44s median %10.3f  min %10.3f  max %10.3f  %s\n", what,
              values[values.size() / 2], values.front(), values.back(), unit);
}

// Thousands of images a second through Get, with nothing else to do.
double Throughput(const Dataset& data, int workers) {
  Sampler order =
      Sampler::Create({static_cast<uint64_t>(data.size), 128, 1}).value();
  DataLoader loader(&data, order,
                    {workers, 4, /*seed=*/1, Augment::kShift2FlipV1});
  constexpr int kBatches = 400;
  const auto start = Clock::now();
  for (int i = 0; i < kBatches; ++i, order.Advance()) loader.Get(order);
  return kBatches * 128 / Milliseconds(start);
}

// From a restored cursor to the batch there: seek, order, and one batch.
double Seek(const Dataset& data, uint64_t cursor) {
  Sampler order =
      Sampler::Create({static_cast<uint64_t>(data.size), 100, 1}).value();
  const auto start = Clock::now();
  const bool found = order.SeekTo(cursor).ok();
  DataLoader loader(&data, order,
                    {/*workers=*/0, 1, /*seed=*/1, Augment::kShift2FlipV1});
  const bool full = loader.Get(order)->labels.size() == 100;
  const double elapsed = Milliseconds(start);
  return found && full ? elapsed : -1;
}

}  // namespace
}  // namespace reprise

int main() {
  using namespace reprise;  // NOLINT: a program of one page
  MakeSyntheticOptions options;
  options.size = 60000;
  const Dataset data = MakeSynthetic(options);
  std::vector<double> throughput[3], near, far;
  for (int round = 0; round < 9; ++round) {
    for (int workers = 0; workers < 3; ++workers) {
      throughput[workers].push_back(Throughput(data, workers));
    }
    near.push_back(Seek(data, 0));
    far.push_back(Seek(data, 1'000'000'000));
  }
  Print("28 x 28 images, augmented, 0 workers", throughput[0], "images/ms");
  Print("the same, 1 worker", throughput[1], "images/ms");
  Print("the same, 2 workers", throughput[2], "images/ms");
  Print("seek to sample 0 and its batch of 100", near, "ms");
  Print("seek to sample 10^9 and its batch of 100", far, "ms");
}
