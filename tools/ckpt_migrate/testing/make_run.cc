// Makes a small run folder for tests of ckpt_migrate:
//
//   make_run FOLDER MAJOR CHECKPOINTS BYTES
//
// Checkpoints of steps 10, 20, ... in format MAJOR, each with a buffer of BYTES
// bytes. Exit code 1 and a message when something fails.
#include <cstdlib>
#include <iostream>
#include <string>

#include "format/checkpoint_store.h"
#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: make_run FOLDER MAJOR CHECKPOINTS BYTES\n";
    return 1;
  }
  reprise::CheckpointStore::Options options;
  options.format_major = std::strtoul(argv[2], nullptr, 10);
  const int checkpoints = std::atoi(argv[3]);
  const size_t bytes = std::strtoul(argv[4], nullptr, 10);
  auto store = reprise::CheckpointStore::Open(argv[1], options);
  if (!store.ok()) {
    std::cerr << store.status() << "\n";
    return 1;
  }
  for (int i = 1; i <= checkpoints; ++i) {
    reprise::Snapshot snapshot = options.format_major == 1
                                     ? reprise::SmallSnapshot(10 * i)
                                     : reprise::FullSnapshot(10 * i);
    if (bytes > 0) {
      snapshot.buffers.push_back(reprise::BytesTensor(
          "large", reprise::DType::kU8, {static_cast<int64_t>(bytes)},
          std::string(bytes, static_cast<char>(i))));
    }
    auto saved = (*store)->Save(snapshot);
    if (!saved.ok()) {
      std::cerr << saved.status() << "\n";
      return 1;
    }
  }
  return 0;
}
