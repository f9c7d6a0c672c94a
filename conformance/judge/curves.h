// Third question: do the records of an attempt equal the reference's, channel
// by channel, and if not, which loss predicts what is seen? Each hypothesis is
// a prediction in closed form; the one that fits is named, several when none of
// them can be excluded.
#ifndef REPRISE_CONFORMANCE_JUDGE_CURVES_H_
#define REPRISE_CONFORMANCE_JUDGE_CURVES_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conformance/judge/causes.h"
#include "conformance/judge/context.h"

namespace reprise::conformance {

// One attempt of the subject beside what it must equal.
class Comparison {
 public:
  Comparison(const Context& context, const Lineage& lineage, size_t index);

  const Context& context() const { return context_; }
  const Timeline& attempt() const { return attempt_; }
  const Resume& resume() const { return resume_; }
  // First uninterrupted run; an empty timeline when there is none.
  const Timeline& baseline() const { return baseline_; }
  uint32_t number() const { return index_ + 1; }
  // Attempted step before the first compared one.
  uint64_t base() const { return resume_.step; }
  uint64_t first() const { return resume_.step + 1; }

  // What the step was in the same run before its kill, else in a baseline.
  const v1::StepEvent* Reference(uint64_t step) const;
  const v1::EvaluationEvent* ReferenceEvaluation(uint64_t step) const;
  bool IsReplay(uint64_t step) const { return step <= replay_until_; }
  // Number of the earlier attempt whose record is the reference; 0: a baseline.
  uint32_t ReferenceAttempt(Channel channel, uint64_t step) const;

  Observation Found(Channel channel, uint64_t step) const;
  Observation Expected(Channel channel, uint64_t step) const;
  double Threshold(Channel channel, uint64_t step) const;
  // Both are there and differ.
  bool Differs(Channel channel, uint64_t step) const;
  bool Same(Channel channel, uint64_t step) const;
  // Steps (or evaluations) that both sides have, ascending.
  std::vector<uint64_t> Steps(Channel channel) const;

  // Under noise an overflow, or a drop of a schedule that watches the
  // evaluation, comes differently from this step on, as it may: beyond it only
  // samples are compared. nullopt: it does not.
  std::optional<uint64_t> parted() const;

  // First step at which each channel differs, from `from` on.
  Onsets FindOnsets(uint64_t from) const;
  uint64_t replayed() const { return replayed_; }
  uint64_t against_baseline() const { return against_baseline_; }
  // Steps at which a loss that is off by half of what the whole run moves it
  // would be seen.
  uint64_t telling() const { return telling_; }

  // Items that no load lost (digests verified) or that do not exist.
  std::set<Item> excluded;
  // A tensor whose digest matches no step is not a fresh one.
  bool initial_known = false;

 private:
  void FindPartings(const Lineage& lineage);
  bool Parted(Channel channel, uint64_t step) const;
  const v1::StepEvent* OwnRecord(uint64_t step) const;
  const v1::EvaluationEvent* OwnEvaluation(uint64_t step) const;
  // The reference is the run's own record.
  bool IsOwn(Channel channel, uint64_t step) const;
  bool PartedSince(const Lineage& lineage, size_t from,
                   const Timeline* other) const;

  const Context& context_;
  const Timeline& attempt_;
  const Resume& resume_;
  const size_t index_;
  const std::vector<Timeline>& attempts_;
  Timeline empty_;
  const Timeline& baseline_;
  // Earlier attempts of whose records the resumed state is a continuation, the
  // latest first.
  std::vector<const Timeline*> own_;
  // From these steps on, compared with the run's own records and with the
  // baseline, equal runs may differ in everything but samples.
  uint64_t parted_from_own_ = std::numeric_limits<uint64_t>::max();
  uint64_t parted_from_baseline_ = std::numeric_limits<uint64_t>::max();
  uint64_t replay_until_ = 0;
  uint64_t replayed_ = 0;
  uint64_t against_baseline_ = 0;
  uint64_t telling_ = 0;
};

// A difference that no named cause explains.
struct Unexplained {
  Channel channel;
  uint64_t step;
};

// Names the cause of `difference`; `onsets` are those of all channels. Always
// gives at least one finding. `unknown` are tensors that the digests found
// wrong but could not name.
std::vector<v1::Finding> Attribute(const Comparison& comparison,
                                   const Unexplained& difference,
                                   const Onsets& onsets,
                                   const std::set<Item>& unknown);

// Parts of Attribute, one for each family of channels.
// Whether the samples from `position` (samples trained) on are those of the
// attempt's first steps; nullopt when ids are not listed or end before it.
std::optional<bool> SamplesStartAt(const Comparison& comparison,
                                   uint64_t position);
std::vector<v1::Finding> AttributeIds(const Comparison& comparison,
                                      const Unexplained& difference);
std::vector<v1::Finding> AttributeSchedule(const Comparison& comparison,
                                           const Unexplained& difference,
                                           const Onsets& onsets);
std::vector<v1::Finding> AttributeScaler(const Comparison& comparison,
                                         const Unexplained& difference);
std::vector<v1::Finding> AttributeLoss(const Comparison& comparison,
                                       const Unexplained& difference,
                                       const std::set<Item>& unknown);
std::vector<v1::Finding> AttributeGradient(const Comparison& comparison,
                                           const Unexplained& difference);
std::vector<v1::Finding> AttributeUpdate(const Comparison& comparison,
                                         const Unexplained& difference,
                                         const std::set<Item>& unknown);
std::vector<v1::Finding> AttributeEvaluation(const Comparison& comparison,
                                             const Unexplained& difference,
                                             const Onsets& onsets,
                                             const std::set<Item>& unknown);
std::vector<v1::Finding> AttributeCounters(const Comparison& comparison,
                                           const Unexplained& difference);

// A finding from curves with the candidates that are not excluded; when all
// are, `names` as they stand.
v1::Finding CurveFinding(const Comparison& comparison,
                         const Unexplained& difference,
                         std::vector<v1::FaultName> names,
                         std::string evidence);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_JUDGE_CURVES_H_
