#include "trainer/selection.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace reprise {
namespace {

std::vector<NamedNumber> MetricsOf(const EvaluationEvent& event) {
  std::vector<NamedNumber> metrics = {{"accuracy", event.accuracy}};
  if (event.ema_accuracy.has_value()) {
    metrics.push_back({"ema/accuracy", *event.ema_accuracy});
  }
  if (event.ema_loss.has_value()) {
    metrics.push_back({"ema/loss", *event.ema_loss});
  }
  metrics.push_back({"loss", event.loss});
  return metrics;  // sorted by name
}

bool HigherIsBetter(const std::string& metric) {
  return metric == "accuracy" || metric == "ema/accuracy";
}

// By how much `value` is better than `than`; NaN is never better.
double Gain(bool higher_is_better, double value, double than) {
  return higher_is_better ? value - than : than - value;
}

}  // namespace

void Select(const trainer::v1::TrainerConfig& config, const Schedule& schedule,
            EvaluationEvent* event, TrainState* state) {
  const std::vector<NamedNumber> metrics = MetricsOf(*event);
  const auto value_of = [&metrics](const std::string& name) {
    for (const NamedNumber& metric : metrics) {
      if (metric.name == name) return metric.value;
    }
    return std::nan("");
  };
  state->evaluation.last = EvaluationState::Result{event->step, metrics};

  const std::string& name = config.best().metric();
  const bool higher = HigherIsBetter(name);
  const double value = value_of(name);
  if (!std::isnan(value) && (!state->best.has_value() ||
                             Gain(higher, value, state->best->value) > 0)) {
    state->best = BestState{name, higher, value, event->step};
  }
  if (state->best.has_value()) event->best = state->best->value;

  if (state->early_stop.has_value()) {
    EarlyStopState& stop = *state->early_stop;
    if (!std::isnan(value) &&
        (!stop.best.has_value() ||
         Gain(higher, value, *stop.best) > stop.min_delta)) {
      stop.best = value;
      stop.bad_count = 0;
    } else {
      ++stop.bad_count;
    }
    event->bad_count = stop.bad_count;
  }
  if (state->schedule_state.has_value()) {
    state->schedule_state = schedule.AfterEvaluation(
        *state->schedule_state, value_of(config.schedule().metric()));
  }
}

bool StopsEarly(const TrainState& state) {
  return state.early_stop.has_value() &&
         state.early_stop->bad_count >= state.early_stop->patience;
}

}  // namespace reprise
