// What the fake trainer's loop is made of. Every part is an interface without
// state of its own: all state is in State, so that a checkpoint of State is a
// checkpoint of the run. A faulty trainer is the same loop with one part
// wrapped (conformance/fake/mutants).
//
//   Parts parts = MakeParts(bed);
//   parts.scaler = std::make_unique<Forgetful>(std::move(parts.scaler));
//
// Not thread-safe.
#ifndef REPRISE_CONFORMANCE_FAKE_PARTS_H_
#define REPRISE_CONFORMANCE_FAKE_PARTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "conformance/fake/arrays.h"
#include "conformance/fake/bed.h"
#include "conformance/fake/state.pb.h"
#include "conformance/protocol/messages.h"

namespace reprise::conformance::fake {

struct Batch {
  std::vector<uint64_t> ids;
  uint64_t epoch = 0;
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  // The batch at the state's cursor; moves nothing.
  virtual Batch Next(const State& state) const = 0;
};

// Held-out samples of an evaluation.
inline constexpr uint64_t kHeldOutSamples = 100;

class Model {
 public:
  virtual ~Model() = default;
  // Mean loss of the batch in the state's mode. Adds the gradients of
  // `factor` * loss to `gradients`; updates buffers, draws from generators.
  virtual double LossAndGradients(const Batch& batch, float factor,
                                  State* state, Arrays* gradients) = 0;
  // Loss of one held-out sample with these weights, in evaluation mode.
  virtual double HeldOutLoss(uint64_t sample, const Arrays& weights,
                             const State& state) = 0;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual void Apply(const Arrays& gradients, const std::vector<double>& lr,
                     State* state) = 0;
};

class Scaler {
 public:
  virtual ~Scaler() = default;
  // Divides by the scale; true when an element is not finite.
  virtual bool Unscale(const State& state, Arrays* gradients) = 0;
  virtual void Update(bool found_inf, State* state) = 0;
};

class Schedule {
 public:
  virtual ~Schedule() = default;
  // Rate of the next step, one for each group.
  virtual std::vector<double> Rates(const State& state) const = 0;
  // After a step of `samples` samples, whose counters are not yet counted.
  virtual void Advance(bool applied, uint64_t samples, State* state) = 0;
  virtual void Evaluated(double loss, State* state) = 0;
};

class StopRule {
 public:
  virtual ~StopRule() = default;
  virtual bool Done(const State& state) const = 0;
};

// A place in the run. `step` and `micro` are those of HoldAt.
struct Place {
  v1::Point point = v1::POINT_UNSPECIFIED;
  uint64_t step = 0;
  uint32_t micro = 0;
};

// Is told of every place. A right observer only reads the state.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void At(const Place& place, State* state) = 0;
};

struct Parts {
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<Model> model;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Scaler> scaler;
  std::unique_ptr<Schedule> schedule;
  std::unique_ptr<StopRule> stop;
  std::vector<std::unique_ptr<Observer>> observers;
};

// The right ones.
Parts MakeParts(const Bed& bed);

// State of a run at step 0: a pure function of the bed but for run_id.
State InitialState(const Bed& bed);

}  // namespace reprise::conformance::fake

#endif  // REPRISE_CONFORMANCE_FAKE_PARTS_H_
