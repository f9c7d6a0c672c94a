// Schedule: the factor on the base learning rate, and the momentum, of every
// step; a pure function of a definition, a position and, for the one form that
// looks at evaluations, what it has seen of them.
//
//   reprise::Schedule::Definition definition;
//   definition.form = std::string(reprise::kStepV1);
//   definition.warmup = 100;
//   definition.horizon = 5000;
//   definition.parameters = {{"gamma", 0.1}, {"step_size", 1000}};
//   auto schedule = reprise::Schedule::Create(definition);
//   if (!schedule.ok()) return schedule.status();
//
//   // Before the first step, and after the counters of each.
//   uint64_t position = schedule->PositionOf({applied, attempted, samples,
//                                             epochs});
//   optimizer->ApplySchedule(schedule->Fraction(position, state),
//                            schedule->Momentum(position));
//   // After an evaluation, when there is something that can change.
//   if (state.has_value()) state = schedule->AfterEvaluation(*state, value);
//
// Let p be the position, w the warm-up, h the horizon. In [0, w) every form but
// one-cycle-v1 is multiplied by (p + 1) / w; from h on all but plateau-v1 keep
// the value they have there.
//
//   form              factor from w on; t = (p - w) / (h - w)   parameters
//   constant-v1       1
//   linear-v1         straight from 1 to final
//   warmup-cosine-v1  half a cosine from 1 to final
//   step-v1           gamma ^ floor((p - w) / step_size)        gamma step_size
//   exponential-v1    gamma ^ (p - w)                           gamma
//   one-cycle-v1      half a cosine from start_fraction to 1 in [0, w), then
//                     one to final; momentum the other way round between
//                     momentum_high and momentum_low
//   plateau-v1        the factor of PlateauState                cooldown
//                     higher_is_better patience reduction threshold
//
// step-v1, exponential-v1 and plateau-v1 never fall below final. The forms are
// specified, with vectors, in spec/ALGORITHMS.md; like WarmupCosine they have
// the same bits on every machine.
#ifndef REPRISE_TRAINER_SCHEDULE_SCHEDULE_H_
#define REPRISE_TRAINER_SCHEDULE_SCHEDULE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "format/snapshot.h"
#include "trainer/schedule/warmup_cosine.h"

namespace reprise {

inline constexpr absl::string_view kConstantV1 = "constant-v1";
inline constexpr absl::string_view kLinearV1 = "linear-v1";
inline constexpr absl::string_view kStepV1 = "step-v1";
inline constexpr absl::string_view kExponentialV1 = "exponential-v1";
inline constexpr absl::string_view kOneCycleV1 = "one-cycle-v1";
inline constexpr absl::string_view kPlateauV1 = "plateau-v1";

// All ids, sorted.
std::vector<absl::string_view> ScheduleForms();

// How far a run is, in every unit that a schedule can count.
struct RunPosition {
  uint64_t applied = 0;    // optimizer steps that were not skipped
  uint64_t attempted = 0;  // steps
  uint64_t samples = 0;    // trained, all epochs together
  uint64_t epochs = 0;     // completed
};

// The number of `position` that `unit` counts.
uint64_t PositionIn(ScheduleState::Unit unit, const RunPosition& position);

// Immutable, safe to use from several threads.
class Schedule {
 public:
  struct Definition {
    std::string form = std::string(kWarmupCosineV1);
    ScheduleState::Unit unit = ScheduleState::Unit::kApplied;
    // In units. warmup < horizon <= 2^53.
    uint64_t warmup = 0;
    uint64_t horizon = 0;
    // In [0, 1].
    double final_fraction = 0;
    // Exactly the parameters of the form:
    //   gamma             (0, 1]
    //   step_size         units, a whole number from 1 to 2^53
    //   start_fraction    [0, 1], the factor at position 0
    //   momentum_low      (0, 1), at most momentum_high
    //   momentum_high     (0, 1)
    //   reduction         (0, 1), multiplies the factor
    //   patience          evaluations without improvement that are borne
    //   cooldown          evaluations after a reduction that do not count
    //   threshold         [0, 1), share by which a value must be better
    //   higher_is_better  0 or 1
    std::map<std::string, double> parameters;
  };

  // INVALID_ARGUMENT naming every value that is out of range, missing or not
  // of the form.
  static absl::StatusOr<Schedule> Create(Definition definition);

  // The factor at `position`, in [0, 1]. REQUIRES: `state` for plateau-v1.
  double Fraction(uint64_t position,
                  const std::optional<PlateauState>& state = {}) const;
  // Momentum (of sgd) or beta1 (of adam and adamw) at `position`; nothing when
  // the form leaves it alone.
  std::optional<double> Momentum(uint64_t position) const;
  uint64_t PositionOf(const RunPosition& position) const {
    return PositionIn(definition_.unit, position);
  }

  // The state before the first evaluation; nothing for a form without one.
  std::optional<PlateauState> FirstState() const;
  // What `state` becomes when an evaluation gives `value`; NaN is no
  // improvement. REQUIRES: the form is plateau-v1.
  PlateauState AfterEvaluation(PlateauState state, double value) const;

  // For the checkpoint: sched.definition, .unit, .horizon, .position, .state.
  ScheduleState ToState(uint64_t position,
                        const std::optional<PlateauState>& state = {}) const;
  // Whether `saved` is of this schedule. INVALID_ARGUMENT naming the item
  // (sched.definition, .unit, .horizon or .state), what was expected and what
  // was found.
  absl::Status CheckSame(const ScheduleState& saved) const;

  const Definition& definition() const { return definition_; }

 private:
  explicit Schedule(Definition definition);
  // The named parameter, which Create has seen.
  double Parameter(const char* name) const;
  // The form's factor at position warmup + past, past <= horizon - warmup.
  double AfterWarmup(uint64_t past) const;

  Definition definition_;
  std::optional<WarmupCosine> warmup_cosine_;
};

}  // namespace reprise

#endif  // REPRISE_TRAINER_SCHEDULE_SCHEDULE_H_
