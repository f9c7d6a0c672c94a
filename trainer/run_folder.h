// A process's way into its run folder: it opens the folder's store, whose lock
// it then holds, and, once everything that can be refused was accepted, makes
// the folder its own.
//
//   OpenRunFolder            the lock; nothing else is written
//   EnterRunFolder           this process is attempt n
//     a fresh run            -
//     --fresh                what is there moves to abandoned/n
//     going on from a step   what lies beyond it moves to abandoned/n
#ifndef REPRISE_TRAINER_RUN_FOLDER_H_
#define REPRISE_TRAINER_RUN_FOLDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "format/checkpoint_store.h"
#include "format/io/file_system.h"
#include "trainer/config/config.h"
#include "trainer/flags.h"
#include "trainer/resume_choice.h"

namespace reprise {

// Opens the store of line.run_dir; a folder that is not there is made, and what
// a save that was cut short left behind is removed (the store's notices say
// so). Errors: those of CheckpointStore::Open.
absl::StatusOr<std::unique_ptr<CheckpointStore>> OpenRunFolder(
    const CommandLine& line, FileSystem* file_system);

// As OpenRunFolder, of a folder that was not there: ALREADY_EXISTS where it
// holds a checkpoint meanwhile.
absl::StatusOr<std::unique_ptr<CheckpointStore>> MakeRunFolder(
    const CommandLine& line, FileSystem* file_system);

struct RunFolderEntry {
  uint64_t attempt = 1;
  std::vector<std::string> notices;  // what was moved, for people
};

// Sets which checkpoints the store keeps, numbers the attempt and moves what
// does not belong to it any longer. Errors: those of the store, nothing lost.
absl::StatusOr<RunFolderEntry> EnterRunFolder(const CommandLine& line,
                                              const TrainerConfig& config,
                                              const ResumeChoice& choice,
                                              CheckpointStore* store);

}  // namespace reprise

#endif  // REPRISE_TRAINER_RUN_FOLDER_H_
