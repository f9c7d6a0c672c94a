// A trainer small enough to run thousands of times in a test, with everything
// that a resume can lose: linear regression by AdamW or SGD, two parameter
// groups, dropout on two generators, a loss scaler, warm-up and cosine,
// accumulation, averaged weights, evaluation, best mark.
//
//   Simulation simulation;
//   LineageEvidence whole = Simulate(simulation, {}, {});
//   LineageEvidence hurt = Simulate(simulation, {63}, faults);
//
// It emits the events of the conformance protocol in memory. Not thread-safe.
#ifndef REPRISE_CONFORMANCE_JUDGE_TESTING_SIMULATED_TRAINER_H_
#define REPRISE_CONFORMANCE_JUDGE_TESTING_SIMULATED_TRAINER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "conformance/judge/evidence.h"

namespace reprise::conformance::testing {

inline constexpr int kTensors = 5;
using Tensors = std::array<std::vector<float>, kTensors>;

struct SimulatedState {
  Tensors weights, moments, variances, averages;
  std::vector<float> buffers;
  uint64_t optimizer_steps = 0;
  std::array<double, 2> group_scale = {1.0, 0.5};
  double group_decay = 0.01;
  float scale = 1024;
  uint64_t tracker = 0;
  uint64_t cursor = 0;  // samples
  uint64_t order_seed = 7;
  uint64_t cpu = 1, cuda = 2;  // generators
  uint64_t updates = 0;        // of the averages
  uint64_t position = 0, horizon = 0, warmup = 10;
  uint64_t step = 0, applied = 0, samples = 0;
  double best = 0;
  bool has_best = false;
  uint64_t bad_count = 0;
  bool frozen = true;
  double precision = 0;  // relative error of the forward pass
};

struct Simulation {
  uint64_t steps = 120;
  uint64_t save_every = 10;
  uint64_t evaluate_every = 10;
  uint64_t data = 400;
  uint64_t batch = 10;
  uint64_t accumulation = 1;
  bool sgd = false;
  double learning_rate = 0.05;
  uint64_t growth_interval = 12;
  std::vector<uint64_t> overflow = {50};
  // Relative rounding noise of losses and gradients, drawn from this seed; 0:
  // bitwise.
  double noise = 0;
  uint64_t noise_seed = 0;
  bool digests = true;
};

// What a fault may look at.
struct LoadView {
  SimulatedState initial;
  SimulatedState saved;
  // Earlier and later saves by step.
  std::map<uint64_t, SimulatedState> saves;
};

// Deliberate faults; an empty function does nothing.
struct Faults {
  // After the checkpoint was read.
  std::function<void(SimulatedState*, const LoadView&)> load;
  // Between the load and the first forward pass.
  std::function<void(SimulatedState*, const LoadView&)> between;
  // Step of the checkpoint to take instead of the newest.
  std::function<uint64_t(const std::map<uint64_t, SimulatedState>&)> choose;
  // Before each step of a resumed attempt; `since` from 1.
  std::function<void(SimulatedState*, uint64_t since)> each_step;
  // Epoch whose order is used instead of `epoch` in a resumed attempt.
  std::function<uint64_t(uint64_t epoch)> order_epoch;
  // First resumed step clips and applies scaled gradients.
  bool unscaled = false;
  // Saves of resumed attempts fail silently.
  bool saves_fail = false;
  // A resumed attempt ends here with status 0; 0: does not.
  uint64_t stop_at = 0;
  // Added to the step number a resumed attempt reports.
  int64_t label = 0;
};

// Runs to the end, killed right after each of the steps `kills` (of the true
// count), resuming each time.
LineageEvidence Simulate(const Simulation& simulation,
                         const std::vector<uint64_t>& kills,
                         const Faults& faults);

// An evidence with two baselines and a subject.
Evidence MakeEvidence(const Simulation& simulation,
                      const std::vector<uint64_t>& kills, const Faults& faults);

}  // namespace reprise::conformance::testing

#endif  // REPRISE_CONFORMANCE_JUDGE_TESTING_SIMULATED_TRAINER_H_
