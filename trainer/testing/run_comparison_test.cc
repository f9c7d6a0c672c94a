#include "trainer/testing/run_comparison.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

MetricsRecord Step(uint64_t step, uint64_t attempt = 1) {
  MetricsRecord record;
  record.type = "step";
  record.attempt = attempt;
  record.step = step;
  record.channels = {{"loss", "3f000000"}, {"scale", "47800000"}};
  return record;
}

MetricsRecord Evaluation(uint64_t step) {
  MetricsRecord record = Step(step);
  record.type = "eval";
  record.channels = {{"loss", "3fe0000000000000"}};
  return record;
}

StepTable Baseline() {
  return StepTable::Of({Step(1), Step(2), Step(3), Evaluation(3)}).value();
}

// Killed after step 2, resumed from step 1: step 2 was done twice.
MetricsRecords Resumed() {
  return {{Step(1), Step(2, 2), Step(3, 2), Evaluation(3)}, {Step(2)}};
}

std::vector<std::string> Texts(const std::vector<Difference>& differences) {
  std::vector<std::string> texts;
  for (const Difference& d : differences) {
    std::ostringstream text;
    text << d;
    texts.push_back(text.str());
  }
  return texts;
}

TEST(RunComparison, EqualRunHasNoDifference) {
  EXPECT_THAT(Texts(Compare(Baseline(), Resumed())), IsEmpty());
}

TEST(RunComparison, OneOtherBitIsADifference) {
  MetricsRecords run = Resumed();
  run.kept[2].channels["loss"] = "3f000001";
  const auto differences = Compare(Baseline(), run);
  EXPECT_THAT(Texts(differences),
              ElementsAre("step 3, loss: expected 3f000000, found 3f000001"));
  EXPECT_THAT(ChannelsAt(differences, 3), ElementsAre("loss"));
  EXPECT_EQ(FirstStep(differences, "loss"), 3);
  EXPECT_EQ(FirstStep(differences, "scale"), 0);
}

TEST(RunComparison, SupersededStepCountsToo) {
  MetricsRecords run = Resumed();
  run.superseded[0].channels["scale"] = "47000000";
  EXPECT_THAT(Texts(Compare(Baseline(), run)),
              ElementsAre("step 2, scale: expected 47800000, found 47000000"));
}

TEST(RunComparison, EvaluationHasChannelsOfItsOwn) {
  MetricsRecords run = Resumed();
  run.kept[3].channels["loss"] = "3fe0000000000001";
  EXPECT_THAT(ChannelsAt(Compare(Baseline(), run), 3),
              ElementsAre("eval.loss"));
}

TEST(RunComparison, AbsentOrNewChannelIsADifference) {
  MetricsRecords run = Resumed();
  run.kept[0].channels = {{"loss", "3f000000"}, {"norm", "0"}};
  EXPECT_THAT(Texts(Compare(Baseline(), run)),
              ElementsAre("step 1, norm: expected (absent), found 0",
                          "step 1, scale: expected 47800000, found (absent)"));
}

TEST(RunComparison, GapRepeatAndEarlyEndAreDifferences) {
  MetricsRecords run = Resumed();
  run.kept.erase(run.kept.begin() + 1);
  EXPECT_THAT(Texts(Compare(Baseline(), run)),
              ElementsAre("step 2, record: expected one step, found 0"));
  run = Resumed();
  run.kept.push_back(Step(3));
  EXPECT_THAT(Texts(Compare(Baseline(), run)),
              ElementsAre("step 3, record: expected one step, found 2"));
  run = Resumed();
  run.kept.resize(2);
  EXPECT_THAT(Texts(Compare(Baseline(), run)),
              ElementsAre("step 3, record: expected one step, found 0",
                          "step 3, record: expected one eval, found 0"));
}

TEST(RunComparison, StepBeyondTheBaselineIsADifference) {
  MetricsRecords run = Resumed();
  run.kept.push_back(Step(4));
  EXPECT_THAT(Texts(Compare(Baseline(), run)),
              ElementsAre("step 4, record: expected no step, found one"));
}

TEST(RunComparison, RunThatBeginsLaterLacksNothingBefore) {
  MetricsRecords run = Resumed();
  run.kept.erase(run.kept.begin());
  EXPECT_THAT(Texts(Compare(Baseline(), run, /*first_step=*/2)), IsEmpty());
}

TEST(RunComparison, BaselineMustBeWhole) {
  EXPECT_THAT(StepTable::Of({Step(1), Step(3)}).status().message(),
              HasSubstr("step 3 after step 1"));
  EXPECT_THAT(StepTable::Of({Step(1), Step(1)}).status().message(),
              HasSubstr("two step records of step 1"));
}

// A snapshot in which every part has a value.
Snapshot Whole() {
  static const float kValues[2] = {0.5f, -0.0f};
  Snapshot s;
  s.step = 3;
  s.architecture = "mlp";
  s.parameters = {Tensor::View("w", DType::kF32, {2}, kValues)};
  s.buffers = {Tensor::View("b", DType::kF32, {2}, kValues)};
  s.optimizer = OptimizerState{};
  s.optimizer->groups = {ParameterGroup{}};
  s.optimizer->states = {
      {"w", 3, {Tensor::View("exp_avg", DType::kF32, {2}, kValues)}}};
  s.schedule = ScheduleState{};
  s.scaler = GradScalerState{};
  s.sampler = SamplerState{};
  s.generators = {{"cpu", "mt19937", "libtorch", "state"}};
  return s;
}

TEST(StateComparison, EqualStatesHaveNoDifference) {
  Snapshot other = Whole();
  other.run_id = "another";
  other.attempt = 7;
  other.host = "elsewhere";
  EXPECT_THAT(CompareState(Whole(), other), IsEmpty());
}

TEST(StateComparison, NamesTheItemOfEveryDifference) {
  static const float kOther[2] = {0.5f, 0.0f};  // differs in one sign bit
  struct Case {
    void (*edit)(Snapshot*);
    const char* item;
  };
  for (const Case& c : {
           Case{[](Snapshot* s) { s->step = 4; }, "counters.step"},
           Case{[](Snapshot* s) {
                  s->parameters = {Tensor::View("w", DType::kF32, {2}, kOther)};
                },
                "model.params: other bytes in w"},
           Case{[](Snapshot* s) { s->buffers.clear(); }, "model.buffers"},
           Case{[](Snapshot* s) { s->optimizer->groups[0].lr = 1e-300; },
                "optim.groups"},
           Case{[](Snapshot* s) { s->optimizer->states[0].step = 2; },
                "optim.step"},
           Case{[](Snapshot* s) {
                  s->optimizer->states[0].moments = {
                      Tensor::View("exp_avg", DType::kF32, {2}, kOther)};
                },
                "optim.moments of w: other bytes in exp_avg"},
           Case{[](Snapshot* s) { s->schedule->position = 1; },
                "sched.position"},
           Case{[](Snapshot* s) { s->scaler->growth_tracker = 1; },
                "scaler.scale"},
           Case{[](Snapshot* s) { s->scaler.reset(); }, "scaler.scale"},
           Case{[](Snapshot* s) { s->sampler->cursor = 1; }, "sampler.cursor"},
           Case{[](Snapshot* s) { s->generators[0].state[0] ^= 1; }, "rng.cpu"},
       }) {
    Snapshot other = Whole();
    c.edit(&other);
    EXPECT_THAT(CompareState(Whole(), other), ElementsAre(HasSubstr(c.item)));
  }
}

}  // namespace
}  // namespace reprise
