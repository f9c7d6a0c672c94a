#include "conformance/judge/best_mark.h"

#include <set>
#include <string>
#include <utility>
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

using Position = std::pair<uint64_t, uint32_t>;  // step, micro-step

std::set<Position> Committed(const std::vector<Timeline>& attempts) {
  std::set<Position> positions;
  for (const Timeline& attempt : attempts) {
    for (const SaveRecord& save : attempt.saves) {
      if (save.committed) positions.emplace(save.step, save.micro);
    }
  }
  return positions;
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
  const std::set<Position> committed = Committed(subject.attempts);
  if (!due.has_value() || committed.count({*due, 0}) == 0) return {};
  const std::string& marked = last.end->best();
  // Retention may count saves, and a stop on request makes one more.
  if (marked.empty() && committed != Committed({baseline})) return {};
  const std::optional<uint64_t> step = StepOf(subject.attempts, marked);
  if (step == due) return {};
  return MakeFinding(
      {Name(Item::BEST, Fault::FAULT_CHANGED)}, v1::Finding::LINEAGE,
      subject.attempts.size(), last.last_step(), kEndOfTheRun,
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
