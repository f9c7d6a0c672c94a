#include "conformance/judge/judge.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "conformance/judge/best_mark.h"
#include "conformance/judge/causes.h"
#include "conformance/judge/context.h"
#include "conformance/judge/curves.h"
#include "conformance/judge/digest_attribution.h"
#include "conformance/judge/lineage.h"
#include "conformance/judge/power.h"
#include "conformance/judge/save_attribution.h"
#include "conformance/judge/tidy.h"
#include "conformance/judge/verdict_curves.h"

namespace reprise::conformance {
namespace {

// Causes named at one resume, at most: beyond it the evidence is chaos.
constexpr int kMaxCauses = 16;

class Judgement {
 public:
  explicit Judgement(const Evidence& evidence)
      : evidence_(evidence), context_(MakeContext(evidence)) {}

  v1::Verdict Decide() {
    if (evidence_.subject.attempts.empty()) {
      verdict_.set_outcome(v1::NOT_RUN);
      verdict_.set_summary("not run");
      return std::move(verdict_);
    }
    lineage_ = CheckLineage(context_, evidence_.subject);
    for (const std::string& note : lineage_.notes) verdict_.add_notes(note);
    if (lineage_.outcome.has_value()) {
      verdict_.set_outcome(*lineage_.outcome);
      verdict_.set_summary(absl::StrJoin(lineage_.notes, "; "));
      return std::move(verdict_);
    }
    for (size_t i = 0; i < lineage_.attempts.size(); ++i) JudgeAttempt(i);
    for (const v1::Finding& finding : lineage_.findings) {
      if (finding.attempt() > lineage_.attempts.size() ||
          !lineage_.attempts[finding.attempt() - 1].started) {
        findings_.push_back(finding);
      }
    }
    TidyFindings(context_, &findings_);
    if (findings_.empty() && lineage_.finished) {
      if (auto mark = CheckBestMark(context_, lineage_); mark.has_value()) {
        findings_.push_back(*std::move(mark));
      }
    }
    UseControls();
    for (v1::Finding& finding : findings_) {
      *verdict_.add_findings() = std::move(finding);
    }
    AddTolerances(context_, &verdict_);
    AddCurves(context_, lineage_, &verdict_);
    Conclude();
    return std::move(verdict_);
  }

 private:
  void JudgeAttempt(size_t i) {
    const Timeline& attempt = lineage_.attempts[i];
    const Resume& resume = lineage_.resumes[i];
    if (!attempt.started) return;
    const std::vector<v1::Finding> before = findings_;
    std::vector<v1::Finding> here;
    for (const v1::Finding& finding : lineage_.findings) {
      if (finding.attempt() == i + 1) here.push_back(finding);
    }
    DigestResult digests = AttributeDigests(context_, lineage_, i);
    const bool other_source = NamesAny(here, {Item::SOURCE}) && !resume.fresh;
    for (v1::Finding& finding : digests.findings) {
      // An older checkpoint explains every item in it.
      if (other_source && finding.channel() == "digest after load") continue;
      here.push_back(std::move(finding));
    }

    Comparison comparison(context_, lineage_, i);
    comparison.excluded.insert(digests.verified.begin(),
                               digests.verified.end());
    comparison.initial_known = digests.initial_known;
    if (i == 0) {
      JudgeFirst(comparison);
    } else {
      // What rests although it must move, whatever else is wrong; then the
      // curves; then what rests and could have moved.
      AddSticky(i, true, before, &here);
      NameCurves(comparison, digests.unknown_tensors, before, &here);
      NameRest(comparison, digests.unknown_tensors, &here);
      AddSticky(i, false, before, &here);
    }
    findings_.insert(findings_.end(), here.begin(), here.end());

    if (comparison.parted().has_value()) {
      verdict_.add_notes(absl::StrCat(
          "attempt ", i + 1, ": from step ", *comparison.parted(),
          " on an overflow or a drop of the rate comes differently, as it may "
          "between equal runs; beyond it only samples are compared"));
    }
    records_ += attempt.steps.size() + attempt.evaluations.size();
    if (i == 0) return;
    if (context_.noise.Noisy() && !attempt.steps.empty() &&
        comparison.telling() <
            std::min<uint64_t>(Noise::kEnough, attempt.steps.size())) {
      untold_.push_back(absl::StrCat("noise hides the resume at step ",
                                     resume.step, ": ", comparison.telling(),
                                     " of its steps can be compared, ",
                                     Noise::kEnough, " are needed"));
    }
    v1::ResumePoint& point = *verdict_.add_resumes();
    point.set_attempt(i + 1);
    point.set_resumed_step(resume.step);
    point.set_replayed_steps(comparison.replayed());
    point.set_baseline_steps(comparison.against_baseline());
    point.set_killed_after_step(lineage_.attempts[i - 1].last_step());
    const AttemptEvidence& ended = evidence_.subject.attempts[i - 1];
    point.set_how(
        ended.signal == 9    ? "SIGKILL"
        : ended.signal == 15 ? "SIGTERM"
        : ended.signal != 0
            ? absl::StrCat("signal ", ended.signal)
            : absl::StrCat("exit status ", ended.exit_code.value_or(-1)));
  }

