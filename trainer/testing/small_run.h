// The small run that the process tests train, kill and resume: a few seconds in
// which everything moves that a checkpoint must hold.
//
// An MLP with dropout on 640 made-up images, batch 32: 20 steps an epoch, 60
// steps, a checkpoint every 10, an evaluation every 20. In fp16 the scale
// starts so high that the first steps overflow, and grows after 5 good ones, so
// that it moves all the time. One thread, so that a busy machine does not
// matter.
#ifndef REPRISE_TRAINER_TESTING_SMALL_RUN_H_
#define REPRISE_TRAINER_TESTING_SMALL_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "format/checkpoint_store.h"
#include "trainer/testing/run_comparison.h"

namespace reprise {

inline constexpr uint64_t kSmallRunSteps = 60;
inline constexpr uint64_t kSmallRunSaveEvery = 10;
inline constexpr uint64_t kSmallRunBatch = 32;
inline constexpr uint64_t kSmallRunStepsAnEpoch = 20;

// The command line; `more` comes last and so wins.
std::vector<std::string> SmallRunFlags(
    const std::string& run_folder, const std::string& precision = "fp16",
    const std::vector<std::string>& more = {});

// Folder of the checkpoint of `step` in a run folder.
std::string CheckpointFolder(const std::string& run_folder, uint64_t step);

// What an uninterrupted small run did. Trained once in a test process and kept,
// with all its checkpoints.
struct Uninterrupted {
  std::string folder;
  StepTable steps;
  Snapshot end;  // of the last checkpoint
};
const Uninterrupted& UninterruptedSmallRun(const std::string& precision);

// Expects that the run in `folder`, which is over, is the uninterrupted one:
// every record of every attempt, the whole state in the last checkpoint, and
// nothing half done left behind.
void ExpectUninterrupted(const std::string& folder,
                         const std::string& precision = "fp16");

// Copies the uninterrupted run as it was when the checkpoint of `step` had just
// been committed: the records up to it and the newest `checkpoints`. Returns
// the folder.
std::string RunAsOfStep(const std::string& precision, uint64_t step,
                        int checkpoints = 1);

// Reads the checkpoint folder `path`, applies `edit` and commits the result in
// its place, as a file that is right in itself. The witness is taken out, which
// would name most edits before they show.
void EditCheckpoint(const std::string& path,
                    const std::function<void(Snapshot*)>& edit,
                    bool keep_witness = false);

// Seed of a random test: REPRISE_SEED, else drawn anew. Prints it with the
// command that replays the test.
uint64_t TestSeed();

}  // namespace reprise

#endif  // REPRISE_TRAINER_TESTING_SMALL_RUN_H_
