#include "conformance/judge/context.h"

#include <algorithm>
#include <set>

namespace reprise::conformance {
namespace {

// Steps until an id comes a second time, which is where the second epoch
// begins; 0 when ids are not listed or do not say.
uint64_t EpochFromIds(const Timeline& baseline) {
  std::set<uint64_t> seen;
  for (const v1::StepEvent& step : baseline.steps) {
    if (step.id_list_size() == 0) return 0;
    for (int i = 0; i < step.id_list_size(); ++i) {
      if (!seen.insert(step.id_list(i)).second) {
        return i == 0 ? step.step() - 1 : 0;
      }
    }
  }
  return 0;
}

uint64_t EpochFromCounter(const Timeline& baseline) {
  uint64_t first = 0;
  for (size_t i = 1; i < baseline.steps.size(); ++i) {
    if (baseline.steps[i].epoch() == baseline.steps[i - 1].epoch()) continue;
    const uint64_t at = baseline.steps[i].step();
    if (first != 0) return at - first;
    first = at;
  }
  return first;
}

}  // namespace

bool Context::NotApplicable(Item item) const {
  for (const v1::NotApplicable& entry :
       evidence->description.not_applicable()) {
    if (entry.item() == item) return true;
  }
  return false;
}

Context MakeContext(const Evidence& evidence) {
  Context context;
  context.evidence = &evidence;
  for (const LineageEvidence& lineage : evidence.baselines) {
    if (lineage.attempts.empty()) continue;
    context.baselines.push_back(Timeline::From(lineage.attempts[0]));
  }
  std::vector<Timeline> repeats;
  for (const AttemptEvidence& attempt : evidence.repeats) {
    repeats.push_back(Timeline::From(attempt));
  }
  context.noise = Noise(context.baselines, repeats);
  Workload& workload = context.workload;
  workload.accumulation = std::max<uint64_t>(
      1, evidence.request.has_accumulation() ? evidence.request.accumulation()
                                             : 1);
  workload.planned_steps = evidence.request.steps();
  if (!context.baselines.empty()) {
    const Timeline& baseline = context.baselines[0];
    if (workload.planned_steps == 0) {
      workload.planned_steps = baseline.start.planned_steps();
    }
    if (workload.planned_steps == 0) {
      workload.planned_steps = baseline.last_step();
    }
    workload.epoch_steps = EpochFromIds(baseline);
    if (workload.epoch_steps == 0) {
      workload.epoch_steps = EpochFromCounter(baseline);
    }
    if (baseline.steps.size() >= 2) {
      workload.step_samples =
          baseline.steps[1].samples() - baseline.steps[0].samples();
    }
  }
  return context;
}

}  // namespace reprise::conformance
