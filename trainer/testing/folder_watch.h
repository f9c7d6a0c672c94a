// Waits for what a running trainer does to its run folder, and answers within
// microseconds of it, so that a test can kill the trainer at that very moment.
//
//   FolderWatch watch(run);
//   auto trainer = TrainerProcess::Start(flags);
//   auto name = watch.WaitForCreation(".tmp-", *trainer);   // a save has begun
//   trainer->Signal(SIGKILL);
//
// The folder must exist before. Thread-compatible.
#ifndef REPRISE_TRAINER_TESTING_FOLDER_WATCH_H_
#define REPRISE_TRAINER_TESTING_FOLDER_WATCH_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {

class FolderWatch {
 public:
  explicit FolderWatch(const std::string& folder);
  ~FolderWatch();

  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // The next entry created in the folder (since the watch began, or since the
  // last answer) whose name begins with `prefix`; nullopt when the process
  // ended or the deadline passed before.
  std::optional<std::string> WaitForCreation(
      const std::string& prefix, TrainerProcess& process,
      absl::Duration deadline = absl::Minutes(2));

  // Returns once metrics.jsonl holds `step` or a later step: that step. nullopt
  // when the process ended or the deadline passed before.
  std::optional<uint64_t> WaitForStep(
      uint64_t step, TrainerProcess& process,
      absl::Duration deadline = absl::Minutes(2));

 private:
  // Waits up to 20 ms for events and takes them in.
  void TakeEvents();

  const std::string folder_;
  int fd_ = -1;
  std::deque<std::string> created_;
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_TESTING_FOLDER_WATCH_H_
