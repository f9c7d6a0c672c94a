// Makes run folders for tests of programs:
//
//   make_run RUN MAJOR STEP...      saves small checkpoints of those steps
//   make_run --hold RUN             holds the lock until stdin ends
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "format/checkpoint_store.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"

namespace {

int Fail(const absl::Status& status) {
  std::cerr << status << "\n";
  return 1;
}

int Hold(const std::string& run) {
  auto store = reprise::CheckpointStore::Open(run, {});
  if (!store.ok()) return Fail(store.status());
  std::cout << "held" << std::endl;
  std::cin.get();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--hold") return Hold(argv[2]);
  if (argc < 3) {
    std::cerr << "usage: make_run RUN MAJOR STEP... | make_run --hold RUN\n";
    return 1;
  }
  reprise::CheckpointStore::Options options;
  options.format_major = std::atoi(argv[2]);
  options.shard_bytes = 300;
  auto store = reprise::CheckpointStore::Open(argv[1], options);
  if (!store.ok()) return Fail(store.status());
  for (int i = 3; i < argc; ++i) {
    const uint64_t step = std::strtoull(argv[i], nullptr, 10);
    reprise::Snapshot snapshot = options.format_major == 1
                                     ? reprise::SmallSnapshot(step)
                                     : reprise::FullSnapshot(step);
    if (snapshot.best.has_value()) snapshot.best->step = step < 20 ? step : 20;
    auto digest = (*store)->Save(snapshot);
    if (!digest.ok()) return Fail(digest.status());
  }
  return 0;
}
