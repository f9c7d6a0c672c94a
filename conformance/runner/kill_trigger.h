// When a planned kill is due, judged by the events of the testee.
//
//   KillTrigger trigger(plan.kill(), geometry, absl::Now());
//   trigger.Take(event, now);                 // for every event
//   if (trigger.due() <= now) ... send the signal ...
//
// A moment between two events is drawn as a share ("phase") of the mean time
// that the uninterrupted run took for it, so a plan holds no times of a
// particular machine. Not thread-safe.
#ifndef REPRISE_CONFORMANCE_RUNNER_KILL_TRIGGER_H_
#define REPRISE_CONFORMANCE_RUNNER_KILL_TRIGGER_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "reprise/conformance/proto/v1/protocol.pb.h"
#include "reprise/conformance/runner/v1/record.pb.h"

namespace reprise::conformance {

class KillTrigger {
 public:
  // Without a kill (`where` unspecified) it is never due.
  KillTrigger(const v1::Kill& kill, const v1::Geometry& means,
              absl::Time started);

  // Events in the order of the file.
  void Take(const v1::Event& event, absl::Time now);

  // InfiniteFuture until the event that it waits for has come.
  absl::Time due() const { return due_; }

  // The plan, with delay_us once it is known.
  const v1::Kill& kill() const { return kill_; }

  // The testee went past the place where it should have been held: it described
  // a hold point that does not hold. Empty: it did not.
  const std::string& ignored_hold() const { return ignored_hold_; }

 private:
  void SetDue(double mean_seconds, absl::Time now);
  void TakeForHold(const v1::Event& event, absl::Time now);

  v1::Kill kill_;
  const v1::Geometry means_;
  absl::Time due_ = absl::InfiniteFuture();
  uint64_t events_ = 0;
  bool resumed_ = false;
  std::string ignored_hold_;
};

// Where in its own story a testee was when it ended, by its events: "in_load",
// "held:S3", "in_save", "after_commit", "in_step" or "at_end".
std::string PlaceOfEnd(const std::vector<v1::Event>& events);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_KILL_TRIGGER_H_
