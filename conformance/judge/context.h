// What the parts of the judge share: timelines, noise and the names that the
// evidence excludes.
#ifndef REPRISE_CONFORMANCE_JUDGE_CONTEXT_H_
#define REPRISE_CONFORMANCE_JUDGE_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conformance/judge/evidence.h"
#include "conformance/judge/finding.h"
#include "conformance/judge/noise.h"
#include "conformance/judge/timeline.h"
#include "reprise/conformance/proto/v1/report.pb.h"

namespace reprise::conformance {

// Facts of the uninterrupted run.
struct Workload {
  // Attempted steps of the whole run; 0 when unknown.
  uint64_t planned_steps = 0;
  // Attempted steps an epoch; 0 when unknown or not a whole number.
  uint64_t epoch_steps = 0;
  // Samples an attempted step; 0 when unknown.
  uint64_t step_samples = 0;
  // Micro-steps an attempted step.
  uint64_t accumulation = 1;
};

// Where one attempt of the subject took up the run.
struct Resume {
  // No checkpoint was used.
  bool fresh = true;
  // Attempted steps completed in the state resumed from, by content.
  uint64_t step = 0;
  uint64_t micro = 0;
  // Digests as the checkpoint's writer gave them; may be empty.
  Digests saved;
  // Step that the writer of the checkpoint had itself resumed from; nullopt
  // when it started fresh.
  std::optional<uint64_t> writer_resumed;
};

// The subject after its lineage was checked.
struct Lineage {
  // Steps are true ones, whatever the testee called them.
  std::vector<Timeline> attempts;
  std::vector<Resume> resumes;
  std::vector<v1::Finding> findings;
  std::vector<std::string> notes;
  // Set when no verdict on the testee is possible.
  std::optional<v1::VerdictOutcome> outcome;
  // The last attempt did all that was planned.
  bool finished = false;
};

struct Context {
  const Evidence* evidence = nullptr;
  std::vector<Timeline> baselines;
  Noise noise;
  Workload workload;

  // The item does not exist in this testee.
  bool NotApplicable(Item item) const;
};

// Channel of findings about how a run ended and what it left.
inline constexpr char kEndOfTheRun[] = "end of the run";

Context MakeContext(const Evidence& evidence);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_CONTEXT_H_
