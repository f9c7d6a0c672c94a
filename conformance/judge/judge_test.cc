// What a verdict says beside the names: outcomes, doubts, repetitions,
// controls.
#include "conformance/judge/judge.h"

#include <string>
#include <vector>

#include "conformance/judge/testing/simulated_trainer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::Faults;
using ::testing::HasSubstr;
using testing::LoadView;
using testing::MakeEvidence;
using ::testing::Not;
using testing::Simulate;
using testing::SimulatedState;
using testing::Simulation;

Faults LoseAverages() {
  Faults faults;
  faults.load = [](SimulatedState* state, const LoadView&) {
    state->averages = state->weights;
  };
  return faults;
}

Faults LoseMoments() {
  Faults faults;
  faults.load = [](SimulatedState* state, const LoadView& view) {
    state->moments = view.initial.moments;
    state->variances = view.initial.variances;
  };
  return faults;
}

TEST(Judge, HeaderExampleCompilesAndHolds) {
  const Simulation simulation;
  const LineageEvidence uninterrupted = Simulate(simulation, {}, {});
  const LineageEvidence killed_and_resumed = Simulate(simulation, {67}, {});
  Evidence evidence;
  evidence.baselines = {uninterrupted, uninterrupted};
  evidence.subject = killed_and_resumed;
  const v1::Verdict verdict = Judge(evidence);
  EXPECT_EQ(verdict.outcome(), v1::PASS) << verdict.summary();
  ASSERT_EQ(verdict.resumes_size(), 1);
  EXPECT_EQ(verdict.resumes(0).resumed_step(), 60);
  EXPECT_EQ(verdict.resumes(0).replayed_steps(), 7);
  EXPECT_EQ(verdict.resumes(0).baseline_steps(), 53);
  EXPECT_EQ(verdict.resumes(0).how(), "SIGKILL");
}

TEST(Judge, IsInconclusiveWithoutTwoBaselines) {
  Evidence evidence = MakeEvidence({}, {67}, {});
  evidence.baselines.pop_back();
  const v1::Verdict verdict = Judge(evidence);
  EXPECT_EQ(verdict.outcome(), v1::INCONCLUSIVE);
  EXPECT_THAT(verdict.summary(), HasSubstr("2 are needed"));
}

TEST(Judge, IsInconclusiveWhenNothingWasResumed) {
  const v1::Verdict verdict = Judge(MakeEvidence({}, {}, {}));
  EXPECT_EQ(verdict.outcome(), v1::INCONCLUSIVE);
  EXPECT_THAT(verdict.summary(), HasSubstr("nothing was resumed"));
}

TEST(Judge, IsInconclusiveWhenTheRunWasNotBroughtToItsEnd) {
  Evidence evidence = MakeEvidence({}, {67, 95}, {});
  evidence.subject.attempts.pop_back();
  const v1::Verdict verdict = Judge(evidence);
  EXPECT_EQ(verdict.outcome(), v1::INCONCLUSIVE);
  EXPECT_THAT(verdict.summary(), HasSubstr("not brought to its end"));
}

TEST(Judge, IsInconclusiveWhenTheFirstAttemptAlreadyDiffers) {
  Evidence evidence = MakeEvidence({}, {67}, {});
  for (v1::Event& event : evidence.subject.attempts[0].events) {
    if (event.has_step() && event.step().step() == 5) {
      event.mutable_step()->mutable_loss()->set_v(1);
      event.mutable_step()->mutable_loss()->set_bits("3f800000");
    }
  }
  const v1::Verdict verdict = Judge(evidence);
  EXPECT_EQ(verdict.outcome(), v1::INCONCLUSIVE);
  EXPECT_THAT(verdict.summary(), HasSubstr("resumed nothing"));
}

TEST(Judge, IsInconclusiveWhenNoiseHidesTheRun) {
  Simulation simulation;
  simulation.noise = 0.2;
  const v1::Verdict verdict = Judge(MakeEvidence(simulation, {67}, {}));
  EXPECT_EQ(verdict.outcome(), v1::INCONCLUSIVE);
  EXPECT_THAT(verdict.summary(),
              HasSubstr("noise hides the resume at step 60"));
}

