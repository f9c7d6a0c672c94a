// The schedules against Python's torch.optim.lr_scheduler, from a committed
// fixture. The unit in the last place is that of the base rate, which is 1:
// where a cosine or a straight line comes near zero, terms cancel, and a last
// bit of the larger term is many of the result.
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/parity/fixture.h"
#include "trainer/schedule/schedule.h"

namespace reprise {
namespace {

constexpr double kUlpOfBase = std::numeric_limits<double>::epsilon();

std::vector<Words> Lines(const std::string& name) {
  std::vector<Words> lines;
  for (const Words& words : ReadFixture("schedules.txt")) {
    if (words[0] == name) lines.push_back(words);
  }
  EXPECT_GE(lines.size(), 22u) << name;
  return lines;
}

Schedule Make(absl::string_view form, uint64_t warmup, uint64_t horizon,
              double final_fraction, std::map<std::string, double> parameters) {
  Schedule::Definition d;
  d.form = std::string(form);
  d.warmup = warmup;
  d.horizon = horizon;
  d.final_fraction = final_fraction;
  d.parameters = std::move(parameters);
  return Schedule::Create(d).value();
}

// Compares with the closed form within `closed` ulp of the base, and with what
// Python comes to step by step within `walked`.
void ExpectForm(const std::string& name, const Schedule& schedule,
                double closed, double walked) {
  double worst_closed = 0, worst_walked = 0;
  for (const Words& words : Lines(name)) {
    const double found = schedule.Fraction(std::stoull(words[1]));
    worst_closed = std::max(worst_closed, std::abs(found - F64(words[2])));
    worst_walked = std::max(worst_walked, std::abs(found - F64(words[3])));
  }
  std::printf("%s: closed form within %.2f ulp of the base, walked %.2f\n",
              name.c_str(), worst_closed / kUlpOfBase,
              worst_walked / kUlpOfBase);
  EXPECT_LE(worst_closed, closed * kUlpOfBase);
  EXPECT_LE(worst_walked, walked * kUlpOfBase);
}

TEST(ScheduleParity, LinearIsWithinOneUlpOfPythonsClosedForm) {
  ExpectForm("linear", Make(kLinearV1, 0, 280, 0.1, {}), 1, 64);
}

TEST(ScheduleParity, StepIsWithinOneUlpOfPythonsClosedForm) {
  ExpectForm("step",
             Make(kStepV1, 0, 1000, 0, {{"gamma", 0.3}, {"step_size", 30}}), 1,
             64);
}

TEST(ScheduleParity, ExponentialIsWithinOneUlpOfPythonsClosedForm) {
  ExpectForm("exponential", Make(kExponentialV1, 0, 1000, 0, {{"gamma", 0.97}}),
             1, 64);
}

TEST(ScheduleParity, OneCycleIsWithinTwoUlpOfPythonsRateAndMomentum) {
  const Schedule schedule = Make(kOneCycleV1, 89, 299, 1.0 / 25 / 1e4,
                                 {{"start_fraction", 1.0 / 25},
                                  {"momentum_low", 0.85},
                                  {"momentum_high", 0.95}});
  double worst = 0;
  for (const Words& words : Lines("one_cycle")) {
    const uint64_t position = std::stoull(words[1]);
    const double rate = std::abs(schedule.Fraction(position) - F64(words[2]));
    const double momentum =
        std::abs(*schedule.Momentum(position) - F64(words[3]));
    EXPECT_LE(rate, 2 * kUlpOfBase) << position;
    EXPECT_LE(momentum, 2 * kUlpOfBase) << position;
    worst = std::max({worst, rate, momentum});
  }
  std::printf("one_cycle: largest distance %.2f ulp of the base\n",
              worst / kUlpOfBase);
}

TEST(ScheduleParity, PlateauReducesWhenPythonDoes) {
  for (const bool higher : {false, true}) {
    const Schedule schedule = Make(kPlateauV1, 0, 1, 0.02,
                                   {{"reduction", 0.3},
                                    {"patience", 2},
                                    {"cooldown", 1},
                                    {"threshold", 0.01},
                                    {"higher_is_better", higher ? 1.0 : 0.0}});
    auto state = schedule.FirstState();
    int reductions = 0;
    for (const Words& words : Lines(higher ? "plateau_max" : "plateau_min")) {
      const double before = state->factor;
      state = schedule.AfterEvaluation(*state, F64(words[1]));
      reductions += state->factor < before;
      EXPECT_NEAR(schedule.Fraction(0, state), F64(words[2]), kUlpOfBase);
      EXPECT_EQ(std::to_string(state->bad_count), words[3]);
      EXPECT_EQ(std::to_string(state->cooldown), words[4]);
    }
    EXPECT_GE(reductions, 3);
  }
}

}  // namespace
}  // namespace reprise
