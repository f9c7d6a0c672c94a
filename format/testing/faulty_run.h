// A run in memory whose store can be made to fail, for tests.
#ifndef REPRISE_FORMAT_TESTING_FAULTY_RUN_H_
#define REPRISE_FORMAT_TESTING_FAULTY_RUN_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "format/checkpoint_store.h"
#include "format/io/testing/fault_injecting_file_system.h"
#include "format/io/testing/unsynced_file_system.h"

namespace reprise {

constexpr char kFaultyRun[] = "/data/run";

struct FaultyRun {
  // A store with these options on `faulty`.
  explicit FaultyRun(CheckpointStore::Options options);

  // Must succeed.
  void Save(const Snapshot& snapshot);

  // Of the entries in the run folder.
  std::set<std::string> Names();

  // Ends this process and asks a new one for the newest checkpoint's step, 0
  // when there is none. Nothing may be passed over or left over.
  uint64_t NewestAfterRestart();

  UnsyncedFileSystem memory;
  FaultInjectingFileSystem faulty{&memory};
  std::unique_ptr<CheckpointStore> store;
};

}  // namespace reprise

#endif  // REPRISE_FORMAT_TESTING_FAULTY_RUN_H_
