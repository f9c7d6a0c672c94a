#include "conformance/fake/mutants/faulty_parts.h"

#include <cmath>
#include <utility>

#include "format/random/keyed_permutation.h"

namespace reprise::conformance::fake {
namespace {

class WrongOrder : public Sampler {
 public:
  WrongOrder(std::unique_ptr<Sampler> right, ResumedRef resumed,
             std::function<OrderKey(uint64_t, uint64_t)> key)
      : right_(std::move(right)),
        resumed_(std::move(resumed)),
        key_(std::move(key)) {}

  Batch Next(const State& state) const override {
    Batch batch = right_->Next(state);
    if (!resumed_->happened) return batch;
    const uint64_t size = state.data().size();
    const OrderKey key =
        key_(batch.epoch, resumed_->loaded.sampler().cursor() / size);
    const KeyedPermutation order(
        size, state.sampler().seed() + key.seed_addition, key.epoch);
    for (size_t i = 0; i < batch.ids.size(); ++i) {
      batch.ids[i] = order(state.sampler().cursor() % size + i);
    }
    return batch;
  }

 private:
  const std::unique_ptr<Sampler> right_;
  const ResumedRef resumed_;
  const std::function<OrderKey(uint64_t, uint64_t)> key_;
};

class OtherPrecision : public Model {
 public:
  OtherPrecision(std::unique_ptr<Model> right, ResumedRef resumed,
                 std::string precision)
      : right_(std::move(right)),
        resumed_(std::move(resumed)),
        precision_(std::move(precision)) {}

  double LossAndGradients(const Batch& batch, float factor, State* state,
                          Arrays* gradients) override {
    if (!resumed_->happened) {
      return right_->LossAndGradients(batch, factor, state, gradients);
    }
    const std::string flags = state->precision().autocast();
    state->mutable_precision()->set_autocast(precision_);
    const double loss =
        right_->LossAndGradients(batch, factor, state, gradients);
    state->mutable_precision()->set_autocast(flags);
    return loss;
  }

  double HeldOutLoss(uint64_t sample, const Arrays& weights,
                     const State& state) override {
    return right_->HeldOutLoss(sample, weights, state);
  }

 private:
  const std::unique_ptr<Model> right_;
  const ResumedRef resumed_;
  const std::string precision_;
};

class WrongUnscale : public Scaler {
 public:
  WrongUnscale(std::unique_ptr<Scaler> right, ResumedRef resumed, int power)
      : right_(std::move(right)), resumed_(std::move(resumed)), power_(power) {}

  bool Unscale(const State& state, Arrays* gradients) override {
    const bool found_inf = right_->Unscale(state, gradients);
    if (!resumed_->happened || done_) return found_inf;
    done_ = true;
    const float factor = std::pow(state.scaler().scale(), power_);
    for (Array& array : *gradients) {
      for (float& value : *array.mutable_values()) value *= factor;
    }
    return found_inf;
  }
  void Update(bool found_inf, State* state) override {
    right_->Update(found_inf, state);
  }

 private:
  const std::unique_ptr<Scaler> right_;
  const ResumedRef resumed_;
  const int power_;
  bool done_ = false;
};

class FrozenScaler : public Scaler {
 public:
  FrozenScaler(std::unique_ptr<Scaler> right, ResumedRef resumed)
      : right_(std::move(right)), resumed_(std::move(resumed)) {}
  bool Unscale(const State& state, Arrays* gradients) override {
    return right_->Unscale(state, gradients);
  }
  void Update(bool found_inf, State* state) override {
    if (!resumed_->happened) right_->Update(found_inf, state);
  }

 private:
  const std::unique_ptr<Scaler> right_;
  const ResumedRef resumed_;
};

class FrozenSchedule : public Schedule {
 public:
  FrozenSchedule(std::unique_ptr<Schedule> right, ResumedRef resumed)
      : right_(std::move(right)), resumed_(std::move(resumed)) {}
  std::vector<double> Rates(const State& state) const override {
    return right_->Rates(state);
  }
  void Advance(bool applied, uint64_t samples, State* state) override {
    if (!resumed_->happened) right_->Advance(applied, samples, state);
  }
  void Evaluated(double loss, State* state) override {
    right_->Evaluated(loss, state);
  }

