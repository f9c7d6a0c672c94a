// Mutants of schedule, scaler and clipping.
#include "conformance/fake/mutants/faulty_parts.h"
#include "conformance/fake/mutants/tables.h"
#include "conformance/fake/mutants/wraps.h"

namespace reprise::conformance::fake {
namespace {

Customise EditSchedule(std::function<void(const State&, ScheduleState*)> edit) {
  return EditLoaded([=](const EditContext&, State* state) {
    const State before = *state;
    edit(before, state->mutable_schedule());
  });
}

Customise EditScaler(
    std::function<void(const EditContext&, ScalerState*)> edit) {
  return EditLoaded([=](const EditContext& context, State* state) {
    edit(context, state->mutable_scaler());
  });
}

void AddScheduleMutants(std::vector<Mutant>* mutants) {
  Add(mutants, "M13", "the schedule starts at 0", "sched.position:RESET",
      "D sched.position; k+1 LR U P",
      EditSchedule([](const State&, ScheduleState* schedule) {
        schedule->set_position(0);
      }));
  Add(mutants, "M15", "the schedule is stepped again on load",
      "sched.position:LEAD", "D sched.position; k+1 LR U P",
      EditSchedule([](const State&, ScheduleState* schedule) {
        schedule->set_position(schedule->position() + 1);
      }));
  Add(mutants, "M15.double", "the schedule is stepped to its position again",
      "sched.position:LEAD", "D sched.position; k+1 LR U P",
      EditSchedule([](const State&, ScheduleState* schedule) {
        schedule->set_position(schedule->position() * 2);
      }));
  Add(mutants, "M15.lag", "the schedule is one step behind",
      "sched.position:LAG", "D sched.position; k+1 LR U P",
      EditSchedule([](const State&, ScheduleState* schedule) {
        if (schedule->position() > 0) {
          schedule->set_position(schedule->position() - 1);
        }
      }));
  Add(mutants, "M18.horizon", "the horizon counts from the resume",
      "sched.horizon:CHANGED", "D sched.horizon; k+1 LR U P",
      EditSchedule([](const State&, ScheduleState* schedule) {
        schedule->set_horizon(schedule->horizon() + schedule->position());
      }));
  Add(mutants, "M18.unit", "the position is taken in epochs",
      "sched.unit:UNIT / sched.position:UNIT", "D sched.position; k+1 LR U P",
      EditSchedule([](const State& state, ScheduleState* schedule) {
        schedule->set_position(state.sampler().cursor() / state.data().size());
      }))
      .shows = Shows::kLaterEpoch;
  Add(mutants, "X16", "the base rate is another configuration's",
      "sched.base:CHANGED / sched.base:RESET", "D sched.base; k+1 LR U P",
      EditSchedule([](const State&, ScheduleState* schedule) {
        schedule->set_base_lr(schedule->base_lr() / 2);
      }));
  Add(mutants, "X18", "saved before the schedule was stepped",
      "sched.position:LAG", "D sched.position; k+1 LR U P",
      EditSaved([](const EditContext&, State* state) {
        if (state->schedule().position() == 0) return;
        state->mutable_schedule()->set_position(state->schedule().position() -
                                                1);
      }));
  Add(mutants, "X22", "the plateau schedule forgets its best and its factor",
      "sched.state:RESET", "D sched.state; k+1 LR U P",
      EditLoaded([](const EditContext& context, State* state) {
        *state->mutable_schedule()->mutable_plateau() =
            context.fresh.schedule().plateau();
      }))
      .workload = "T0.plateau";
  Add(mutants, "X28", "a schedule that nobody reads is stepped",
      "sched.position:STICKY", "k+2 LR", StaleSchedule());
}

void AddScalerMutants(std::vector<Mutant>* mutants) {
  Add(mutants, "M20.scale", "loading doubles the scale",
      "scaler.scale:SIDE_EFFECT", "D scaler.scale; k+1 S",
      EditScaler([](const EditContext&, ScalerState* scaler) {
        scaler->set_scale(scaler->scale() * 2);
      }));
  Mutant& tracker =
      Add(mutants, "M20.tracker", "loading runs an update",
          "scaler.growth_tracker:SIDE_EFFECT / scaler.growth_tracker:LEAD",
          "D scaler.growth_tracker; k+10 S",
          EditScaler([](const EditContext&, ScalerState* scaler) {
            scaler->set_growth_tracker(scaler->growth_tracker() + 1);
          }));
  tracker.workload = "T3";
  tracker.inject_overflow = {50};
  Mutant& scale =
      Add(mutants, "M21", "the scale starts at its initial value",
          "scaler.scale:RESET", "D scaler.scale; k+1 S G K U P N",
          EditScaler([](const EditContext& context, ScalerState* scaler) {
            scaler->set_scale(context.fresh.scaler().scale());
          }));
  scale.settings = {"overflow_above=1024"};
  Mutant& count =
      Add(mutants, "M22", "the growth tracker starts at 0",
          "scaler.growth_tracker:RESET", "D scaler.growth_tracker; k+11 S",
          EditScaler([](const EditContext&, ScalerState* scaler) {
            scaler->set_growth_tracker(0);
          }));
  count.workload = "T3";
  count.inject_overflow = {50};
  Add(mutants, "M24.scaled",
      "the first step clips and applies scaled gradients", "step:UNSCALED",
      "k+1 G U P", UnscaleWrongOnce(1));
  Add(mutants, "M24.twice", "the first step unscales twice", "step:UNSCALED",
      "k+1 G U P", UnscaleWrongOnce(-1));
  Mutant& interval = Add(
      mutants, "X04", "the growth interval is another configuration's",
      "scaler.config:CHANGED / scaler.config:RESET", "D scaler.config; k+11 S",
      EditScaler([](const EditContext&, ScalerState* scaler) {
        scaler->set_growth_interval(30);
      }));
  interval.workload = "T3";
  interval.inject_overflow = {50};
  Add(mutants, "X08", "clipping is lost",
      "clip:MISSING / clip:CHANGED / clip:RESET", "D clip; k+3 U P",
      EditLoaded([](const EditContext&, State* state) {
        state->set_clip_norm(1e30);
      }));
  Add(mutants, "X27", "loading halves the scale",
      "scaler.scale:SIDE_EFFECT / scaler.scale:CHANGED",
      "D scaler.scale; k+1 S",
      EditScaler([](const EditContext&, ScalerState* scaler) {
        scaler->set_scale(scaler->scale() / 2);
      }));
  Mutant& stale = Add(mutants, "X29", "a scaler that nobody reads is updated",
                      "scaler.scale:STICKY / scaler.growth_tracker:STICKY",
                      "k+11 S", StaleScaler());
  stale.workload = "T3";
  stale.inject_overflow = {50};
}

}  // namespace

void AddScheduleAndScalerMutants(std::vector<Mutant>* mutants) {
  AddScheduleMutants(mutants);
  AddScalerMutants(mutants);
}

}  // namespace reprise::conformance::fake
