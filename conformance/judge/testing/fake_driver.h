// Runs the fake trainer, right or faulty, in processes of its own, kills it
// with SIGKILL at chosen events, and gives what it left to a judge.
//
//   FakeDriver driver(request, customise);
//   LineageEvidence lineage = driver.Run({KillAfterStep(63)});
//
// Not thread-safe.
#ifndef REPRISE_CONFORMANCE_JUDGE_TESTING_FAKE_DRIVER_H_
#define REPRISE_CONFORMANCE_JUDGE_TESTING_FAKE_DRIVER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "conformance/fake/testee.h"
#include "conformance/judge/evidence.h"

namespace reprise::conformance::testing {

// When a process kills itself.
struct KillAt {
  // True at the event right after which it does.
  std::function<bool(const v1::Event&)> event;
  // Or: this attempted step and micro-step, after backward.
  uint64_t step = 0;
  uint32_t micro = 0;
};

// In the middle of a step.
KillAt KillInStep(uint64_t step, uint32_t micro = 0);

// After the record of this attempted step (or the first later one).
KillAt KillAfterStep(uint64_t step);

class FakeDriver {
 public:
  // `request` without folder and events; `customise` may be empty. With `noise`
  // every process has noise of its own, which that number decides.
  FakeDriver(v1::RunRequest request, fake::Customise customise,
             std::optional<uint64_t> noise = std::nullopt, bool quiet = false);
  ~FakeDriver();

  // One attempt for each kill and a last one that nobody disturbs.
  LineageEvidence Run(const std::vector<KillAt>& kills);
  // Goes on from the run folder of the last Run, for one attempt.
  AttemptEvidence Again(const std::optional<KillAt>& kill);

  // Of the last Run, for a control to edit between two attempts.
  std::string run_folder() const { return folder_ + "/run"; }
  // An empty run folder; the next attempt is the first.
  void Restart();

 private:
  void Remove();

  v1::RunRequest request_;
  fake::Customise customise_;
  std::optional<uint64_t> noise_;
  bool quiet_;
  std::string folder_;
  int attempt_ = 0;
  uint64_t processes_ = 0;
};

}  // namespace reprise::conformance::testing

#endif  // REPRISE_CONFORMANCE_JUDGE_TESTING_FAKE_DRIVER_H_
