#include "conformance/runner/plan.h"

#include <set>
#include <string>
#include <vector>

#include "conformance/runner/geometry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using v1::CasePlan;
using v1::Kill;
using v1::ProfilePlan;

// T0 of the cases: 300 steps, 100 an epoch, a save every 10.
v1::Geometry T0(uint64_t steps = 300, uint64_t epoch = 100,
                uint64_t spacing = 10) {
  v1::Geometry geometry;
  geometry.set_steps(steps);
  for (uint64_t step = epoch; step <= steps; step += epoch) {
    geometry.add_epoch_ends(step);
    geometry.add_evaluations(step);
  }
  for (uint64_t step = spacing; step <= steps; step += spacing) {
    geometry.add_saves(step);
  }
  return geometry;
}

Description Able() {
  Description description;
  for (const char* feature : {"accumulation", "inject_overflow", "moves"}) {
    description.add_features(feature);
  }
  for (int point = v1::P0; point <= v1::P6; ++point) {
    description.add_hold_points(v1::Point(point));
  }
  for (int point = v1::S1; point <= v1::S8; ++point) {
    description.add_hold_points(v1::Point(point));
  }
  description.add_hold_points(v1::LOAD);
  description.add_hold_points(v1::EVALUATION);
  return description;
}

std::vector<ProfilePlan> Planned(const Description& description,
                                 const v1::Geometry& geometry,
                                 PlanBudget budget) {
  std::vector<ProfilePlan> profiles = PlanProfiles(description, RunRequest());
  for (ProfilePlan& profile : profiles) {
    if (profile.name() == "overflow") PlaceOverflows(geometry, &profile);
    *profile.mutable_geometry() = geometry;
  }
  PlanCases(description, budget, &profiles);
  return profiles;
}

std::vector<std::string> Names(const ProfilePlan& profile) {
  std::vector<std::string> names;
  for (const CasePlan& one : profile.cases()) names.push_back(one.name());
  return names;
}

const CasePlan& Find(const ProfilePlan& profile, const std::string& name) {
  for (const CasePlan& one : profile.cases()) {
    if (one.name() == name) return one;
  }
  ADD_FAILURE() << "no case " << name;
  static const auto* const none = new CasePlan();
  return *none;
}

uint64_t KillsIn(const std::vector<ProfilePlan>& profiles) {
  uint64_t kills = 0;
  for (const ProfilePlan& profile : profiles) {
    for (const CasePlan& one : profile.cases()) {
      if (one.repeats().empty()) kills += one.attempts_size() - 1;
    }
  }
  return kills;
}

TEST(Plan, CoversTheGridOfAnAbleTestee) {
  const auto profiles = Planned(Able(), T0(), {1, 1000});
  ASSERT_EQ(profiles.size(), 3);
  std::set<std::string> points;
  for (const ProfilePlan& profile : profiles) {
    for (const CasePlan& one : profile.cases()) points.insert(one.grid_point());
  }
  EXPECT_THAT(points, IsSupersetOf({"inside_first_epoch", "end_first_epoch",
                                    "inside_later_epoch", "end_later_epoch",
                                    "mid_accumulation", "around_overflow",
                                    "second_resume"}));
  EXPECT_THAT(Names(profiles[0]),
              IsSupersetOf({"held_p0", "held_p6", "held_s1", "held_s8",
                            "held_evaluation", "in_load_1", "in_save_1",
                            "after_commit_1", "term", "chain"}));
}

// Over many seeds: the property, not one draw.
class PlanOfSeed : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seeds, PlanOfSeed, testing::Range(1, 40));

TEST_P(PlanOfSeed, PutsKillsBehindTheCommitThatTheGridPointNames) {
  const uint64_t seed = GetParam();
  const auto profiles = Planned(Able(), T0(), {seed, 1000});
  const auto step = [&](const char* name, int attempt = 0) {
    return Find(profiles[0], name).attempts(attempt).kill().step();
  };
  // Behind a save that lies inside the epoch, before the next save.
  EXPECT_GT(step("inside_first_epoch"), 10);
  EXPECT_LT(step("inside_first_epoch"), 100);
  EXPECT_NE(step("inside_first_epoch") % 10, 0);
  EXPECT_GT(step("inside_later_epoch"), 100);
  EXPECT_LT(step("inside_later_epoch"), 200);
  // Behind the save at the epoch's end, before the next one.
  EXPECT_GT(step("end_first_epoch"), 100);
  EXPECT_LT(step("end_first_epoch"), 110);
  EXPECT_GT(step("end_later_epoch"), 200);
  EXPECT_LT(step("end_later_epoch"), 210);
  EXPECT_EQ(step("end_first_epoch_crossed"), 100);
}