TEST(Judge, WithoutAttemptsIsNotRun) {
  EXPECT_EQ(Judge(Evidence()).outcome(), v1::NOT_RUN);
}

TEST(Judge, SkipsWhatTheTesteeDoesNotSupport) {
  Evidence evidence = MakeEvidence({}, {}, {});
  AttemptEvidence refused;
  refused.exit_code = 10;
  evidence.subject.attempts = {refused};
  EXPECT_EQ(Judge(evidence).outcome(), v1::SKIP);
}

TEST(Judge, AcceptsARunThatStartsAgainBeforeItsFirstSave) {
  const v1::Verdict verdict = Judge(MakeEvidence({}, {4}, {}));
  EXPECT_EQ(verdict.outcome(), v1::PASS) << verdict.summary();
}

TEST(Judge, TooLowALossFailsAsWell) {
  Simulation simulation;
  simulation.digests = false;
  Evidence evidence = MakeEvidence(simulation, {67}, {});
  for (v1::Event& event : evidence.subject.attempts[1].events) {
    if (!event.has_step()) continue;
    v1::Number* loss = event.mutable_step()->mutable_loss();
    const float lower = static_cast<float>(loss->v()) * 0.9f;
    uint32_t bits;
    memcpy(&bits, &lower, sizeof(bits));
    char text[9];
    snprintf(text, sizeof(text), "%08x", bits);
    loss->set_v(lower);
    loss->set_bits(text);
  }
  const v1::Verdict verdict = Judge(evidence);
  EXPECT_EQ(verdict.outcome(), v1::FAIL);
  EXPECT_THAT(NamesOf(verdict), ElementsAre("ema.weights:SWAPPED"));
}

// As found on a trainer that draws the samples of its evaluations from the
// generator that it forgets: the evaluation differs one step before training.
TEST(Judge, AnEvaluationThatDiffersJustBeforeTrainingIsNoFaultOfItsOwn) {
  Simulation simulation;
  simulation.digests = false;
  Evidence evidence = MakeEvidence(simulation, {67}, {});
  for (v1::Event& event : evidence.subject.attempts[1].events) {
    if (event.has_evaluation() && event.evaluation().step() == 70) {
      v1::Number* loss = event.mutable_evaluation()->mutable_loss();
      loss->set_v(loss->v() * 1.25);
      loss->clear_bits();
    }
    if (event.has_step() && event.step().step() > 70) {
      v1::Number* loss = event.mutable_step()->mutable_loss();
      loss->set_v(loss->v() * 1.25);
      loss->clear_bits();
    }
  }
  const v1::Verdict verdict = Judge(evidence);
  EXPECT_EQ(verdict.outcome(), v1::FAIL);
  ASSERT_EQ(verdict.findings_size(), 1);
  EXPECT_EQ(verdict.findings(0).onset_step(), 71);
  EXPECT_THAT(NamesOf(verdict)[0], Not(HasSubstr("model.buffers")));
}

TEST(Judge, NamesOnsetsThatStartLaterOnTheirOwn) {
  Faults faults;
  // The averages are lost at once; the order of a later epoch is wrong too.
  faults.load = LoseAverages().load;
  faults.order_epoch = [](uint64_t epoch) { return epoch >= 2 ? 0 : epoch; };
  const v1::Verdict verdict = Judge(MakeEvidence({}, {67}, faults));
  EXPECT_THAT(NamesOf(verdict),
              ElementsAre("ema.weights:RESET", "sampler.order:REORDERED"));
  EXPECT_EQ(verdict.findings(0).onset_step(), 61);
  EXPECT_EQ(verdict.findings(1).onset_step(), 81);
}

