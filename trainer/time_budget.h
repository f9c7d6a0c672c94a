// TimeBudget: how long the process may run (run.max_seconds), so that the last
// save is on the disk before a scheduler ends it.
//
//   reprise::TimeBudget budget(/*max_seconds=*/3600);   // 0: no limit
//   while (!budget.Spent()) {
//     TrainOneMicroStep();
//     budget.Lap();
//   }
//   Save();
#ifndef REPRISE_TRAINER_TIME_BUDGET_H_
#define REPRISE_TRAINER_TIME_BUDGET_H_

#include <functional>

namespace reprise {

// Not thread-safe.
class TimeBudget {
 public:
  // Counts from here on. `now` gives monotonic seconds; the default is the
  // clock.
  explicit TimeBudget(double max_seconds, std::function<double()> now = {});

  // A turn of the loop has ended; the longest counts as the next one's.
  void Lap();
  // A save took so long; the longest so far is what the last one may take.
  void SaveTook(double seconds);

  // Whether another turn and then a save, each as long as the longest so far,
  // might no longer fit.
  bool Spent() const;
  double Elapsed() const { return now_() - start_; }

 private:
  const double max_seconds_;
  const std::function<double()> now_;
  const double start_;
  double last_lap_ = 0;
  double longest_lap_ = 0;
  double longest_save_ = 0;
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_TIME_BUDGET_H_