  void AddSticky(size_t i, bool always_moving,
                 const std::vector<v1::Finding>& before,
                 std::vector<v1::Finding>* here) {
    std::vector<v1::Finding> known = before;
    known.insert(known.end(), here->begin(), here->end());
    for (v1::Finding& finding :
         AttributeSaves(context_, lineage_, i, known, always_moving)) {
      here->push_back(std::move(finding));
    }
  }

  // Before the first kill nothing was resumed: a difference there says that
  // equal runs of this testee are further apart than the baselines showed.
  void JudgeFirst(const Comparison& comparison) {
    for (const auto& [channel, step] : comparison.FindOnsets(1)) {
      first_differs_ = absl::StrCat(
          "the first attempt, which resumed nothing, differs from the ",
          "uninterrupted run in ", ChannelText(channel), " at step ", step);
      return;
    }
  }

  bool Explained(const Comparison& comparison, Channel channel, uint64_t step,
                 const Onsets& onsets, const std::vector<v1::Finding>& before,
                 const std::vector<v1::Finding>& here) const {
    for (const v1::Finding& finding : here) {
      for (const v1::FaultName& name : finding.names()) {
        if (Explains(name.item(), name.fault(), comparison.first(), channel,
                     step, onsets)) {
          return true;
        }
      }
    }
    // What resumes since the reference lost is still lost; how soon no longer
    // matters.
    const uint32_t reference = comparison.ReferenceAttempt(channel, step);
    Onsets everywhere;
    for (Channel c : kChannels) everywhere[c] = 0;
    for (const v1::Finding& finding : before) {
      if (finding.attempt() <= reference) continue;
      for (const v1::FaultName& name : finding.names()) {
        if (Explains(name.item(), name.fault(), 0, channel, step, everywhere))
          return true;
      }
    }
    return false;
  }

  // The earliest difference that no cause named so far explains.
  std::optional<Unexplained> NextUnexplained(
      const Comparison& comparison, const Onsets& onsets,
      const std::vector<v1::Finding>& before,
      const std::vector<v1::Finding>& here) const {
    std::optional<Unexplained> next;
    for (Channel channel : kChannels) {
      for (uint64_t step : comparison.Steps(channel)) {
        if (next.has_value() && step >= next->step) break;
        if (!comparison.Differs(channel, step)) continue;
        if (Explained(comparison, channel, step, onsets, before, here)) {
          continue;
        }
        next = Unexplained{channel, step};
        break;
      }
    }
    return next;
  }

