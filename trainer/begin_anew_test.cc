#include "trainer/begin_anew.h"

#include <string>
#include <vector>

#include "format/refusal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<LackingItem> kMissing = {
    {Item::MODE, Presence::PRESENCE_OMITTED, "not there"},
    {Item::CLIP, Presence::PRESENCE_OMITTED, "not said"}};

TEST(AcceptMissing, TakesExactlyWhatIsMissingInAnyOrder) {
  const auto accepted = AcceptMissing(kMissing, {"clip", "mode"}, "here");
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_THAT(*accepted, ElementsAre(Item::MODE, Item::CLIP));
  const auto nothing = AcceptMissing({}, {}, "here");
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_TRUE(nothing->empty());
}

TEST(AcceptMissing, NamesWhatWasNotNamedAndTheFlag) {
  const auto none = AcceptMissing(kMissing, {}, "here");
  EXPECT_EQ(RefusalOf(none.status()), Refusal::MISSING_ITEM);
  EXPECT_THAT(std::string(none.status().message()),
              AllOf(HasSubstr("here: "), HasSubstr("mode (not there)"),
                    HasSubstr("clip (not said)"),
                    HasSubstr("--accept_missing=mode,clip")));
  const auto one = AcceptMissing(kMissing, {"mode"}, "here");
  EXPECT_EQ(RefusalOf(one.status()), Refusal::MISSING_ITEM);
  EXPECT_THAT(std::string(one.status().message()),
              AllOf(HasSubstr("clip (not said)"), Not(HasSubstr("mode (")),
                    HasSubstr("--accept_missing=mode,clip")));
}

TEST(AcceptMissing, RefusesNamesOfWhatIsThereOrIsNoItem) {
  const auto there =
      AcceptMissing(kMissing, {"mode", "clip", "best", "bset"}, "here");
  EXPECT_EQ(there.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(there.status().message()),
      AllOf(HasSubstr("expected exactly mode,clip"),
            HasSubstr("best (not missing)"), HasSubstr("bset (no item's")));
  const auto all_there = AcceptMissing({}, {"mode"}, "here");
  EXPECT_EQ(all_there.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(all_there.status().message()),
              HasSubstr("no item is missing"));
}

TEST(AcceptMissing, WeightsAloneAreNoRunToGoOnWith) {
  const auto accepted = AcceptMissing(
      {{Item::OPTIM_MOMENTS, Presence::PRESENCE_OMITTED, "not there"}},
      {"optim.moments"}, "here");
  EXPECT_EQ(RefusalOf(accepted.status()), Refusal::MISSING_ITEM);
  EXPECT_THAT(std::string(accepted.status().message()),
              AllOf(HasSubstr("optim.moments"), HasSubstr("--init_from")));
}

// The group of the only parameter.
ParameterGroup Group(double base_lr, double lr) {
  ParameterGroup group;
  group.name = "all";
  group.parameters = {"w"};
  group.base_lr = base_lr;
  group.lr = lr;
  return group;
}

// As a file of Python's, at step 7 with 2 of its steps skipped.
Snapshot Foreign() {
  Snapshot s;
  s.step = 7;
  s.optimizer.emplace();
  s.optimizer->groups = {Group(0.5, 0.5)};
  s.optimizer->states = {{"w", 5, {}}};
  s.schedule.emplace();
  s.schedule->unit = ScheduleState::Unit::kApplied;
  s.schedule->position = 5;
  return s;
}

Snapshot Fresh() {
  Snapshot s;
  s.optimizer.emplace();
  s.optimizer->groups = {Group(0.25, 0.125)};
  s.schedule.emplace();
  s.schedule->form = "step-v1";
  s.schedule->unit = ScheduleState::Unit::kAttempted;
  s.schedule->horizon = 100;
  s.schedule->warmup = 3;
  s.schedule->final_fraction = 0.5;
  s.scaler.emplace();
  s.scaler->scale = 8;
  s.MarkSaved(Item::SCALER_SCALE);
  s.sampler.emplace();
  s.mode.emplace();
  s.MarkSaved(Item::MODE);
  s.MarkNotApplicable(Item::MODEL_TIES, "none");
  return s;
}

TEST(BeginAnew, TakesTheItemsOfTheFreshRunAndNothingElse) {
  Snapshot s = Foreign();
  s.MarkOmitted(Item::MODE, "not there");
  s.MarkOmitted(Item::WITNESS, "not there");
  const auto status = BeginAnew(
      {Item::MODE, Item::SCHED_DEFINITION, Item::SCHED_HORIZON}, Fresh(), &s);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(s.mode.has_value());
  EXPECT_EQ(s.Find(Item::MODE)->presence, Presence::PRESENCE_SAVED);
  EXPECT_EQ(s.Find(Item::WITNESS)->presence, Presence::PRESENCE_NOT_APPLICABLE);
  EXPECT_EQ(s.schedule->form, "step-v1");
  EXPECT_EQ(s.schedule->horizon, 100);
  EXPECT_EQ(s.schedule->warmup, 3);
  EXPECT_EQ(s.schedule->unit, ScheduleState::Unit::kApplied);
  EXPECT_EQ(s.schedule->position, 5);
  EXPECT_EQ(s.optimizer->groups[0].base_lr, 0.5);
  EXPECT_FALSE(s.scaler.has_value());
  EXPECT_FALSE(s.counters.has_value());
}

