// TimeBudget: how long the process may run (run.max_seconds), so that the last
// save is on the disk before a scheduler ends it.
//
//   reprise::TimeBudget budget;   // the process begins
//   PrepareEverything();
//   budget.Begin(/*max_seconds=*/3600);   // 0: no limit
//   while (!budget.Spent()) {
//     TrainOneMicroStep();
//     budget.Lap();
//   }
//   Save();
#ifndef REPRISE_TRAINER_TIME_BUDGET_H_
#define REPRISE_TRAINER_TIME_BUDGET_H_

#include <functional>
#include <optional>

namespace reprise {

// Not thread-safe.
class TimeBudget {
 public:
  // Counts from here on. `now` gives monotonic seconds; the default is the
  // clock.
  explicit TimeBudget(std::function<double()> now = {});

  // The loop begins; what came before is part of `max_seconds`, but of no turn.
  void Begin(double max_seconds);
  // A turn of the loop has ended; the longest counts as the next one's.
  void Lap();
  // A save took so long; the longest so far is what the last one may take.
  void SaveTook(double seconds);

  // Whether another turn and then a save, each as long as the longest so far,
  // might no longer fit. Never before the first turn has ended: a process that
  // is started again and again must get on, however short its time.
  bool Spent() const;
  double Elapsed() const { return now_() - start_; }

 private:
  const std::function<double()> now_;
  const double start_;
  double max_seconds_ = 0;
  double last_lap_ = 0;
  std::optional<double> longest_lap_;
  double longest_save_ = 0;
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_TIME_BUDGET_H_