  void NameCurves(const Comparison& comparison, const std::set<Item>& unknown,
                  const std::vector<v1::Finding>& before,
                  std::vector<v1::Finding>* here) {
    const Onsets onsets = comparison.FindOnsets(comparison.first());
    CheckSamples(comparison, onsets, unknown, here);
    std::optional<Unexplained> last;
    for (int cause = 0; cause < kMaxCauses; ++cause) {
      const std::optional<Unexplained> next =
          NextUnexplained(comparison, onsets, before, *here);
      if (!next.has_value()) return;
      if (last.has_value() && last->channel == next->channel &&
          last->step == next->step) {
        // Its own cause does not explain it: say so and stop.
        verdict_.add_notes(absl::StrCat(
            "attempt ", comparison.number(), ": ", ChannelText(next->channel),
            " at step ", next->step, " has no further explanation"));
        return;
      }
      last = next;
      for (v1::Finding& finding :
           Attribute(comparison, *next, onsets, unknown)) {
        here->push_back(std::move(finding));
      }
    }
  }

  // A cursor that digests found wrong predicts the samples: other ones have a
  // cause of their own.
  void CheckSamples(const Comparison& comparison, const Onsets& onsets,
                    const std::set<Item>& unknown,
                    std::vector<v1::Finding>* here) {
    auto onset = onsets.find(Channel::kIds);
    if (onset == onsets.end() || onset->second != comparison.first() ||
        NamesAny(*here, {Item::SAMPLER_SEED, Item::SAMPLER_ALGORITHM,
                         Item::SAMPLER_ORDER, Item::RNG_DATA,
                         Item::DATA_FINGERPRINT, Item::DATA_BATCH})) {
      return;
    }
    for (size_t i = 0; i < here->size(); ++i) {
      const v1::Finding& finding = (*here)[i];
      if (finding.ground() != v1::Finding::DIGEST ||
          !Names(finding, Item::SAMPLER_CURSOR)) {
        continue;
      }
      auto cursor =
          comparison.attempt().before_forward.find(Item::SAMPLER_CURSOR);
      uint64_t position = 0;
      if (cursor == comparison.attempt().before_forward.end() ||
          !absl::SimpleAtoi(cursor->second.value(), &position) ||
          SamplesStartAt(comparison, position).value_or(true)) {
        return;
      }
      // The epoch starts again in another order: a position in an order that
      // is no longer there is nothing to name.
      if (finding.names(0).fault() == Fault::FAULT_RESET) {
        here->erase(here->begin() + i);
      }
      for (v1::Finding& other :
           Attribute(comparison, {Channel::kIds, comparison.first()}, onsets,
                     unknown)) {
        here->push_back(std::move(other));
      }
      return;
    }
  }

  // Tensors that digests found wrong and no curve could name.
  void NameRest(const Comparison& comparison, const std::set<Item>& unknown,
                std::vector<v1::Finding>* here) {
    for (Item item : unknown) {
      if (NamesAny(*here, {item, Item::SNAPSHOT, Item::RUN, Item::GENERATION,
                           Item::SOURCE})) {
        continue;
      }
      if (item == Item::OPTIM_MOMENTS &&
          NamesAny(*here, {Item::OPTIM_IDENTITY})) {
        continue;
      }
      const bool fresh =
          !comparison.initial_known && item != Item::MODEL_PARAMS;
      here->push_back(MakeFinding(
          {Name(item, fresh ? Fault::FAULT_RESET : Fault::FAULT_CHANGED)},
          v1::Finding::DIGEST, comparison.number(), comparison.first(),
          "digest after load",
          absl::StrCat(reprise::TextOf(item),
                       " is not what was saved and matches no known step")));
    }
  }

  void UseControls() {
    for (v1::Power& power : MeasurePower(context_)) {
      *verdict_.add_power() = std::move(power);
    }
    for (const std::string& control : EqualControls(context_, lineage_)) {
      if (control == "weights-only") {
        verdict_.add_notes(
            "the resumed run equals the control that kept nothing but the "
            "weights: same as a cold optimizer");
        continue;
      }
      verdict_.add_notes(absl::StrCat(
          "the resumed run equals the control that lost ", control));
      for (v1::Finding& finding : findings_) {
        if (finding.names_size() < 2) continue;
        for (const v1::FaultName& name : finding.names()) {
          if (reprise::TextOf(name.item()) != control) continue;
          const v1::FaultName only = name;
          finding.clear_names();
          *finding.add_names() = only;
          finding.set_ground(v1::Finding::CONTROL);
          break;
        }
      }
    }
  }

