#include "trainer/schedule/schedule.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/schedule/exact_math.h"

namespace reprise {
namespace {

constexpr uint64_t kMaxUnits = uint64_t{1} << 53;

// What a parameter may be.
struct ParameterRule {
  const char* name;
  const char* range;
  bool (*holds)(double);
};

bool IsCount(double x) {
  return x >= 0 && x <= static_cast<double>(kMaxUnits) && x == std::floor(x);
}
// All are written so that NaN is refused too.
constexpr ParameterRule kGamma = {"gamma", "a number in (0, 1]",
                                  [](double x) { return x > 0 && x <= 1; }};
constexpr ParameterRule kStepSize = {
    "step_size", "a whole number from 1 to 2^53",
    [](double x) { return IsCount(x) && x >= 1; }};
constexpr ParameterRule kStartFraction = {
    "start_fraction", "a number in [0, 1]",
    [](double x) { return x >= 0 && x <= 1; }};
constexpr ParameterRule kMomentumLow = {
    "momentum_low", "a number in (0, 1)",
    [](double x) { return x > 0 && x < 1; }};
constexpr ParameterRule kMomentumHigh = {
    "momentum_high", "a number in (0, 1)",
    [](double x) { return x > 0 && x < 1; }};
constexpr ParameterRule kReduction = {"reduction", "a number in (0, 1)",
                                      [](double x) { return x > 0 && x < 1; }};
constexpr ParameterRule kPatience = {"patience",
                                     "a whole number from 0 to 2^53", IsCount};
constexpr ParameterRule kCooldown = {"cooldown",
                                     "a whole number from 0 to 2^53", IsCount};
constexpr ParameterRule kThreshold = {"threshold", "a number in [0, 1)",
                                      [](double x) { return x >= 0 && x < 1; }};
constexpr ParameterRule kHigherIsBetter = {
    "higher_is_better", "0 or 1", [](double x) { return x == 0 || x == 1; }};

// The parameters of each form.
const std::map<std::string, std::vector<ParameterRule>>& Forms() {
  static const auto* forms =
      new std::map<std::string, std::vector<ParameterRule>>{
          {std::string(kConstantV1), {}},
          {std::string(kLinearV1), {}},
          {std::string(kWarmupCosineV1), {}},
          {std::string(kStepV1), {kGamma, kStepSize}},
          {std::string(kExponentialV1), {kGamma}},
          {std::string(kOneCycleV1),
           {kStartFraction, kMomentumLow, kMomentumHigh}},
          {std::string(kPlateauV1),
           {kReduction, kPatience, kCooldown, kThreshold, kHigherIsBetter}},
      };
  return *forms;
}

// What is wrong with the parameters of a known form.
void CheckParameters(const Schedule::Definition& definition,
                     std::vector<std::string>* problems) {
  const std::vector<ParameterRule>& rules = Forms().at(definition.form);
  for (const ParameterRule& rule : rules) {
    auto found = definition.parameters.find(rule.name);
    if (found == definition.parameters.end()) {
      problems->push_back(
          absl::StrCat(rule.name, ": expected ", rule.range, ", found none"));
    } else if (!rule.holds(found->second)) {
      problems->push_back(absl::StrCat(rule.name, ": expected ", rule.range,
                                       ", found ", found->second));
    }
  }
  for (const auto& [name, value] : definition.parameters) {
    if (std::none_of(rules.begin(), rules.end(),
                     [&name = name](const ParameterRule& rule) {
                       return name == rule.name;
                     })) {
      problems->push_back(
          absl::StrCat(name, ": expected no such parameter, found ", value));
    }
  }
  if (definition.form == kOneCycleV1 && problems->empty() &&
      definition.parameters.at("momentum_low") >
          definition.parameters.at("momentum_high")) {
    problems->push_back("momentum_low: expected at most momentum_high");
  }
}

// Half a cosine from `from` at t = 0 to `to` at t = 1.
double Anneal(double from, double to, double t) {
  return to + (from - to) * (0.5 * (1.0 + CosPi(t)));
}

double Share(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

const char* NameOf(ScheduleState::Unit unit) {
  switch (unit) {
    case ScheduleState::Unit::kApplied:
      return "APPLIED";
    case ScheduleState::Unit::kAttempted:
      return "ATTEMPTED";
    case ScheduleState::Unit::kSamples:
      return "SAMPLES";
    case ScheduleState::Unit::kEpochs:
      return "EPOCHS";
  }
  return "(no unit)";
}

std::string DescribeParameters(const std::vector<NamedNumber>& parameters) {
  return absl::StrJoin(parameters, "", [](std::string* out, const auto& p) {
    absl::StrAppend(out, ", ", p.name, " ", p.value);
  });
}

std::string Describe(const ScheduleState& state) {
  return absl::StrCat(state.form, " with warm-up ", state.warmup,
                      ", final fraction ", state.final_fraction,
                      DescribeParameters(state.parameters));
}

bool SameParameters(const std::vector<NamedNumber>& a,
                    const std::vector<NamedNumber>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const NamedNumber& x, const NamedNumber& y) {
                      return x.name == y.name && x.value == y.value;
                    });
}

absl::Status Differs(absl::string_view item, absl::string_view expected,
                     absl::string_view found) {
  return absl::InvalidArgumentError(
      absl::StrCat(item, ": expected ", expected, ", found ", found));
}

}  // namespace

