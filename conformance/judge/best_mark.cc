#include "conformance/judge/best_mark.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace reprise::conformance {
namespace {

// The step that the newest committed checkpoint of that name holds.
std::optional<uint64_t> StepOf(const std::vector<Timeline>& attempts,
                               const std::string& checkpoint) {
  std::optional<uint64_t> step;
  if (checkpoint.empty()) return step;
  for (const Timeline& attempt : attempts) {
    for (const SaveRecord& save : attempt.saves) {
      if (save.committed && save.checkpoint == checkpoint) step = save.step;
    }
  }
  return step;
}

bool Committed(const std::vector<Timeline>& attempts, uint64_t step) {
  for (const Timeline& attempt : attempts) {
    for (const SaveRecord& save : attempt.saves) {
      if (save.committed && save.micro == 0 && save.step == step) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<v1::Finding> CheckBestMark(const Context& context,
                                         const Lineage& subject) {
  if (context.baselines.empty() || subject.attempts.empty()) return {};
  for (Channel channel : kChannels) {
    if (IsEvaluation(channel) && !context.noise.Exact(channel)) return {};
  }
  const Timeline& baseline = context.baselines[0];
  const Timeline& last = subject.attempts.back();
  if (!baseline.end.has_value() || !last.end.has_value()) return {};
  const std::optional<uint64_t> due = StepOf({baseline}, baseline.end->best());
  if (!due.has_value() || !Committed(subject.attempts, *due)) return {};
  const std::string& marked = last.end->best();
  const std::optional<uint64_t> step = StepOf(subject.attempts, marked);
  if (step == due) return {};
  return MakeFinding(
      {Name(Item::BEST, Fault::FAULT_CHANGED)}, v1::Finding::LINEAGE,
      subject.attempts.size(), last.last_step(), "end of the run",
      absl::StrCat(marked.empty() ? "no checkpoint is marked as the best"
                                  : absl::StrCat("the best checkpoint is said "
                                                 "to be ",
                                                 marked),
                   step.has_value() ? absl::StrCat(", of step ", *step)
                   : marked.empty() ? ""
                                    : ", which no attempt saved",
                   "; the uninterrupted run marks that of step ", *due));
}

}  // namespace reprise::conformance