  void Conclude() {
    verdict_.set_records(records_);
    if (verdict_.findings_size() > 0) {
      verdict_.set_outcome(v1::FAIL);
      verdict_.set_summary(
          absl::StrCat("lost: ", absl::StrJoin(NamesOf(verdict_), ", ")));
      return;
    }
    std::vector<std::string> doubts = Doubts();
    if (!doubts.empty()) {
      verdict_.set_outcome(v1::INCONCLUSIVE);
      verdict_.set_summary(doubts[0]);
      for (const std::string& doubt : doubts) verdict_.add_notes(doubt);
      return;
    }
    verdict_.set_outcome(v1::PASS);
    std::vector<std::string> steps;
    for (const v1::ResumePoint& resume : verdict_.resumes()) {
      steps.push_back(resume.resumed_step() == 0
                          ? "the start"
                          : absl::StrCat(resume.resumed_step()));
    }
    verdict_.set_summary(
        absl::StrCat("resumed at ", absl::StrJoin(steps, ", "), ": ", records_,
                     context_.noise.AllExact()
                         ? " records equal to the last bit"
                         : " records equal within what equal runs differ by"));
  }

  std::vector<std::string> Doubts() const {
    std::vector<std::string> doubts;
    if (evidence_.baselines.size() < 2) {
      doubts.push_back(absl::StrCat(
          evidence_.baselines.size(),
          " uninterrupted runs: 2 are needed to know how far equal runs "
          "differ"));
    }
    bool resumed = false;
    for (size_t i = 1; i < lineage_.attempts.size(); ++i) {
      resumed |= !lineage_.attempts[i].steps.empty();
    }
    if (!resumed) doubts.push_back("nothing was resumed");
    doubts.insert(doubts.end(), untold_.begin(), untold_.end());
    if (!lineage_.finished) {
      doubts.push_back("the run was not brought to its end");
    }
    if (!first_differs_.empty()) doubts.push_back(first_differs_);
    for (const v1::Power& power : verdict_.power()) {
      if (power.status() == v1::Power::NOT_SHOWN) {
        doubts.push_back(absl::StrCat("not shown: ", power.text()));
      }
    }
    return doubts;
  }

  const Evidence& evidence_;
  const Context context_;
  Lineage lineage_;
  std::vector<v1::Finding> findings_;
  std::string first_differs_;
  uint64_t records_ = 0;
  // Resumes that noise leaves nothing to say about.
  std::vector<std::string> untold_;
  v1::Verdict verdict_;
};

}  // namespace

v1::Verdict Judge(const Evidence& evidence) {
  return Judgement(evidence).Decide();
}

v1::Verdict CombineRepetitions(const std::vector<v1::Verdict>& verdicts) {
  v1::Verdict combined;
  if (verdicts.empty()) {
    combined.set_outcome(v1::NOT_RUN);
    combined.set_summary("not run");
    return combined;
  }
  combined = verdicts[0];
  for (size_t i = 1; i < verdicts.size(); ++i) {
    if (verdicts[i].outcome() == verdicts[0].outcome() &&
        NamesOf(verdicts[i]) == NamesOf(verdicts[0])) {
      continue;
    }
    combined.set_outcome(v1::FLAKY);
    combined.set_summary(
        absl::StrCat("repetitions end differently: ",
                     v1::VerdictOutcome_Name(verdicts[0].outcome()), " (",
                     verdicts[0].summary(), "), then ",
                     v1::VerdictOutcome_Name(verdicts[i].outcome()), " (",
                     verdicts[i].summary(), ")"));
    for (const v1::Finding& finding : verdicts[i].findings()) {
      *combined.add_findings() = finding;
    }
    break;
  }
  return combined;
}

}  // namespace reprise::conformance
