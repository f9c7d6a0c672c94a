#include "conformance/judge/best_mark.h"

#include <string>
#include <vector>

#include "conformance/judge/judge.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kSteps = 30;
constexpr uint64_t kSaveEvery = 10;

std::string NameOf(const std::string& run, uint64_t step) {
  return run + std::to_string(step);
}

// Steps `from`..`to` of a run that saves and evaluates every ten steps; its
// checkpoints are `run` and their step.
AttemptEvidence Attempt(const std::string& run, uint64_t from, uint64_t to,
                        double evaluation_noise = 0) {
  AttemptEvidence attempt;
  auto add = [&attempt] { return &attempt.events.emplace_back(); };
  v1::StartEvent& start = *add()->mutable_start();
  start.set_resumed_step(from - 1);
  if (from > 1) start.set_checkpoint(NameOf("a", from - 1));
  for (uint64_t step = from; step <= to; ++step) {
    v1::StepEvent& record = *add()->mutable_step();
    record.set_step(step);
    record.set_ids(std::to_string(1000 + step));
    record.mutable_loss()->set_v(1.0 / static_cast<double>(step));
    if (step % kSaveEvery != 0) continue;
    v1::EvaluationEvent& evaluation = *add()->mutable_evaluation();
    evaluation.set_step(step);
    evaluation.mutable_loss()->set_v(step == 20 ? 1 + evaluation_noise : 2);
    v1::SaveEvent& save = *add()->mutable_save();
    save.set_phase(v1::SaveEvent::COMMITTED);
    save.set_step(step);
    save.set_checkpoint(NameOf(run, step));
  }
  return attempt;
}

AttemptEvidence Killed(AttemptEvidence attempt) {
  attempt.signal = 9;
  attempt.sent = Sent::kKill;
  return attempt;
}

AttemptEvidence Ended(AttemptEvidence attempt, const std::string& newest,
                      const std::string& best) {
  v1::EndEvent& end = *attempt.events.emplace_back().mutable_end();
  end.set_step(kSteps);
  end.set_finished(true);
  end.set_newest(newest);
  end.set_best(best);
  attempt.exit_code = 0;
  return attempt;
}

Evidence Baselines(double evaluation_noise = 0) {
  Evidence evidence;
  evidence.baselines.resize(2);
  evidence.baselines[0].attempts = {
      Ended(Attempt("w", 1, kSteps), "w30", "w20")};
  evidence.baselines[1].attempts = {
      Ended(Attempt("x", 1, kSteps, evaluation_noise), "x30", "x20")};
  return evidence;
}

// Killed after step 23 and resumed at 20; marks `best` at its end.
Evidence Subject(const std::string& best) {
  Evidence evidence = Baselines();
  evidence.subject.attempts = {Killed(Attempt("a", 1, 23)),
                               Ended(Attempt("b", 21, kSteps), "b30", best)};
  return evidence;
}

TEST(BestMark, IsTheSameStepWhateverTheCheckpointIsCalled) {
  const v1::Verdict verdict = Judge(Subject("a20"));
  EXPECT_EQ(verdict.outcome(), v1::PASS) << verdict.DebugString();
}

TEST(BestMark, NamesAnotherCheckpoint) {
  const v1::Verdict verdict = Judge(Subject("b30"));
  EXPECT_THAT(NamesOf(verdict), ElementsAre("best:CHANGED"));
  EXPECT_THAT(verdict.findings(0).evidence(),
              HasSubstr("b30, of step 30; the uninterrupted run marks that of "
                        "step 20"));
}

TEST(BestMark, NamesAMarkThatIsGone) {
  const v1::Verdict verdict = Judge(Subject(""));
  EXPECT_THAT(NamesOf(verdict), ElementsAre("best:CHANGED"));
  EXPECT_THAT(verdict.findings(0).evidence(),
              HasSubstr("no checkpoint is marked"));
}

// The save of a stop on request pushed the best one out of those kept.
TEST(BestMark, MayBeGoneWhereMoreWasSaved) {
  Evidence evidence = Subject("");
  v1::SaveEvent& save =
      *evidence.subject.attempts[0].events.emplace_back().mutable_save();
  save.set_phase(v1::SaveEvent::COMMITTED);
  save.set_step(23);
  save.set_checkpoint("a23");
  evidence.subject.attempts[1] =
      Ended(Attempt("b", 24, kSteps), "b30", /*best=*/"");
  evidence.subject.attempts[1].events[0].mutable_start()->set_checkpoint("a23");
  EXPECT_EQ(Judge(evidence).outcome(), v1::PASS)
      << Judge(evidence).DebugString();
}

TEST(BestMark, NamesAMarkOnWhatNobodySaved) {
  const v1::Verdict verdict = Judge(Subject("a25"));
  EXPECT_THAT(NamesOf(verdict), ElementsAre("best:CHANGED"));
  EXPECT_THAT(verdict.findings(0).evidence(),
              HasSubstr("a25, which no attempt saved"));
}

TEST(BestMark, IsNotAskedOfARunThatMarksNone) {
  Evidence evidence = Subject("b30");
  for (LineageEvidence& baseline : evidence.baselines) {
    baseline.attempts[0].events.back().mutable_end()->clear_best();
  }
  EXPECT_THAT(NamesOf(Judge(evidence)), IsEmpty());
}

// Equal runs with evaluations that differ may well mark different ones.
TEST(BestMark, IsNotAskedWhereEvaluationsAreNotExact) {
  Evidence evidence = Baselines(/*evaluation_noise=*/1e-3);
  evidence.subject = Subject("b30").subject;
  EXPECT_THAT(NamesOf(Judge(evidence)), IsEmpty());
}

// What moves the mark is named and not the mark.
TEST(BestMark, IsSilentBesideAnotherFinding) {
  Evidence evidence = Subject("b30");
  AttemptEvidence& last = evidence.subject.attempts.back();
  last.events.back().mutable_end()->set_newest("a10");
  EXPECT_THAT(NamesOf(Judge(evidence)), ElementsAre("save:FAILED"));
}

}  // namespace
}  // namespace reprise::conformance
