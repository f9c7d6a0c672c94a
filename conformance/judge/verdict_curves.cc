#include "conformance/judge/verdict_curves.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace reprise::conformance {
namespace {

void AddCurve(Channel channel, const Timeline& timeline, uint32_t attempt,
              v1::Verdict* verdict) {
  v1::Curve curve;
  curve.set_channel(ChannelText(channel));
  curve.set_attempt(attempt);
  auto add = [&curve](uint64_t step, const Observation& observation) {
    if (!observation.present()) return;
    curve.add_step(step);
    curve.add_value(observation.values[0].finite ? observation.first()
                                                 : std::nan(""));
  };
  if (IsEvaluation(channel)) {
    for (const auto& [step, evaluation] : timeline.evaluations) {
      add(step, ReadChannel(channel, nullptr, &evaluation));
    }
  } else {
    for (const v1::StepEvent& step : timeline.steps) {
      add(step.step(), ReadChannel(channel, &step, nullptr));
    }
  }
  if (curve.step_size() > 0) *verdict->add_curves() = std::move(curve);
}

}  // namespace

void AddTolerances(const Context& context, v1::Verdict* verdict) {
  if (context.baselines.empty()) return;
  const Timeline& baseline = context.baselines[0];
  for (Channel channel : kChannels) {
    const bool recorded =
        IsEvaluation(channel)
            ? !baseline.evaluations.empty() &&
                  ReadChannel(channel, nullptr,
                              &baseline.evaluations.begin()->second)
                      .present()
            : !baseline.steps.empty() &&
                  ReadChannel(channel, &baseline.steps[0], nullptr).present();
    if (!recorded) continue;
    v1::Tolerance& tolerance = *verdict->add_tolerances();
    tolerance.set_channel(ChannelText(channel));
    tolerance.set_exact(context.noise.Exact(channel));
    if (tolerance.exact()) continue;
    tolerance.set_measured(context.noise.Measured(channel));
    tolerance.set_threshold(context.noise.Threshold(
        channel,
        std::min(baseline.last_step(), context.noise.forgotten() - 1)));
  }
}

void AddCurves(const Context& context, const Lineage& lineage,
               v1::Verdict* verdict) {
  for (Channel channel :
       {Channel::kLoss, Channel::kLr, Channel::kScale, Channel::kGradNorm,
        Channel::kUpdateNorm, Channel::kEvalLoss, Channel::kEmaLoss}) {
    // Of a run in which nothing differs one curve shows as much as all.
    if (verdict->findings_size() == 0 && channel != Channel::kLoss) break;
    if (!context.baselines.empty()) {
      AddCurve(channel, context.baselines[0], 0, verdict);
    }
    for (size_t i = 0; i < lineage.attempts.size(); ++i) {
      AddCurve(channel, lineage.attempts[i], i + 1, verdict);
    }
  }
}

}  // namespace reprise::conformance