TEST_P(PlanOfSeed, C13_ResumesAtLeastTwiceInsideOneEpoch) {
  const uint64_t seed = GetParam();
  const auto profiles = Planned(Able(), T0(), {seed, 1000});
  const CasePlan& plan = Find(profiles[0], "second_resume");
  ASSERT_EQ(plan.attempts_size(), 4);
  std::vector<uint64_t> saves;
  for (int i = 0; i < 3; ++i) {
    const uint64_t step = plan.attempts(i).kill().step();
    EXPECT_GT(step, 110);
    EXPECT_LT(step, 200);
    saves.push_back(step / 10 * 10);
  }
  EXPECT_LT(saves[0], saves[1]) << "the second resume is of a later save";
  EXPECT_FALSE(plan.attempts(3).has_kill());
}

TEST_P(PlanOfSeed, C13_AsksForMoreSavesWhereAnEpochHasFewerThanTwo) {
  const auto profiles =
      Planned(Description(), T0(60, 20, 10), {uint64_t(GetParam()), 1000});
  const CasePlan& plan = Find(profiles[0], "second_resume");
  EXPECT_EQ(plan.request().save_every(), 5);
  ASSERT_EQ(plan.attempts_size(), 4);
  EXPECT_GT(plan.attempts(0).kill().step(), 20);
  EXPECT_LT(plan.attempts(1).kill().step(), 40);
}

TEST_P(PlanOfSeed, StaysInsideItsBudget) {
  for (const uint64_t kills : {0, 1, 2, 5, 20, 60, 200}) {
    const auto profiles = Planned(Able(), T0(), {uint64_t(GetParam()), kills});
    EXPECT_LE(KillsIn(profiles), kills);
    EXPECT_GE(KillsIn(profiles) + 4, kills) << "most of it is used";
  }
}

TEST_P(PlanOfSeed, KeepsEveryKillBeforeTheEndOfAnyRun) {
  for (const uint64_t steps : {2, 3, 4, 7, 25, 75}) {
    const auto profiles = Planned(Able(),
                                  T0(steps, std::max<uint64_t>(1, steps / 3),
                                     std::max<uint64_t>(1, steps / 7)),
                                  {uint64_t(GetParam()), 100});
    for (const ProfilePlan& profile : profiles) {
      for (const CasePlan& one : profile.cases()) {
        for (const v1::AttemptPlan& attempt : one.attempts()) {
          const Kill& kill = attempt.kill();
          if (kill.where() == Kill::AFTER_STEP) {
            EXPECT_GE(kill.step(), 1) << one.name();
            EXPECT_LT(kill.step(), steps) << one.name();
          }
          EXPECT_GE(kill.phase(), 0);
          EXPECT_LT(kill.phase(), 1);
        }
        EXPECT_FALSE(one.attempts(one.attempts_size() - 1).has_kill());
      }
    }
  }
}

TEST(Plan, IsTheSameFromTheSameSeedAndAnotherFromAnother) {
  const auto text = [](const std::vector<ProfilePlan>& profiles) {
    std::string all;
    for (const ProfilePlan& one : profiles) all += one.SerializeAsString();
    return all;
  };
  EXPECT_EQ(text(Planned(Able(), T0(), {5, 80})),
            text(Planned(Able(), T0(), {5, 80})));
  EXPECT_NE(text(Planned(Able(), T0(), {5, 80})),
            text(Planned(Able(), T0(), {6, 80})));
}

TEST(Plan, MakesACaseTheSameWhateverTheBudget) {
  const auto small = Planned(Able(), T0(), {9, 12});
  const auto large = Planned(Able(), T0(), {9, 500});
  for (const CasePlan& one : small[0].cases()) {
    EXPECT_EQ(one.SerializeAsString(),
              Find(large[0], one.name()).SerializeAsString())
        << one.name();
  }
}

