// How long a look at a run of many checkpoints takes:
//
//   bazel run //tools/ckpt:ls_benchmark -- FOLDER [CHECKPOINTS] [ROUNDS]
//
// Writes the checkpoints into FOLDER/run first (left there for a look with
// ckpt ls) and prints the median of listing them, with the spread.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "format/checkpoint_store.h"
#include "format/run_listing.h"
#include "format/testing/full_snapshot.h"

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4 || argv[1][0] == '-') {
    std::cerr << "usage: ls_benchmark FOLDER [CHECKPOINTS] [ROUNDS]\n";
    return 1;
  }
  const std::string run = reprise::JoinPath(argv[1], "run");
  const int checkpoints = argc > 2 ? std::atoi(argv[2]) : 1000;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 11;
  reprise::CheckpointStore::Options options;
  options.format_major = 2;
  auto store = reprise::CheckpointStore::Open(run, options);
  if (!store.ok()) {
    std::cerr << store.status() << "\n";
    return 1;
  }
  for (int i = 1; i <= checkpoints; ++i) {
    auto digest = (*store)->Save(reprise::FullSnapshot(i * 10));
    if (!digest.ok()) {
      std::cerr << digest.status() << "\n";
      return 1;
    }
  }
  std::vector<double> times;
  size_t listed = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    auto listing = reprise::ListRun(run);
    times.push_back(std::chrono::duration<double, std::milli>(
                        std::chrono::steady_clock::now() - begin)
                        .count());
    if (!listing.ok()) {
      std::cerr << listing.status() << "\n";
      return 1;
    }
    listed = listing->checkpoints.size();
  }
  std::sort(times.begin(), times.end());
  std::cout << absl::StrFormat("%d checkpoints: %.1f ms (%.1f - %.1f)\n",
                               listed, times[times.size() / 2], times.front(),
                               times.back());
  return 0;
}