 private:
  const std::unique_ptr<Schedule> right_;
  const ResumedRef resumed_;
};

// Moves moments and steps, but parameters that the model does not use.
class DetachedOptimizer : public Optimizer {
 public:
  DetachedOptimizer(std::unique_ptr<Optimizer> right, ResumedRef resumed)
      : right_(std::move(right)), resumed_(std::move(resumed)) {}
  void Apply(const Arrays& gradients, const std::vector<double>& lr,
             State* state) override {
    const Arrays parameters = state->parameters();
    right_->Apply(gradients, lr, state);
    if (resumed_->happened) *state->mutable_parameters() = parameters;
  }

 private:
  const std::unique_ptr<Optimizer> right_;
  const ResumedRef resumed_;
};

// The average stays what it was when loaded; its count goes on.
class DetachedEma : public Observer {
 public:
  explicit DetachedEma(ResumedRef resumed) : resumed_(std::move(resumed)) {}
  void At(const Place& place, State* state) override {
    if (resumed_->happened && place.point == v1::P4) {
      *state->mutable_ema()->mutable_weights() =
          resumed_->loaded.ema().weights();
    }
  }

 private:
  const ResumedRef resumed_;
};

class OtherEnd : public StopRule {
 public:
  OtherEnd(std::unique_ptr<StopRule> right, ResumedRef resumed,
           std::function<int64_t(const State&)> early)
      : right_(std::move(right)),
        resumed_(std::move(resumed)),
        early_(std::move(early)) {}
  bool Done(const State& state) const override {
    if (!resumed_->happened) return right_->Done(state);
    State shifted = state;
    shifted.mutable_counters()->set_step(
        static_cast<uint64_t>(static_cast<int64_t>(state.counters().step()) +
                              early_(resumed_->loaded)));
    return right_->Done(shifted);
  }

 private:
  const std::unique_ptr<StopRule> right_;
  const ResumedRef resumed_;
  const std::function<int64_t(const State&)> early_;
};

// Wrap functions that need nothing but the right part.
template <typename Part, typename Wrong>
Wrap<Part> Simply() {
  return [](std::unique_ptr<Part> right, ResumedRef resumed, const Bed&) {
    return std::make_unique<Wrong>(std::move(right), resumed);
  };
}

}  // namespace

Customise OrderBy(std::function<OrderKey(uint64_t, uint64_t)> key) {
  return WrapSampler(
      [=](std::unique_ptr<Sampler> right, ResumedRef resumed, const Bed&) {
        return std::make_unique<WrongOrder>(std::move(right), resumed, key);
      });
}

Customise ComputeIn(std::string precision) {
  return WrapModel(
      [=](std::unique_ptr<Model> right, ResumedRef resumed, const Bed&) {
        return std::make_unique<OtherPrecision>(std::move(right), resumed,
                                                precision);
      });
}

Customise UnscaleWrongOnce(int power) {
  return WrapScaler(
      [=](std::unique_ptr<Scaler> right, ResumedRef resumed, const Bed&) {
        return std::make_unique<WrongUnscale>(std::move(right), resumed, power);
      });
}

Customise StaleScaler() { return WrapScaler(Simply<Scaler, FrozenScaler>()); }
Customise StaleSchedule() {
  return WrapSchedule(Simply<Schedule, FrozenSchedule>());
}
Customise StaleOptimizer() {
  return WrapOptimizer(Simply<Optimizer, DetachedOptimizer>());
}
Customise StaleEma() {
  return [](const Assembly& assembly) {
    // A wrapped stop rule that changes nothing, for the note of the resume.
    ResumedRef kept;
    WrapStop([&kept](std::unique_ptr<StopRule> right, ResumedRef resumed,
                     const Bed&) {
      kept = resumed;
      return right;
    })(assembly);
    assembly.parts->observers.push_back(std::make_unique<DetachedEma>(kept));
  };
}

Customise EndEarly(std::function<int64_t(const State&)> early) {
  return WrapStop(
      [=](std::unique_ptr<StopRule> right, ResumedRef resumed, const Bed&) {
        return std::make_unique<OtherEnd>(std::move(right), resumed, early);
      });
}

}  // namespace reprise::conformance::fake
