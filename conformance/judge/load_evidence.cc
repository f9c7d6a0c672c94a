#include "conformance/judge/load_evidence.h"

#include <signal.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "conformance/judge/judge.h"

namespace reprise::conformance {
namespace {

AttemptEvidence Load(const AttemptFiles& files) {
  AttemptEvidence attempt;
  attempt.events = files.log.events;
  if (files.record.has_exit_code())
    attempt.exit_code = files.record.exit_code();
  if (files.record.has_signal()) attempt.signal = files.record.signal();
  for (const v1::SentSignal& sent : files.record.sent()) {
    // A SIGKILL that ended what SIGTERM had not is still a kill.
    attempt.sent = sent.number() == SIGTERM && attempt.sent != Sent::kKill
                       ? Sent::kTerm
                       : Sent::kKill;
  }
  return attempt;
}

LineageEvidence Load(const CaseFiles& files) {
  LineageEvidence lineage;
  for (const AttemptFiles& attempt : files.attempts) {
    lineage.attempts.push_back(Load(attempt));
  }
  return lineage;
}

// A case may be asked to save at other steps than its baseline, so that a kill
// falls where it should. What the baseline saved then says nothing about it.
LineageEvidence WithoutSaves(LineageEvidence lineage) {
  for (AttemptEvidence& attempt : lineage.attempts) {
    std::vector<v1::Event> kept;
    for (v1::Event& event : attempt.events) {
      const bool of_a_save = event.has_save() ||
                             (event.has_state() && event.state().moment() ==
                                                       v1::StateEvent::AT_SAVE);
      if (!of_a_save) kept.push_back(std::move(event));
    }
    attempt.events = std::move(kept);
  }
  return lineage;
}

bool SpoiledByHarness(const CaseFiles& files) {
  for (const AttemptFiles& attempt : files.attempts) {
    if (attempt.record.outcome() == v1::OUTCOME_HARNESS_ERROR ||
        attempt.record.outcome() == v1::OUTCOME_CANCELLED) {
      return true;
    }
  }
  return false;
}

}  // namespace

Evidence EvidenceOf(const CampaignFiles& campaign, const CaseFiles& subject) {
  Evidence evidence;
  evidence.description = campaign.description;
  evidence.request = subject.plan.request();
  evidence.subject = Load(subject);
  for (const CaseFiles& other : campaign.cases) {
    if (other.plan.profile() != subject.plan.profile()) continue;
    if (other.plan.baseline() && other.record.complete() &&
        other.plan.request().seed() == subject.plan.request().seed()) {
      const bool same_saves = other.plan.request().save_every() ==
                              subject.plan.request().save_every();
      evidence.baselines.push_back(same_saves ? Load(other)
                                              : WithoutSaves(Load(other)));
    }
    // Two resumes of one checkpoint show what a resume varies by itself.
    if (!other.plan.repeats().empty() && other.plan.control().empty() &&
        other.plan.repeats() == subject.plan.name() &&
        !other.attempts.empty() && !subject.attempts.empty()) {
      evidence.repeats = {Load(subject.attempts.back()),
                          Load(other.attempts.back())};
    }
  }
  return evidence;
}

std::vector<JudgedCase> JudgeCampaign(const CampaignFiles& campaign) {
  std::vector<JudgedCase> judged;
  for (const CaseFiles& one : campaign.cases) {
    if (one.plan.baseline() || !one.plan.control().empty()) continue;
    JudgedCase result{
        one.plan.profile(), one.plan.name(), one.record.replay(), {}};
    if (one.record.not_run()) {
      result.verdict.set_outcome(v1::NOT_RUN);
      result.verdict.set_summary(
          absl::StrCat("not run: ", one.record.reason()));
    } else if (SpoiledByHarness(one)) {
      result.verdict.set_outcome(v1::HARNESS_ERROR);
      result.verdict.set_summary(one.record.reason());
    } else {
      result.verdict = Judge(EvidenceOf(campaign, one));
      // The judge speaks of what was recorded; a case that did not go as
      // planned has not shown what it was made for.
      if (!one.record.complete() && result.verdict.outcome() == v1::PASS) {
        result.verdict.set_outcome(v1::INCONCLUSIVE);
        result.verdict.set_summary(one.record.reason());
      }
    }
    judged.push_back(std::move(result));
  }
  return judged;
}

}  // namespace reprise::conformance
