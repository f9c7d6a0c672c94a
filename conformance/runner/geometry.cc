#include "conformance/runner/geometry.h"

#include <algorithm>
#include <map>

namespace reprise::conformance {
namespace {

using v1::SaveEvent;

// Mean of what was added; 0 when nothing was.
class Mean {
 public:
  void Add(double value) {
    sum_ += value;
    ++count_;
  }
  double value() const { return count_ == 0 ? 0 : sum_ / count_; }

 private:
  double sum_ = 0;
  int count_ = 0;
};

}  // namespace

v1::Geometry MeasureGeometry(const AttemptResult& baseline) {
  v1::Geometry geometry;
  geometry.set_start_seconds(baseline.record.start_seconds());
  geometry.set_seconds(baseline.record.seconds());
  Mean step, save, evaluation;
  uint64_t epoch = 0;
  // Seconds at which the last step, and each open save, was seen.
  std::optional<double> last_step;
  std::map<uint64_t, double> open_saves;
  bool only_steps = false;
  for (size_t i = 0; i < baseline.events.size(); ++i) {
    const Event& event = baseline.events[i];
    const double now = baseline.seconds[i];
    if (event.has_step()) {
      const v1::StepEvent& one = event.step();
      geometry.set_steps(std::max(geometry.steps(), one.step()));
      // Only between neighbours: saves and evaluations are measured apart.
      if (last_step.has_value() && only_steps) step.Add(now - *last_step);
      last_step = now;
      only_steps = true;
      if (one.has_epoch() && one.epoch() > epoch) {
        geometry.add_epoch_ends(one.step());
        epoch = one.epoch();
      }
      if (one.skipped()) geometry.add_skipped(one.step());
    } else if (event.has_save()) {
      only_steps = false;
      const SaveEvent& one = event.save();
      if (one.phase() == SaveEvent::BEGUN) {
        open_saves[one.step()] = now;
      } else if (one.phase() == SaveEvent::COMMITTED) {
        if (one.micro() == 0) geometry.add_saves(one.step());
        const auto open = open_saves.find(one.step());
        if (open != open_saves.end()) save.Add(now - open->second);
      }
    } else if (event.has_evaluation()) {
      if (last_step.has_value() && only_steps) evaluation.Add(now - *last_step);
      only_steps = false;
      geometry.add_evaluations(event.evaluation().step());
    }
  }
  geometry.set_step_seconds(step.value());
  geometry.set_save_seconds(save.value());
  geometry.set_evaluation_seconds(evaluation.value());
  return geometry;
}

std::vector<Epoch> EpochsOf(const v1::Geometry& geometry) {
  std::vector<Epoch> epochs;
  uint64_t first = 1;
  for (const uint64_t end : geometry.epoch_ends()) {
    epochs.push_back({first, end, true});
    first = end + 1;
  }
  if (first <= geometry.steps()) {
    epochs.push_back({first, geometry.steps(), false});
  }
  return epochs;
}

std::vector<uint64_t> SavesInside(const v1::Geometry& geometry,
                                  const Epoch& epoch) {
  std::vector<uint64_t> saves;
  for (const uint64_t save : geometry.saves()) {
    if (save >= epoch.first && save < epoch.last) saves.push_back(save);
  }
  return saves;
}

uint64_t SaveSpacing(const v1::Geometry& geometry) {
  std::map<uint64_t, int> counts;
  for (int i = 1; i < geometry.saves_size(); ++i) {
    ++counts[geometry.saves(i) - geometry.saves(i - 1)];
  }
  const auto most = std::max_element(
      counts.begin(), counts.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? 0 : most->first;
}

bool SavesAt(const v1::Geometry& geometry, uint64_t step) {
  return std::find(geometry.saves().begin(), geometry.saves().end(), step) !=
         geometry.saves().end();
}

}  // namespace reprise::conformance