TEST(Judge, C13_NamesAPositionThatIsSavedFrozen) {
  // Correct on the first resume; its saves repeat the loaded position.
  const Simulation simulation;
  Evidence evidence = MakeEvidence(simulation, {67, 88}, {});
  Faults stuck;
  stuck.load = [](SimulatedState* state, const LoadView& view) {
    if (state->step == 80) state->cursor = view.saves.at(60).cursor;
  };
  evidence.subject = Simulate(simulation, {67, 88}, stuck);
  EXPECT_THAT(NamesOf(Judge(evidence)), ElementsAre("sampler.cursor:STICKY"));
}

TEST(Judge, ReportsTheSameFaultOnceWithEveryAttemptThatShowsIt) {
  const v1::Verdict verdict =
      Judge(MakeEvidence({}, {37, 67, 95}, LoseAverages()));
  ASSERT_EQ(verdict.findings_size(), 1);
  EXPECT_EQ(verdict.findings(0).attempt(), 2);
  EXPECT_THAT(
      std::vector<uint32_t>(verdict.findings(0).again_in_attempts().begin(),
                            verdict.findings(0).again_in_attempts().end()),
      ElementsAre(3, 4));
}

TEST(Judge, ControlsTellApartWhatCurvesCannot) {
  Simulation simulation;
  simulation.digests = false;
  Evidence evidence = MakeEvidence(simulation, {67}, LoseAverages());
  ASSERT_THAT(NamesOf(Judge(evidence)),
              ElementsAre("ema.weights:RESET or ema.updates:RESET"));
  ControlEvidence control;
  control.item = Item::EMA_WEIGHTS;
  control.lineage = Simulate(simulation, {67}, LoseAverages());
  evidence.controls = {control};
  const v1::Verdict verdict = Judge(evidence);
  EXPECT_THAT(NamesOf(verdict), ElementsAre("ema.weights:RESET"));
  EXPECT_EQ(verdict.findings(0).ground(), v1::Finding::CONTROL);
}

TEST(Judge, ARightRunIsNoControlsEqual) {
  Simulation simulation;
  Evidence evidence = MakeEvidence(simulation, {67}, {});
  ControlEvidence control;
  control.item = Item::OPTIM_MOMENTS;
  control.lineage = Simulate(simulation, {67}, LoseMoments());
  evidence.controls = {control};
  const v1::Verdict verdict = Judge(evidence);
  EXPECT_EQ(verdict.outcome(), v1::PASS) << verdict.summary();
  ASSERT_EQ(verdict.power_size(), 1);
  EXPECT_EQ(verdict.power(0).status(), v1::Power::SHOWN);
}

TEST(Judge, NeverCrashesOnHalfARecord) {
  // Every prefix of the subject's events, and every event dropped once.
  Evidence evidence = MakeEvidence({}, {67}, LoseMoments());
  const std::vector<v1::Event> whole = evidence.subject.attempts[1].events;
  for (size_t i = 0; i <= whole.size(); i += 7) {
    evidence.subject.attempts[1].events.assign(whole.begin(),
                                               whole.begin() + i);
    EXPECT_NE(Judge(evidence).outcome(), v1::PASS) << i;
    evidence.subject.attempts[1].events = whole;
    if (i < whole.size()) {
      evidence.subject.attempts[1].events.erase(
          evidence.subject.attempts[1].events.begin() + i);
    }
    EXPECT_NE(Judge(evidence).outcome(), v1::PASS) << i;
  }
}

v1::Verdict Simple(v1::VerdictOutcome outcome) {
  v1::Verdict verdict;
  verdict.set_outcome(outcome);
  verdict.set_summary("s");
  return verdict;
}

TEST(CombineRepetitions, DifferentOutcomesAreFlaky) {
  EXPECT_EQ(CombineRepetitions({Simple(v1::PASS), Simple(v1::PASS)}).outcome(),
            v1::PASS);
  EXPECT_EQ(CombineRepetitions({Simple(v1::PASS), Simple(v1::FAIL)}).outcome(),
            v1::FLAKY);
  EXPECT_EQ(CombineRepetitions({}).outcome(), v1::NOT_RUN);
}

}  // namespace
}  // namespace reprise::conformance