TEST(Plan, ListsWhatTheBudgetLeftOut) {
  const auto profiles = Planned(Able(), T0(), {1, 3});
  ASSERT_GT(profiles[0].left_out_size(), 0);
  bool second_resume = false;
  for (const v1::LeftOut& out : profiles[0].left_out()) {
    second_resume = second_resume || out.grid_point() == "second_resume";
    EXPECT_THAT(out.reason(), HasSubstr("number of kills was used up"));
  }
  EXPECT_TRUE(second_resume);
}

TEST(Plan, RepeatsOnlyWhatIsRun) {
  const auto profiles = Planned(Able(), T0(), {1, 0});
  for (const ProfilePlan& profile : profiles) {
    EXPECT_EQ(profile.cases_size(), 0);
  }
}

TEST(Plan, LeavesOutWithAReasonWhatATesteeCannotShow) {
  v1::Geometry geometry = T0();
  geometry.clear_epoch_ends();
  const auto profiles = Planned(Description(), geometry, {1, 1000});
  ASSERT_EQ(profiles.size(), 1) << "no features, no further profiles";
  EXPECT_THAT(Names(profiles[0]), Not(Contains("end_first_epoch")));
  EXPECT_THAT(Names(profiles[0]), Contains("inside_first_epoch"));
  std::string reasons;
  for (const v1::LeftOut& out : profiles[0].left_out()) {
    reasons += out.grid_point() + ": " + out.reason() + "\n";
  }
  EXPECT_THAT(reasons,
              HasSubstr("end_first_epoch: its step events do not tell"));
  EXPECT_THAT(reasons, HasSubstr("inside_later_epoch: "));
}

TEST(Plan, ChoosesASaveCadenceThatHitsTheEndOfAnEpoch) {
  const auto profiles = Planned(Description(), T0(75, 25, 10), {1, 1000});
  EXPECT_EQ(Find(profiles[0], "end_first_epoch").request().save_every(), 5);
  EXPECT_FALSE(
      Find(profiles[0], "inside_first_epoch").request().has_save_every());
}

TEST(Plan, HoldsBetweenMicroStepsWhenTheTesteeCan) {
  const auto able = Planned(Able(), T0(), {1, 1000});
  ASSERT_EQ(able[1].name(), "accumulation");
  const Kill& held = Find(able[1], "mid_accumulation").attempts(0).kill();
  EXPECT_EQ(held.where(), Kill::AT_HOLD);
  EXPECT_LT(held.hold().micro(), 3) << "not after the last micro-step";
  EXPECT_EQ(able[1].request().accumulation(), 4);

  Description plain;
  plain.add_features("accumulation");
  const auto timed = Planned(plain, T0(), {1, 1000});
  EXPECT_EQ(Find(timed[1], "mid_accumulation").attempts(0).kill().where(),
            Kill::AFTER_STEP);
  EXPECT_EQ(Find(timed[1], "mid_accumulation_term").attempts(0).kill().signal(),
            Kill::TERM);
}

TEST(Plan, C10_ResumesFromACheckpointInsideAStepWhenThereAreSuch) {
  Description description = Able();
  description.add_features("save_at_micro");
  const auto profiles = Planned(description, T0(), {1, 1000});
  const CasePlan& plan = Find(profiles[1], "mid_accumulation_saved");
  EXPECT_EQ(plan.grid_point(), "mid_accumulation");
  const v1::HoldAt& hold = plan.attempts(0).kill().hold();
  EXPECT_EQ(hold.step() % 10, 0) << "a step whose boundary is saved";
  ASSERT_EQ(plan.request().settings_size(), 1);
  EXPECT_EQ(plan.request().settings(0).value(), std::to_string(hold.micro()))
      << "after the checkpoint inside the step, before its boundary";
  EXPECT_THAT(Names(Planned(Able(), T0(), {1, 1000})[1]),
              Not(Contains("mid_accumulation_saved")));
}

TEST(Plan, PlacesOverflowsBeforeASaveAndBehindOne) {
  ProfilePlan profile;
  PlaceOverflows(T0(), &profile);
  EXPECT_THAT(profile.request().inject_overflow(), ElementsAre(19, 32));
  for (const uint64_t steps : {1, 2, 3, 5}) {
    PlaceOverflows(T0(steps, steps, steps), &profile);
    for (const uint64_t step : profile.request().inject_overflow()) {
      EXPECT_GE(step, 1);
    }
  }
}

