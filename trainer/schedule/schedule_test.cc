#include "trainer/schedule/schedule.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "format/random/read_vectors.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using Unit = ScheduleState::Unit;

double FromBits(const std::string& hex) {
  if (hex == "nan") return std::numeric_limits<double>::quiet_NaN();
  const uint64_t bits = std::stoull(hex, nullptr, 16);
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void ExpectBits(double found, const std::string& hex, const std::string& what) {
  const double expected = FromBits(hex);
  EXPECT_EQ(std::memcmp(&found, &expected, sizeof found), 0)
      << what << ": expected " << expected << ", found " << found;
}

// A valid definition of `form`.
Schedule::Definition Some(absl::string_view form) {
  Schedule::Definition d;
  d.form = std::string(form);
  d.warmup = 4;
  d.horizon = 100;
  d.final_fraction = 0.01;
  if (form == kStepV1) d.parameters = {{"gamma", 0.5}, {"step_size", 10}};
  if (form == kExponentialV1) d.parameters = {{"gamma", 0.9}};
  if (form == kOneCycleV1) {
    d.parameters = {{"start_fraction", 0.04},
                    {"momentum_low", 0.85},
                    {"momentum_high", 0.95}};
  }
  if (form == kPlateauV1) {
    d.parameters = {{"reduction", 0.5},
                    {"patience", 1},
                    {"cooldown", 2},
                    {"threshold", 0.01},
                    {"higher_is_better", 0}};
  }
  return d;
}

Schedule Make(const Schedule::Definition& definition) {
  auto schedule = Schedule::Create(definition);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return *std::move(schedule);
}

// The released vectors of a form without state: warmup horizon final, the
// parameters in the order of their names, position, factor, momentum or "-".
void ExpectVectors(absl::string_view form) {
  for (const auto& row : ReadVectors(std::string(form))) {
    Schedule::Definition d = Some(form);
    size_t at = 0;
    d.warmup = std::stoull(row[at++]);
    d.horizon = std::stoull(row[at++]);
    d.final_fraction = FromBits(row[at++]);
    for (auto& [name, value] : d.parameters) value = FromBits(row[at++]);
    const Schedule schedule = Make(d);
    const uint64_t position = std::stoull(row[at++]);
    const std::string what = absl::StrCat(form, " position ", position);
    ExpectBits(schedule.Fraction(position), row[at++], what);
    const std::optional<double> momentum = schedule.Momentum(position);
    ASSERT_EQ(momentum.has_value(), row[at] != "-") << what;
    if (momentum.has_value()) ExpectBits(*momentum, row[at], what);
  }
}

// Each suite's name is the id of a form in the style of C++.
// Rules: SCHED-1
TEST(ConstantV1, AgreesWithReleasedVectorsInEveryBit) {
  ExpectVectors(kConstantV1);
}
TEST(LinearV1, AgreesWithReleasedVectorsInEveryBit) {
  ExpectVectors(kLinearV1);
}
TEST(StepV1, AgreesWithReleasedVectorsInEveryBit) { ExpectVectors(kStepV1); }
TEST(ExponentialV1, AgreesWithReleasedVectorsInEveryBit) {
  ExpectVectors(kExponentialV1);
}
TEST(OneCycleV1, AgreesWithReleasedVectorsInEveryBit) {
  ExpectVectors(kOneCycleV1);
}

// A row is one run: warmup final, the parameters, then for each evaluation
// value, best, bad count, cooldown, factor, and the schedule at position 1.
TEST(PlateauV1, AgreesWithReleasedVectorsInEveryBit) {
  for (const auto& row : ReadVectors("plateau-v1")) {
    Schedule::Definition d = Some(kPlateauV1);
    size_t at = 0;
    d.warmup = std::stoull(row[at++]);
    d.final_fraction = FromBits(row[at++]);
    for (auto& [name, value] : d.parameters) value = FromBits(row[at++]);
    const Schedule schedule = Make(d);
    std::optional<PlateauState> state = schedule.FirstState();
    ASSERT_TRUE(state.has_value());
    while (at < row.size()) {
      const std::string what = absl::StrCat("plateau field ", at);
      state = schedule.AfterEvaluation(*state, FromBits(row[at]));
      ASSERT_EQ(state->best.has_value(), row[at + 1] != "-") << what;
      if (state->best.has_value()) ExpectBits(*state->best, row[at + 1], what);
      EXPECT_EQ(absl::StrCat(state->bad_count), row[at + 2]) << what;
      EXPECT_EQ(absl::StrCat(state->cooldown), row[at + 3]) << what;
      ExpectBits(state->factor, row[at + 4], what);
      ExpectBits(schedule.Fraction(1, state), row[at + 5], what);
      EXPECT_TRUE(schedule.CheckSame(schedule.ToState(1, state)).ok()) << what;
      at += 6;
    }
  }
}

TEST(Schedule, WarmupCosineHasTheBitsOfItsOwnClass) {
  const Schedule schedule = Make(Some(kWarmupCosineV1));
  const WarmupCosine cosine = *WarmupCosine::Create({4, 100, 0.01});
  for (uint64_t position = 0; position < 120; ++position) {
    EXPECT_EQ(schedule.Fraction(position), cosine.Fraction(position));
  }
}

// Rules: SCHED-1
TEST(Schedule, EveryFormWarmsUpHoldsItsEndAndStaysInZeroToOne) {
  for (absl::string_view form : ScheduleForms()) {
    const Schedule schedule = Make(Some(form));
    const auto state = schedule.FirstState();
    const double first = schedule.Fraction(0, state);
    EXPECT_NEAR(first, form == kOneCycleV1 ? 0.04 : 0.25, 2e-16) << form;
    for (uint64_t position = 0; position < 4; ++position) {
      EXPECT_GE(schedule.Fraction(position + 1, state),
                schedule.Fraction(position, state))
          << form << " " << position;
    }
    EXPECT_EQ(schedule.Fraction(4, state), 1.0) << form;
    for (uint64_t position = 4; position < 100; ++position) {
      EXPECT_LE(schedule.Fraction(position + 1, state),
                schedule.Fraction(position, state))
          << form << " " << position;
      EXPECT_GE(schedule.Fraction(position, state), 0.01) << form;
    }
    for (uint64_t position : {uint64_t{101}, uint64_t{100000},
                              std::numeric_limits<uint64_t>::max()}) {
      EXPECT_EQ(schedule.Fraction(position, state),
                schedule.Fraction(100, state))
          << form;
    }
  }
}

TEST(Schedule, ReductionsStopAtTheFinalFraction) {
  Schedule::Definition d = Some(kStepV1);
  d.final_fraction = 0.2;
  EXPECT_EQ(Make(d).Fraction(4 + 20), 0.25);
  EXPECT_EQ(Make(d).Fraction(4 + 30), 0.2);
  d = Some(kPlateauV1);
  d.final_fraction = 0.4;
  const Schedule plateau = Make(d);
  PlateauState state = *plateau.FirstState();
  for (int i = 0; i < 40; ++i) state = plateau.AfterEvaluation(state, 1.0);
  EXPECT_EQ(state.factor, 0.4);
  // Nor does a factor become 0, which no file may hold.
  d.final_fraction = 0;
  d.parameters["reduction"] = 1e-200;
  const Schedule steep = Make(d);
  for (int i = 0; i < 40; ++i) state = steep.AfterEvaluation(state, 1.0);
  EXPECT_GT(state.factor, 0);
}

TEST(Schedule, OneCycleMovesMomentumAgainstTheRate) {
  const Schedule schedule = Make(Some(kOneCycleV1));
  EXPECT_DOUBLE_EQ(*schedule.Momentum(0), 0.95);
  EXPECT_DOUBLE_EQ(*schedule.Momentum(4), 0.85);
  EXPECT_EQ(schedule.Momentum(100), 0.95);
  EXPECT_EQ(schedule.Momentum(1000), 0.95);
  for (uint64_t position = 4; position < 100; ++position) {
    EXPECT_LE(*schedule.Momentum(position), *schedule.Momentum(position + 1));
  }
  EXPECT_FALSE(Make(Some(kLinearV1)).Momentum(3).has_value());
}

TEST(Schedule, PositionIsCountedInTheUnit) {
  const RunPosition run = {1, 2, 3, 4};
  for (const auto& [unit, expected] :
       {std::pair{Unit::kApplied, 1u}, std::pair{Unit::kAttempted, 2u},
        std::pair{Unit::kSamples, 3u}, std::pair{Unit::kEpochs, 4u}}) {
    Schedule::Definition d = Some(kLinearV1);
    d.unit = unit;
    EXPECT_EQ(Make(d).PositionOf(run), expected);
  }
}

TEST(Schedule, PlateauGoesOnFromASavedStateAsIfNothingHadHappened) {
  const Schedule schedule = Make(Some(kPlateauV1));
  const double values[] = {3, 2.5, 2.6, 2.7, 2.6, 2.4, 2.4, 2.4, 2.4, 2.4, 9};
  std::optional<PlateauState> through = schedule.FirstState();
  for (size_t killed = 0; killed < std::size(values); ++killed) {
    auto resumed = schedule.ToState(7, through).state;
    auto uninterrupted = through;
    for (size_t i = killed; i < std::size(values); ++i) {
      resumed = schedule.AfterEvaluation(*resumed, values[i]);
      uninterrupted = schedule.AfterEvaluation(*uninterrupted, values[i]);
      EXPECT_EQ(resumed->factor, uninterrupted->factor);
      EXPECT_EQ(resumed->bad_count, uninterrupted->bad_count);
      EXPECT_EQ(resumed->cooldown, uninterrupted->cooldown);
    }
    through = schedule.AfterEvaluation(*through, values[killed]);
  }
  EXPECT_LT(through->factor, 1);
}

TEST(Schedule, StateHoldsWhatTheFormulaNeeds) {
  Schedule::Definition d = Some(kStepV1);
  d.unit = Unit::kSamples;
  const ScheduleState state = Make(d).ToState(17);
  EXPECT_EQ(state.form, "step-v1");
  EXPECT_EQ(state.unit, Unit::kSamples);
  EXPECT_EQ(state.position, 17u);
  EXPECT_EQ(state.horizon, 100u);
  EXPECT_EQ(state.warmup, 4u);
  EXPECT_EQ(state.final_fraction, 0.01);
  ASSERT_EQ(state.parameters.size(), 2u);
  EXPECT_EQ(state.parameters[0].name, "gamma");
  EXPECT_EQ(state.parameters[1].name, "step_size");
  EXPECT_EQ(state.parameters[1].value, 10);
  EXPECT_FALSE(state.state.has_value());
}

TEST(Schedule, RefusesTheStateOfAnotherScheduleByItem) {
  const Schedule schedule = Make(Some(kPlateauV1));
  const ScheduleState good = schedule.ToState(9, schedule.FirstState());
  ASSERT_TRUE(schedule.CheckSame(good).ok());
  struct Fault {
    const char* item;
    void (*apply)(ScheduleState*);
  };
  const Fault faults[] = {
      {"sched.definition", [](ScheduleState* s) { s->form = "linear-v1"; }},
      {"sched.definition", [](ScheduleState* s) { ++s->warmup; }},
      {"sched.definition", [](ScheduleState* s) { s->final_fraction = 0.5; }},
      {"sched.definition", [](ScheduleState* s) { s->parameters[0].value++; }},
      {"sched.definition", [](ScheduleState* s) { s->parameters.pop_back(); }},
      {"sched.unit", [](ScheduleState* s) { s->unit = Unit::kEpochs; }},
      {"sched.horizon", [](ScheduleState* s) { ++s->horizon; }},
      {"sched.state", [](ScheduleState* s) { s->state.reset(); }},
      {"sched.state", [](ScheduleState* s) { s->state->factor = 0; }},
      {"sched.state", [](ScheduleState* s) { s->state->bad_count = 2; }},
      {"sched.state", [](ScheduleState* s) { s->state->cooldown = 3; }},
      {"sched.state", [](ScheduleState* s) { s->state->best = NAN; }},
  };
  for (const Fault& fault : faults) {
    ScheduleState bad = good;
    fault.apply(&bad);
    const absl::Status status = schedule.CheckSame(bad);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message().find(fault.item), 0u) << status;
  }
  const Schedule stateless = Make(Some(kLinearV1));
  ScheduleState surplus = stateless.ToState(1);
  surplus.state = PlateauState();
  EXPECT_FALSE(stateless.CheckSame(surplus).ok());
}

