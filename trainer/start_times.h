// StartTimes: what the time from a process's creation to its first step went
// into; one line for the log.
//
//   reprise::StartTimes times;
//   ... flags, device ...            times.Ended(StartPhase::kStart);
//   ... which checkpoint; read it    times.Ended(StartPhase::kChoose);
//   ... build, restore ...           times.Ended(StartPhase::kRebuild);
//   ... the first step ...
//   std::cout << times.FirstStepDone(read);
//
//   First step 1.234 s after the process began: start 0.41, choose 0.01,
//   verify 0.02, read 0.05, rebuild 0.60, first step 0.14
//
// (One line.) tools/bench/restart_time.py reads it.
#ifndef REPRISE_TRAINER_START_TIMES_H_
#define REPRISE_TRAINER_START_TIMES_H_

#include <array>
#include <functional>
#include <string>

#include "format/read_checkpoint.h"

namespace reprise {

enum class StartPhase {
  kStart,    // creation of the process, its libraries, flags, the device
  kChoose,   // the lock, which checkpoint, reading it whole
  kRebuild,  // data, model, restoring the state into it, entering the folder
  kFirstStep,
};

// Not thread-safe.
class StartTimes {
 public:
  // `now` gives monotonic seconds, `before` how many have passed since the
  // process was created. The defaults are the clock, and what the kernel says,
  // to 10 ms; 0 where it does not say it.
  explicit StartTimes(std::function<double()> now = {}, double before = -1);

  // `phase` ends here, and the next one begins. One that is not told took none.
  void Ended(StartPhase phase);

  // The first step has ended: the line, without its newline. `read` is part of
  // kChoose; of nothing, where nothing was read.
  std::string FirstStepDone(const ReadTime& read);

 private:
  const std::function<double()> now_;
  double last_;
  std::array<double, 4> seconds_ = {};  // of each phase
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_START_TIMES_H_