TEST(Plan, AsksForNoOtherProfileThanTheOneThePersonChose) {
  RunRequest base;
  base.set_accumulation(2);
  EXPECT_EQ(PlanProfiles(Able(), base).size(), 1);
}

TEST(Plan, GivesTheDefaultProfileABaselineFromAnotherSeed) {
  ProfilePlan profile;
  profile.set_name("default");
  profile.mutable_request()->set_seed(4);
  Description description;
  description.set_determinism(v1::EXACT);
  const std::vector<CasePlan> plans = PlanBaselines(description, profile);
  ASSERT_EQ(plans.size(), 3);
  EXPECT_EQ(plans[0].request().seed(), 4);
  EXPECT_EQ(plans[1].request().seed(), 4);
  EXPECT_NE(plans[2].request().seed(), 4);
}

TEST(Plan, RunsANoisyTesteeThreeTimesUninterrupted) {
  ProfilePlan profile;
  profile.set_name("overflow");
  Description description;
  description.set_determinism(v1::ROUNDING);
  EXPECT_EQ(PlanBaselines(description, profile).size(), 3);
  description.set_determinism(v1::EXACT);
  EXPECT_EQ(PlanBaselines(description, profile).size(), 2);
}

TEST(Plan, RunsTheGridOfAllProfilesFirst) {
  const auto profiles = Planned(Able(), T0(), {1, 150});
  const auto order = RunningOrder(profiles);
  size_t last_grid = 0, first_random = order.size();
  size_t total = 0;
  for (const ProfilePlan& one : profiles) total += one.cases_size();
  EXPECT_EQ(order.size(), total);
  for (size_t i = 0; i < order.size(); ++i) {
    if (!order[i]->grid_point().empty()) last_grid = i;
    if (order[i]->name().find("random") == 0) {
      first_random = std::min(first_random, i);
    }
  }
  EXPECT_LT(last_grid, first_random);
  EXPECT_LT(first_random, order.size());
}

TEST(Geometry, IsMeasuredFromEvents) {
  AttemptResult baseline;
  const auto add = [&baseline](double seconds) {
    baseline.seconds.push_back(seconds);
    baseline.events.emplace_back();
    return &baseline.events.back();
  };
  const auto step = [&add](double seconds, uint64_t number, uint64_t epoch) {
    v1::StepEvent* one = add(seconds)->mutable_step();
    one->set_step(number);
    one->set_epoch(epoch);
    return one;
  };
  add(0.5)->mutable_start();
  step(1.0, 1, 0);
  step(1.1, 2, 1)->set_skipped(true);
  v1::SaveEvent* save = add(1.2)->mutable_save();
  save->set_phase(v1::SaveEvent::BEGUN);
  save->set_step(2);
  save = add(1.6)->mutable_save();
  save->set_phase(v1::SaveEvent::COMMITTED);
  save->set_step(2);
  step(2.0, 3, 1);
  add(2.5)->mutable_evaluation()->set_step(3);
  step(3.0, 4, 2);
  step(3.3, 5, 2);
  const v1::Geometry geometry = MeasureGeometry(baseline);
  EXPECT_EQ(geometry.steps(), 5);
  EXPECT_THAT(geometry.epoch_ends(), ElementsAre(2, 4));
  EXPECT_THAT(geometry.saves(), ElementsAre(2));
  EXPECT_THAT(geometry.skipped(), ElementsAre(2));
  EXPECT_THAT(geometry.evaluations(), ElementsAre(3));
  EXPECT_NEAR(geometry.step_seconds(), 0.2, 1e-9)
      << "pairs with a save or an evaluation between them do not count";
  EXPECT_NEAR(geometry.save_seconds(), 0.4, 1e-9);
  EXPECT_NEAR(geometry.evaluation_seconds(), 0.5, 1e-9);
  const std::vector<Epoch> epochs = EpochsOf(geometry);
  ASSERT_EQ(epochs.size(), 3);
  EXPECT_EQ(epochs[2].first, 5);
  EXPECT_FALSE(epochs[2].end_known);
}

}  // namespace
}  // namespace reprise::conformance
