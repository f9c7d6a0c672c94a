#include "conformance/judge/judge_campaign.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "conformance/judge/context.h"
#include "conformance/judge/judge.h"
#include "conformance/judge/power.h"
#include "conformance/judge/settle.h"
#include "format/vocabulary.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace reprise::conformance {
namespace {

// The runner's baseline with another seed.
constexpr char kOtherSeed[] = "baseline-other-seed";

bool Finished(const CaseFiles& one) {
  return !one.attempts.empty() &&
         one.attempts.back().record.outcome() == v1::OUTCOME_FINISHED;
}

// An uninterrupted run of the same request.
bool IsBaselineOf(const CaseFiles& one, const v1::CasePlan& plan) {
  return one.plan.baseline() && one.plan.profile() == plan.profile() &&
         one.plan.request().seed() == plan.request().seed() && Finished(one);
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

LineageEvidence ToLineage(const CaseFiles& one) {
  LineageEvidence lineage;
  for (const AttemptFiles& attempt : one.attempts) {
    lineage.attempts.push_back(ToEvidence(attempt));
  }
  return lineage;
}

const CaseFiles* FindCase(const CampaignFiles& files,
                          const std::string& profile, const std::string& name) {
  for (const CaseFiles& one : files.cases) {
    if (one.plan.profile() == profile && one.plan.name() == name) return &one;
  }
  return nullptr;
}

v1::Verdict Plain(v1::VerdictOutcome outcome, std::string summary) {
  v1::Verdict verdict;
  verdict.set_outcome(outcome);
  verdict.set_summary(std::move(summary));
  return verdict;
}

// What an end of an attempt says about the harness rather than the testee.
std::optional<v1::Verdict> HarnessVerdict(const CaseFiles& one) {
  for (size_t i = 0; i < one.attempts.size(); ++i) {
    const v1::AttemptRecord& record = one.attempts[i].record;
    const std::string what =
        absl::StrCat("attempt ", i + 1, ": ", record.detail());
    switch (record.outcome()) {
      case v1::OUTCOME_HARNESS_ERROR:
        return Plain(v1::HARNESS_ERROR, what);
      case v1::OUTCOME_CANCELLED:
        return Plain(v1::NOT_RUN, what);
      case v1::OUTCOME_UNSUPPORTED:
        return Plain(v1::SKIP, what);
      default:
        break;
    }
  }
  return std::nullopt;
}

// Records that do not depend on the seed are no records of the run.
v1::Verdict JudgeOtherSeed(const LineageEvidence& other,
                           const LineageEvidence& baseline) {
  const Noise noise(
      {Timeline::From(other.attempts[0]), Timeline::From(baseline.attempts[0])},
      {});
  if (!noise.Exact(Channel::kLoss)) {
    return Plain(v1::PASS, "another seed gives another run, as it must");
  }
  return Plain(v1::INCONCLUSIVE,
               "another seed gives the same losses: what is recorded does not "
               "depend on the run");
}

// A declared channel that no step of an uninterrupted run has; empty: none.
std::string MissingChannel(const CampaignFiles& files,
                           const LineageEvidence& baseline) {
  const google::protobuf::Descriptor* step = v1::StepEvent::descriptor();
  for (const std::string& channel : files.description.channels()) {
    const google::protobuf::FieldDescriptor* field =
        step->FindFieldByName(channel);
    if (field == nullptr) continue;
    bool recorded = false;
    for (const v1::Event& event : baseline.attempts[0].events) {
      const google::protobuf::Reflection* reflection =
          event.step().GetReflection();
      recorded |=
          event.has_step() &&
          (field->is_repeated() ? reflection->FieldSize(event.step(), field) > 0
                                : reflection->HasField(event.step(), field));
    }
    if (!recorded) return channel;
  }
  return "";
}

v1::Verdict JudgeBaseline(const CampaignFiles& files, const CaseFiles& one) {
  if (auto verdict = HarnessVerdict(one)) return *std::move(verdict);
  if (one.attempts.empty()) return Plain(v1::NOT_RUN, one.record.reason());
  if (!Finished(one)) {
    v1::Verdict verdict =
        Plain(v1::FAIL, absl::StrCat("the uninterrupted run did not finish: ",
                                     one.attempts.back().record.detail()));
    *verdict.add_findings() = MakeFinding(
        {Name(Item::RUN, Fault::FAULT_FAILED)}, v1::Finding::LINEAGE, 1, 0,
        "process", one.attempts.back().record.detail());
    return verdict;
  }
  Evidence evidence;
  evidence.request = one.plan.request();
  evidence.description = files.description;
  const LineageEvidence own = ToLineage(one);
  for (const CaseFiles& other : files.cases) {
    if (!other.plan.baseline() || !Finished(other) ||
        other.plan.profile() != one.plan.profile()) {
      continue;
    }
    if (IsBaselineOf(other, one.plan)) {
      evidence.baselines.push_back(ToLineage(other));
    } else if (one.plan.name() == kOtherSeed) {
      return JudgeOtherSeed(own, ToLineage(other));
    }
  }
  if (const std::string missing = MissingChannel(files, own);
      !missing.empty()) {
    return Plain(v1::INCONCLUSIVE,
                 absl::StrCat("the testee declares the channel ", missing,
                              " and never records it"));
  }
  const Context context = MakeContext(evidence);
  const size_t runs = evidence.baselines.size();
  v1::Verdict verdict;
  for (const AttemptFiles& attempt : one.attempts) {
    verdict.set_records(verdict.records() + attempt.log.events.size());
  }
  if (context.noise.AllExact()) {
    verdict.set_outcome(v1::PASS);
    verdict.set_summary(
        runs < 2 ? "finished"
                 : absl::StrCat(runs,
                                " uninterrupted runs are equal to the "
                                "last bit"));
    return verdict;
  }
  std::vector<std::string> channels;
  for (Channel channel : kChannels) {
    if (!context.noise.Exact(channel)) channels.push_back(ChannelText(channel));
  }
  const std::string what = absl::StrCat("uninterrupted runs differ in ",
                                        absl::StrJoin(channels, ", "));
  const bool promised = files.description.determinism() == v1::EXACT;
  verdict.set_outcome(promised ? v1::FLAKY : v1::PASS);
  verdict.set_summary(
      promised ? absl::StrCat(what, ", though the testee says EXACT") : what);
  return verdict;
}

v1::Verdict JudgeControl(const CampaignFiles& files, const CaseFiles& one) {
  if (auto verdict = HarnessVerdict(one)) return *std::move(verdict);
  if (one.record.not_run()) return Plain(v1::SKIP, one.record.reason());
  if (one.attempts.size() < 2) {
    return Plain(v1::NOT_RUN, one.record.reason());
  }
  // A testee that refuses the edited checkpoint has noticed: nothing is lost
  // in silence.
  if (one.attempts.back().record.outcome() == v1::OUTCOME_CHECKPOINT_REJECTED) {
    return Plain(v1::PASS, absl::StrCat("the testee refuses a checkpoint that "
                                        "lost ",
                                        one.plan.control()));
  }
  Evidence evidence = EvidenceForCase(files, one);
  evidence.controls.resize(1);
  evidence.controls[0].item = ParseText<Item>(one.plan.control());
  evidence.controls[0].lineage = ToLineage(one);
  const Context context = MakeContext(evidence);
  const std::vector<v1::Power> powers = MeasurePower(context);
  v1::Verdict verdict =
      Plain(powers[0].status() == v1::Power::SHOWN       ? v1::PASS
            : powers[0].status() == v1::Power::NOT_SHOWN ? v1::INCONCLUSIVE
                                                         : v1::SKIP,
            powers[0].text());
  *verdict.add_power() = powers[0];
  return verdict;
}

v1::Verdict JudgeSubject(const CampaignFiles& files, const CaseFiles& one) {
  if (auto verdict = HarnessVerdict(one)) return *std::move(verdict);
  if (one.attempts.empty()) {
    return Plain(v1::NOT_RUN,
                 one.record.reason().empty() ? "not run" : one.record.reason());
  }
  return Judge(EvidenceForCase(files, one));
}

// Whatever was recorded before it: a case that did not go as planned has not
// shown what it was made for.
void DemandCompleteness(const CaseFiles& one, v1::Verdict* verdict) {
  if (verdict->outcome() != v1::PASS || one.record.complete()) return;
  verdict->set_outcome(v1::INCONCLUSIVE);
  verdict->set_summary(
      absl::StrCat("not as planned: ", one.record.reason().empty()
                                           ? "the runner gives no reason"
                                           : one.record.reason()));
}

// A row for each honesty probe, and for controls that there are not. A testee
// that fails one can prove nothing.
void AddProbes(const CampaignFiles& files, v1::Report* report) {
  std::vector<std::string> failed;
  for (const v1::ProbeRecord& probe : files.record.probes()) {
    if (!probe.passed()) failed.push_back(probe.name());
  }
  if (!failed.empty()) {
    const std::string why =
        absl::StrCat("the testee failed the honesty ",
                     failed.size() == 1 ? "probe " : "probes ",
                     absl::StrJoin(failed, ", "), ": it can prove nothing");
    for (v1::CaseResult& result : *report->mutable_results()) {
      v1::Verdict* verdict = result.mutable_verdict();
      if (verdict->outcome() != v1::PASS) continue;
      verdict->set_outcome(v1::INCONCLUSIVE);
      verdict->add_notes(verdict->summary());
      verdict->set_summary(why);
    }
  }
  for (const v1::ProbeRecord& probe : files.record.probes()) {
    v1::CaseResult& result = *report->add_results();
    result.set_profile("honesty");
    result.set_case_name(probe.name());
    *result.mutable_verdict() =
        probe.passed() ? Plain(v1::PASS, "answered as the protocol asks")
                       : Plain(v1::FAIL, probe.detail());
  }
  const bool controlled = std::any_of(
      files.cases.begin(), files.cases.end(),
      [](const CaseFiles& one) { return !one.plan.control().empty(); });
  if (!controlled &&
      files.record.describe().outcome() == v1::OUTCOME_FINISHED) {
    v1::CaseResult& result = *report->add_results();
    result.set_profile("honesty");
    result.set_case_name("controls");
    *result.mutable_verdict() = Plain(
        v1::SKIP,
        "no checkpoint was edited on purpose, so that it was not measured "
        "whether the loss of each item would have shown (--perturb, --drop)");
  }
  if (files.record.probes().empty() &&
      files.record.describe().outcome() == v1::OUTCOME_FINISHED) {
    v1::CaseResult& result = *report->add_results();
    result.set_profile("honesty");
    result.set_case_name("probes");
    *result.mutable_verdict() = Plain(v1::SKIP, "not asked for");
  }
}

}  // namespace

AttemptEvidence ToEvidence(const AttemptFiles& attempt) {
  const v1::AttemptRecord& record = attempt.record;
  AttemptEvidence evidence;
  evidence.events = attempt.log.events;
  if (record.has_exit_code()) evidence.exit_code = record.exit_code();
  evidence.signal = record.signal();
  switch (record.outcome()) {
    case v1::OUTCOME_INTERRUPTED:
      evidence.sent = Sent::kKill;
      if (record.kill().signal() == v1::Kill::TERM) evidence.sent = Sent::kTerm;
      break;
    case v1::OUTCOME_STOPPED:
      evidence.sent = Sent::kTerm;
      break;
    // Told by the exit status and the events themselves.
    case v1::OUTCOME_FINISHED:
    case v1::OUTCOME_SHORT:
    case v1::OUTCOME_STOPPED_UNASKED:
    case v1::OUTCOME_FOREIGN_SIGNAL:
      break;
    case v1::OUTCOME_CHECKPOINT_REJECTED:
    case v1::OUTCOME_TRAINING_FAILED:
    case v1::OUTCOME_SAVE_FAILED:
    case v1::OUTCOME_UNKNOWN_EXIT_CODE:
      break;
    default:
      evidence.misbehaved = record.detail().empty()
                                ? v1::Outcome_Name(record.outcome())
                                : record.detail();
  }
  return evidence;
}

Evidence EvidenceForCase(const CampaignFiles& files, const CaseFiles& subject) {
  Evidence evidence;
  evidence.description = files.description;
  evidence.request = subject.plan.request();
  evidence.subject = ToLineage(subject);
  for (const CaseFiles& other : files.cases) {
    if (other.plan.profile() != subject.plan.profile()) continue;
    if (other.plan.baseline()) {
      if (IsBaselineOf(other, subject.plan)) {
        const bool same_saves = other.plan.request().save_every() ==
                                subject.plan.request().save_every();
        evidence.baselines.push_back(
            same_saves ? ToLineage(other) : WithoutSaves(ToLineage(other)));
      }
      continue;
    }
    if (other.plan.repeats().empty() || other.attempts.empty()) continue;
    if (!other.plan.control().empty()) {
      if (other.record.not_run() || !other.record.complete()) continue;
      if (other.plan.repeats() == subject.plan.name() &&
          other.attempts.back().record.outcome() !=
              v1::OUTCOME_CHECKPOINT_REJECTED) {
        ControlEvidence& control = evidence.controls.emplace_back();
        control.item = ParseText<Item>(other.plan.control());
        control.lineage = ToLineage(other);
      }
      continue;
    }
    // The same checkpoint, resumed again: two attempts that must agree as well
    // as two such attempts ever do.
    const CaseFiles* original =
        FindCase(files, other.plan.profile(), other.plan.repeats());
    const size_t last = other.attempts.size() - 1;
    if (original == nullptr || original->attempts.size() <= last) continue;
    evidence.repeats.push_back(ToEvidence(original->attempts[last]));
    evidence.repeats.push_back(ToEvidence(other.attempts[last]));
  }
  return evidence;
}

v1::Report JudgeCampaign(const CampaignFiles& files) {
  v1::Report report;
  report.set_testee(files.description.name());
  report.set_testee_version(files.description.version());
  report.set_command(files.plan.replay());
  std::map<std::string, v1::Verdict> verdicts;
  for (const CaseFiles& one : files.cases) {
    v1::CaseResult& result = *report.add_results();
    result.set_profile(one.plan.profile());
    result.set_case_name(one.plan.name());
    result.set_seed(files.plan.seed());
    result.set_seconds(one.record.seconds());
    result.set_replay_command(one.record.replay());
    if (!one.plan.purpose().empty()) result.add_remarks(one.plan.purpose());
    if (one.plan.baseline()) {
      *result.mutable_verdict() = JudgeBaseline(files, one);
    } else if (!one.plan.control().empty()) {
      *result.mutable_verdict() = JudgeControl(files, one);
    } else {
      v1::Verdict verdict = JudgeSubject(files, one);
      const std::string key =
          absl::StrCat(one.plan.profile(), "/", one.plan.name());
      auto original = verdicts.find(
          absl::StrCat(one.plan.profile(), "/", one.plan.repeats()));
      if (!one.plan.repeats().empty() && original != verdicts.end()) {
        const v1::Verdict combined =
            CombineRepetitions({verdict, original->second});
        if (combined.outcome() == v1::FLAKY) verdict = combined;
      }
      verdicts[key] = verdict;
      *result.mutable_verdict() = std::move(verdict);
    }
  }
  for (int i = 0; i < report.results_size(); ++i) {
    DemandCompleteness(files.cases[i],
                       report.mutable_results(i)->mutable_verdict());
  }
  SettleAcrossCases(&report);
  AddProbes(files, &report);
  for (const v1::ProfilePlan& profile : files.plan.profiles()) {
    for (const v1::LeftOut& left : profile.left_out()) {
      v1::CaseResult& result = *report.add_results();
      result.set_profile(profile.name());
      result.set_case_name(left.case_name().empty() ? left.grid_point()
                                                    : left.case_name());
      *result.mutable_verdict() = Plain(v1::SKIP, left.reason());
    }
  }
  if (files.record.describe().outcome() != v1::OUTCOME_FINISHED) {
    v1::CaseResult& result = *report.add_results();
    result.set_case_name("describe");
    *result.mutable_verdict() =
        Plain(v1::FAIL, absl::StrCat("the testee could not be described: ",
                                     files.record.describe().detail()));
  }
  return report;
}

}  // namespace reprise::conformance