std::vector<absl::string_view> ScheduleForms() {
  std::vector<absl::string_view> ids;
  for (const auto& [id, rules] : Forms()) ids.push_back(id);
  return ids;
}

uint64_t PositionIn(ScheduleState::Unit unit, const RunPosition& position) {
  switch (unit) {
    case ScheduleState::Unit::kApplied:
      return position.applied;
    case ScheduleState::Unit::kAttempted:
      return position.attempted;
    case ScheduleState::Unit::kSamples:
      return position.samples;
    case ScheduleState::Unit::kEpochs:
      return position.epochs;
  }
  return position.applied;
}

absl::StatusOr<Schedule> Schedule::Create(Definition definition) {
  if (Forms().count(definition.form) == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "schedule: expected one of ", absl::StrJoin(ScheduleForms(), ", "),
        "; found \"", definition.form, "\""));
  }
  std::vector<std::string> problems;
  if (definition.horizon <= definition.warmup) {
    problems.push_back(absl::StrCat("horizon: expected more than warmup (",
                                    definition.warmup, "), found ",
                                    definition.horizon));
  }
  if (definition.horizon > kMaxUnits) {
    problems.push_back(absl::StrCat("horizon: expected at most 2^53, found ",
                                    definition.horizon));
  }
  if (!(definition.final_fraction >= 0 && definition.final_fraction <= 1)) {
    problems.push_back(
        absl::StrCat("final_fraction: expected a number in [0, 1], found ",
                     definition.final_fraction));
  }
  CheckParameters(definition, &problems);
  if (!problems.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "schedule ", definition.form, ": ", absl::StrJoin(problems, "; ")));
  }
  return Schedule(std::move(definition));
}

Schedule::Schedule(Definition definition) : definition_(std::move(definition)) {
  if (definition_.form == kWarmupCosineV1) {
    warmup_cosine_ =
        WarmupCosine::Create({definition_.warmup, definition_.horizon,
                              definition_.final_fraction})
            .value();
  }
}

double Schedule::Parameter(const char* name) const {
  return definition_.parameters.at(name);
}

double Schedule::Fraction(uint64_t position,
                          const std::optional<PlateauState>& state) const {
  if (warmup_cosine_.has_value()) return warmup_cosine_->Fraction(position);
  const uint64_t warmup = definition_.warmup;
  if (definition_.form == kOneCycleV1 && position < warmup) {
    return Anneal(Parameter("start_fraction"), 1.0, Share(position, warmup));
  }
  const double rising = position < warmup ? Share(position + 1, warmup) : 1.0;
  if (definition_.form == kPlateauV1) {
    assert(state.has_value());
    return rising * state->factor;
  }
  if (position < warmup) return rising;
  return AfterWarmup(std::min(position, definition_.horizon) - warmup);
}

double Schedule::AfterWarmup(uint64_t past) const {
  const uint64_t decay = definition_.horizon - definition_.warmup;
  const double final_fraction = definition_.final_fraction;
  if (definition_.form == kLinearV1) {
    if (past == decay) return final_fraction;
    return 1.0 + (final_fraction - 1.0) * Share(past, decay);
  }
  if (definition_.form == kOneCycleV1) {
    if (past == decay) return final_fraction;
    return Anneal(1.0, final_fraction, Share(past, decay));
  }
  if (definition_.form == kStepV1) {
    const auto step_size = static_cast<uint64_t>(Parameter("step_size"));
    return std::max(final_fraction,
                    Power(Parameter("gamma"), past / step_size));
  }
  if (definition_.form == kExponentialV1) {
    return std::max(final_fraction, Power(Parameter("gamma"), past));
  }
  return 1.0;  // constant-v1
}