TEST(Schedule, RefusesEveryDefinitionOutOfRangeByName) {
  Schedule::Definition unknown = Some(kLinearV1);
  unknown.form = "cosine";
  EXPECT_NE(Schedule::Create(unknown).status().message().find("\"cosine\""),
            std::string::npos);
  struct Fault {
    absl::string_view form;
    const char* name;
    double value;
  };
  const Fault faults[] = {
      {kStepV1, "gamma", 0},
      {kStepV1, "gamma", 1.5},
      {kStepV1, "step_size", 0},
      {kStepV1, "step_size", 1.5},
      {kExponentialV1, "gamma", NAN},
      {kExponentialV1, "step_size", 3},  // not of the form
      {kOneCycleV1, "start_fraction", -0.1},
      {kOneCycleV1, "momentum_low", 0},
      {kOneCycleV1, "momentum_low", 0.96},
      {kOneCycleV1, "momentum_high", 1},
      {kPlateauV1, "reduction", 1},
      {kPlateauV1, "patience", -1},
      {kPlateauV1, "cooldown", 0.5},
      {kPlateauV1, "threshold", 1},
      {kPlateauV1, "higher_is_better", 2},
  };
  for (const Fault& fault : faults) {
    Schedule::Definition d = Some(fault.form);
    d.parameters[fault.name] = fault.value;
    const absl::Status status = Schedule::Create(d).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << fault.name;
    EXPECT_NE(status.message().find(absl::StrCat(fault.name, ": expected")),
              std::string::npos)
        << status;
  }
  Schedule::Definition lacking = Some(kPlateauV1);
  lacking.parameters.erase("patience");
  lacking.warmup = 100;
  const absl::Status status = Schedule::Create(lacking).status();
  EXPECT_NE(status.message().find("patience: expected a whole number"),
            std::string::npos);
  EXPECT_NE(status.message().find("horizon: expected more than warmup (100)"),
            std::string::npos);
}

}  // namespace
}  // namespace reprise
