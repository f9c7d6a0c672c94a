// The trainer in a forked child of the test, so that the test can stand inside
// it: kill it, signal it or hold it at a named place of a step, an evaluation
// or a save, always at the same one, however busy the machine is.
//
//   KillAt(flags, {StepPoint::kAfterUpdate, /*step=*/13});
//
//   AtOperation files(
//       [](const auto& op) { return op.name == "RenameNoReplace"; },
//       /*number=*/2, [] { SendToSelf(SIGTERM); });    // the second commit
//   TrainerResult run = TrainInChild(flags, {nullptr, &files});
#ifndef REPRISE_TRAINER_TESTING_CHILD_TRAINER_H_
#define REPRISE_TRAINER_TESTING_CHILD_TRAINER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "format/io/testing/forwarding_file_system.h"
#include "trainer/session.h"
#include "trainer/testing/trainer_process.h"
#include "trainer/train_observer.h"

namespace reprise {

// What `trainer` with these flags does, with `hooks` (made before; the child
// has a copy of what they point to, and what it does there stays there). A
// child that has not ended after two minutes is killed; it dies with the test.
TrainerResult TrainInChild(const std::vector<std::string>& flags,
                           const SessionHooks& hooks);

// Where a run stands: `point` of attempted step `step` (from 1), and of those
// points that come in every micro-step, in micro-step `micro` (from 0). In an
// evaluation: of the step that it belongs to, after its first batch.
struct Place {
  StepPoint point = StepPoint::kBoundary;
  uint64_t step = 0;
  uint32_t micro = 0;
};

// Calls `act` the first time that the run stands at `place`.
class AtPlace : public TrainObserver {
 public:
  AtPlace(const Place& place, std::function<void()> act)
      : place_(place), act_(std::move(act)) {}
  void At(StepPoint point, uint64_t step, TrainState* state) override;

 private:
  const Place place_;
  const std::function<void()> act_;
  bool done_ = false;
};

// Calls `act` once: before the operation that is the `number`th (from 1) of
// which `is` is true. Other threads' operations go on meanwhile.
class AtOperation : public ForwardingFileSystem {
 public:
  AtOperation(std::function<bool(const Operation&)> is, uint64_t number,
              std::function<void()> act)
      : ForwardingFileSystem(FileSystem::Real()),
        is_(std::move(is)),
        number_(number),
        act_(std::move(act)) {}
  absl::Status Before(const Operation& operation) override;

 private:
  const std::function<bool(const Operation&)> is_;
  const uint64_t number_;
  const std::function<void()> act_;
  std::mutex mutex_;
  uint64_t seen_ = 0;
};

// For `act`, in the child. A signal that asks the trainer to stop: returns once
// it has arrived.
void SendToSelf(int signal);
// A signal that ends the process: never returns.
[[noreturn]] void EndSelf(int signal);

// Trains, and stands still at `place` until `meanwhile`, which the test runs
// then with the child's process id, returns. Expects that the run came there.
TrainerResult TrainAndMeet(const std::vector<std::string>& flags,
                           const Place& place,
                           const std::function<void(pid_t)>& meanwhile);

// Trains and is killed at `place`. Expects that the run came there.
void KillAt(const std::vector<std::string>& flags, const Place& place);

}  // namespace reprise

#endif  // REPRISE_TRAINER_TESTING_CHILD_TRAINER_H_