TEST(BeginAnew, CountersFollowFromWhatTheCheckpointHas) {
  const std::vector<Item> counters = {
      Item::COUNTERS_APPLIED, Item::COUNTERS_SKIPPED, Item::COUNTERS_SAMPLES};
  Snapshot s = Foreign();
  ASSERT_TRUE(BeginAnew(counters, Fresh(), &s).ok());
  EXPECT_EQ(s.counters->applied, 5);
  EXPECT_EQ(s.counters->skipped, 2);
  EXPECT_EQ(s.counters->samples, 0);
  // Without a position that counts them, the optimizer's own count.
  s = Foreign();
  s.schedule->unit = ScheduleState::Unit::kAttempted;
  s.schedule->position = 7;
  s.optimizer->states[0].step = 4;
  ASSERT_TRUE(BeginAnew(counters, Fresh(), &s).ok());
  EXPECT_EQ(s.counters->applied, 4);
  // Without either, all.
  s.optimizer->states.clear();
  ASSERT_TRUE(BeginAnew(counters, Fresh(), &s).ok());
  EXPECT_EQ(s.counters->applied, 7);
}

TEST(BeginAnew, AScheduleThatIsNotThereBeginsWhereTheCountersAre) {
  const std::vector<Item> items = {
      Item::COUNTERS_APPLIED, Item::COUNTERS_SKIPPED, Item::SCHED_POSITION};
  Snapshot s = Foreign();
  s.schedule.reset();
  Snapshot fresh = Fresh();
  ASSERT_TRUE(BeginAnew(items, fresh, &s).ok());
  EXPECT_EQ(s.schedule->form, "step-v1");
  EXPECT_EQ(s.schedule->position, 7);  // attempted
  EXPECT_EQ(s.counters->applied, 5);
  s.schedule.reset();
  fresh.schedule->unit = ScheduleState::Unit::kApplied;
  ASSERT_TRUE(BeginAnew(items, fresh, &s).ok());
  EXPECT_EQ(s.schedule->position, 5);
  s.schedule.reset();
  fresh.schedule->unit = ScheduleState::Unit::kSamples;
  ASSERT_TRUE(BeginAnew(items, fresh, &s).ok());
  EXPECT_EQ(s.schedule->position, 0);
}

TEST(BeginAnew, RatesAndCountsOfAnOptimizerThatHasNone) {
  const float moment[1] = {1};
  Snapshot s = Foreign();
  s.optimizer->states = {
      {"w", 0, {Tensor::View("momentum_buffer", DType::kF32, {1}, moment)}}};
  s.MarkOmitted(Item::OPTIM_STEP, "not counted");
  const auto status =
      BeginAnew({Item::OPTIM_STEP, Item::SCHED_BASE, Item::COUNTERS_APPLIED,
                 Item::COUNTERS_SKIPPED},
                Fresh(), &s);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(s.optimizer->states[0].step, 5);
  EXPECT_EQ(s.Find(Item::OPTIM_STEP)->presence, Presence::PRESENCE_SAVED);
  EXPECT_EQ(s.optimizer->groups[0].base_lr, 0.25);
  EXPECT_EQ(s.optimizer->groups[0].lr, 0.5);
}

TEST(BeginAnew, WhatIsThereInPartCannotBeginAnewAlone) {
  Snapshot s = Foreign();
  s.scaler.emplace();
  EXPECT_THAT(
      std::string(BeginAnew({Item::SCALER_CONFIG}, Fresh(), &s).message()),
      HasSubstr("scaler.config"));
  s = Foreign();
  s.sampler.emplace();
  EXPECT_THAT(
      std::string(BeginAnew({Item::SAMPLER_CURSOR}, Fresh(), &s).message()),
      HasSubstr("sampler.cursor"));
}

TEST(BeginAnew, TiesThatTheModelHasMustBeSaid) {
  Snapshot s = Foreign();
  Snapshot fresh = Fresh();
  EXPECT_TRUE(BeginAnew({Item::MODEL_TIES}, fresh, &s).ok());
  fresh.MarkSaved(Item::MODEL_TIES);
  EXPECT_EQ(RefusalOf(BeginAnew({Item::MODEL_TIES}, fresh, &s)),
            Refusal::MISMATCH);
}

}  // namespace
}  // namespace reprise
