#include "conformance/runner/kill_trigger.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using v1::Event;
using v1::Kill;
using v1::SaveEvent;

const absl::Time kNow = absl::FromUnixSeconds(1000);

Event Start(uint64_t resumed = 0) {
  Event event;
  event.mutable_start()->set_resumed_step(resumed);
  return event;
}
Event Step(uint64_t step) {
  Event event;
  event.mutable_step()->set_step(step);
  return event;
}
Event Save(SaveEvent::Phase phase, uint64_t step) {
  Event event;
  event.mutable_save()->set_phase(phase);
  event.mutable_save()->set_step(step);
  return event;
}
Event Held(v1::Point point) {
  Event event;
  event.mutable_held()->set_point(point);
  return event;
}

KillTrigger Trigger(Kill::Where where, uint64_t step, double phase) {
  Kill kill;
  kill.set_where(where);
  kill.set_step(step);
  kill.set_phase(phase);
  v1::Geometry means;
  means.set_step_seconds(2);
  means.set_save_seconds(4);
  means.set_start_seconds(8);
  means.set_evaluation_seconds(16);
  return KillTrigger(kill, means, kNow);
}

TEST(KillTrigger, WithoutAKillIsNeverDue) {
  KillTrigger trigger(Kill(), v1::Geometry(), kNow);
  trigger.Take(Step(1), kNow);
  EXPECT_EQ(trigger.due(), absl::InfiniteFuture());
}

TEST(KillTrigger, WaitsForTheStepThenAShareOfOne) {
  KillTrigger trigger = Trigger(Kill::AFTER_STEP, 3, 0.5);
  trigger.Take(Step(2), kNow);
  EXPECT_EQ(trigger.due(), absl::InfiniteFuture());
  trigger.Take(Step(3), kNow);
  EXPECT_EQ(trigger.due(), kNow + absl::Seconds(1));
  EXPECT_EQ(trigger.kill().delay_us(), 1000000);
  trigger.Take(Step(4), kNow + absl::Seconds(9));
  EXPECT_EQ(trigger.due(), kNow + absl::Seconds(1)) << "the first one counts";
}

TEST(KillTrigger, TakesALaterStepWhenTheRunBeginsBehindTheOneNamed) {
  KillTrigger trigger = Trigger(Kill::AFTER_STEP, 3, 0);
  trigger.Take(Step(11), kNow);
  EXPECT_EQ(trigger.due(), kNow);
}

TEST(KillTrigger, FallsInsideASaveBehindACommitInALoadAndInAnEvaluation) {
  KillTrigger save = Trigger(Kill::IN_SAVE, 10, 0.5);
  save.Take(Save(SaveEvent::COMMITTED, 10), kNow);
  EXPECT_EQ(save.due(), absl::InfiniteFuture());
  save.Take(Save(SaveEvent::BEGUN, 20), kNow);
  EXPECT_EQ(save.due(), kNow + absl::Seconds(2));

  KillTrigger commit = Trigger(Kill::AFTER_COMMIT, 10, 0.5);
  commit.Take(Save(SaveEvent::BEGUN, 10), kNow);
  EXPECT_EQ(commit.due(), absl::InfiniteFuture());
  commit.Take(Save(SaveEvent::COMMITTED, 10), kNow);
  EXPECT_EQ(commit.due(), kNow + absl::Seconds(1));

  EXPECT_EQ(Trigger(Kill::IN_LOAD, 0, 0.25).due(), kNow + absl::Seconds(2));

  KillTrigger evaluation = Trigger(Kill::IN_EVALUATION, 10, 0.5);
  evaluation.Take(Step(10), kNow);
  EXPECT_EQ(evaluation.due(), kNow + absl::Seconds(8));
}

// Whether a hold at (point, 5) counts as ignored after the events.
std::string Ignored(v1::Point point, const std::vector<Event>& events) {
  Kill kill;
  kill.set_where(Kill::AT_HOLD);
  kill.mutable_hold()->set_point(point);
  kill.mutable_hold()->set_step(5);
  KillTrigger trigger(kill, v1::Geometry(), kNow);
  for (const Event& event : events) trigger.Take(event, kNow);
  return trigger.ignored_hold();
}

TEST(KillTrigger, KnowsWhenAHoldWasPassedBy) {
  // P6 comes after the StepEvent of its step, s7 after the commit.
  EXPECT_THAT(Ignored(v1::P6, {Step(5)}), IsEmpty());
  EXPECT_THAT(Ignored(v1::P6, {Step(5), Step(6)}), HasSubstr("P6 of step 5"));
  EXPECT_THAT(Ignored(v1::P6, {Step(5), Held(v1::P6), Step(6)}), IsEmpty());
  EXPECT_THAT(Ignored(v1::S7, {Save(SaveEvent::COMMITTED, 5), Step(6)}),
              IsEmpty());
  EXPECT_THAT(Ignored(v1::S7, {Save(SaveEvent::BEGUN, 10)}), HasSubstr("S7"));
  EXPECT_THAT(Ignored(v1::S8, {Save(SaveEvent::BEGUN, 10)}), IsEmpty())
      << "a save that removes nothing";
  EXPECT_THAT(Ignored(v1::LOAD, {Start(0), Step(1)}), IsEmpty())
      << "nothing was loaded";
  EXPECT_THAT(Ignored(v1::LOAD, {Start(4), Step(5)}), HasSubstr("LOAD"));
}

TEST(PlaceOfEnd, IsToldFromTheEvents) {
  EXPECT_EQ(PlaceOfEnd({}), "in_load");
  EXPECT_EQ(PlaceOfEnd({Start()}), "in_step");
  EXPECT_EQ(PlaceOfEnd({Start(), Save(SaveEvent::BEGUN, 1)}), "in_save");
  EXPECT_EQ(PlaceOfEnd({Start(), Save(SaveEvent::BEGUN, 1), Step(2)}),
            "in_save")
      << "a save in the background";
  EXPECT_EQ(PlaceOfEnd({Start(), Save(SaveEvent::BEGUN, 1),
                        Save(SaveEvent::COMMITTED, 1)}),
            "after_commit");
  EXPECT_EQ(PlaceOfEnd({Start(), Save(SaveEvent::BEGUN, 1), Held(v1::S2)}),
            "held:S2");
}

}  // namespace
}  // namespace reprise::conformance
