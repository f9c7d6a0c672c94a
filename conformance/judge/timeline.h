// The events of one attempt, ordered for look-up by attempted step.
#ifndef REPRISE_CONFORMANCE_JUDGE_TIMELINE_H_
#define REPRISE_CONFORMANCE_JUDGE_TIMELINE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "conformance/judge/evidence.h"

namespace reprise::conformance {

// Item -> digest entry.
using Digests = std::map<Item, v1::ItemDigest>;

// One checkpoint that an attempt began to write.
struct SaveRecord {
  uint64_t step = 0;
  uint32_t micro = 0;
  // SaveEvent.checkpoint; may be empty.
  std::string checkpoint;
  bool committed = false;
  bool failed = false;
  std::string error;
  // Digests of the live state that was saved; empty when none were given.
  Digests digests;
};

// Thread-compatible value type.
struct Timeline {
  // Builds it. Where the testee does not say which steps it skipped, a rate
  // that stands still in a schedule that moves says so: the schedule counts
  // applied steps. Steps are those that the testee wrote, plus `offset`: the
  // judge sets one when the testee's own count is wrong and its content is not.
  static Timeline From(const AttemptEvidence& attempt, int64_t offset = 0);

  bool started = false;
  v1::StartEvent start;
  // In order of the file.
  std::vector<v1::StepEvent> steps;
  std::map<uint64_t, v1::EvaluationEvent> evaluations;
  std::vector<SaveRecord> saves;
  // Digests of the fresh state (BEFORE_FORWARD of a fresh attempt).
  Digests after_load;
  Digests before_forward;
  std::optional<v1::EndEvent> end;

  // First record of `step`; null when there is none.
  const v1::StepEvent* Find(uint64_t step) const;
  const v1::EvaluationEvent* FindEvaluation(uint64_t step) const;
  uint64_t first_step() const { return steps.empty() ? 0 : steps[0].step(); }
  uint64_t last_step() const { return steps.empty() ? 0 : steps.back().step(); }
};

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_TIMELINE_H_