std::optional<double> Schedule::Momentum(uint64_t position) const {
  if (definition_.form != kOneCycleV1) return std::nullopt;
  const double low = Parameter("momentum_low");
  const double high = Parameter("momentum_high");
  const auto& [form, unit, warmup, horizon, final_fraction, parameters] =
      definition_;
  if (position < warmup) return Anneal(high, low, Share(position, warmup));
  if (position >= horizon) return high;
  return Anneal(low, high, Share(position - warmup, horizon - warmup));
}

std::optional<PlateauState> Schedule::FirstState() const {
  if (definition_.form != kPlateauV1) return std::nullopt;
  return PlateauState();
}

PlateauState Schedule::AfterEvaluation(PlateauState state, double value) const {
  assert(definition_.form == kPlateauV1);
  const double threshold = Parameter("threshold");
  const bool higher = Parameter("higher_is_better") == 1;
  const bool better = !state.best.has_value()
                          ? !std::isnan(value)
                          : (higher ? value > *state.best * (1.0 + threshold)
                                    : value < *state.best * (1.0 - threshold));
  if (better) {
    state.best = value;
    state.bad_count = 0;
  } else {
    ++state.bad_count;
  }
  if (state.cooldown > 0) {
    --state.cooldown;
    state.bad_count = 0;
  }
  if (static_cast<double>(state.bad_count) > Parameter("patience")) {
    const double reduced = std::max(state.factor * Parameter("reduction"),
                                    definition_.final_fraction);
    // A factor that has become 0 could not be told from a broken one.
    if (reduced > 0) state.factor = std::min(state.factor, reduced);
    state.cooldown = static_cast<uint64_t>(Parameter("cooldown"));
    state.bad_count = 0;
  }
  return state;
}

ScheduleState Schedule::ToState(
    uint64_t position, const std::optional<PlateauState>& state) const {
  ScheduleState saved;
  saved.form = definition_.form;
  saved.unit = definition_.unit;
  saved.position = position;
  saved.horizon = definition_.horizon;
  saved.warmup = definition_.warmup;
  saved.final_fraction = definition_.final_fraction;
  for (const auto& [name, value] : definition_.parameters) {
    saved.parameters.push_back({name, value});
  }
  saved.state = state;
  return saved;
}

absl::Status Schedule::CheckSame(const ScheduleState& saved) const {
  const ScheduleState own = ToState(0);
  if (saved.form != own.form || saved.warmup != own.warmup ||
      saved.final_fraction != own.final_fraction ||
      !SameParameters(saved.parameters, own.parameters)) {
    return Differs("sched.definition", Describe(own), Describe(saved));
  }
  if (saved.unit != own.unit) {
    return Differs("sched.unit", NameOf(own.unit), NameOf(saved.unit));
  }
  if (saved.horizon != own.horizon) {
    return Differs("sched.horizon", absl::StrCat(own.horizon),
                   absl::StrCat(saved.horizon));
  }
  if (saved.state.has_value() != FirstState().has_value()) {
    return Differs("sched.state",
                   FirstState().has_value() ? "what the schedule has seen"
                                            : "no state of this form",
                   saved.state.has_value() ? "one" : "none");
  }
  if (!saved.state.has_value()) return absl::OkStatus();
  const PlateauState& state = *saved.state;
  if (!(state.factor > 0 && state.factor <= 1)) {
    return Differs("sched.state", "a factor in (0, 1]",
                   absl::StrCat(state.factor));
  }
  if (static_cast<double>(state.bad_count) > Parameter("patience")) {
    return Differs("sched.state",
                   absl::StrCat("at most patience (", Parameter("patience"),
                                ") bad evaluations"),
                   absl::StrCat(state.bad_count));
  }
  if (static_cast<double>(state.cooldown) > Parameter("cooldown")) {
    return Differs(
        "sched.state",
        absl::StrCat("a cooldown of at most ", Parameter("cooldown")),
        absl::StrCat(state.cooldown));
  }
  if (state.best.has_value() && std::isnan(*state.best)) {
    return Differs("sched.state", "a best value", "NaN");
  }
  return absl::OkStatus();
}

}  // namespace reprise
