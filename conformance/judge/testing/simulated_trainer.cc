#include "conformance/judge/testing/simulated_trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "conformance/protocol/number.h"
#include "format/random/mix.h"

namespace reprise::conformance::testing {
namespace {

constexpr std::array<int, kTensors> kSizes = {8, 8, 6, 6, 4};
constexpr int kFrozenTensor = 4;
constexpr int kInputs = 32;
constexpr double kPi = 3.14159265358979323846;

uint64_t Mix(uint64_t z) { return Mix64(z + kGolden64); }

double Unit(uint64_t z) { return (Mix(z) >> 11) * 0x1.0p-53; }

// About normal: a sum of four uniforms.
double Normal(uint64_t z) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += Unit(z * 4 + i) - 0.5;
  return sum * std::sqrt(3.0);
}

double Input(uint64_t id, int i) { return Normal(id * 64 + i + 1000000); }

double Target(uint64_t id) {
  double sum = 0;
  for (int i = 0; i < kInputs; ++i) {
    sum += Input(id, i) * (i % 5 == 0 ? 2.0 : -1.0);
  }
  return sum + Normal(id + 77777777);
}

uint64_t Hash(uint64_t seed, const std::vector<float>& values) {
  for (float value : values) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    seed = Mix(seed ^ bits);
  }
  return seed;
}

uint64_t Hash(const Tensors& tensors) {
  uint64_t hash = 1;
  for (const auto& tensor : tensors) hash = Hash(hash, tensor);
  return hash;
}

void AddDigest(Item item, uint64_t hash, std::string value,
               v1::StateEvent* state) {
  v1::ItemDigest& digest = *state->add_digests();
  digest.set_item(item);
  digest.set_digest(absl::StrFormat("%016x", hash));
  digest.set_value(std::move(value));
}

void AddCount(Item item, uint64_t count, v1::StateEvent* state) {
  AddDigest(item, Mix(count), absl::StrCat(count), state);
}

void Digest(const SimulatedState& s, v1::StateEvent* state) {
  AddDigest(Item::MODEL_PARAMS, Hash(s.weights), "", state);
  AddDigest(Item::MODEL_BUFFERS, Hash(2, s.buffers), "", state);
  AddDigest(Item::OPTIM_MOMENTS, Hash(s.moments) ^ Mix(Hash(s.variances)), "",
            state);
  AddCount(Item::OPTIM_STEP, s.optimizer_steps, state);
  uint64_t groups = 5;
  for (double value : {s.group_scale[0], s.group_scale[1], s.group_decay}) {
    groups = Mix(groups ^ static_cast<uint64_t>(value * 1e6));
  }
  AddDigest(Item::OPTIM_GROUPS, groups, "", state);
  AddDigest(Item::SCALER_SCALE, Mix(static_cast<uint64_t>(s.scale)),
            absl::StrCat(s.scale), state);
  AddCount(Item::SCALER_GROWTH_TRACKER, s.tracker, state);
  AddCount(Item::SAMPLER_CURSOR, s.cursor, state);
  AddCount(Item::SAMPLER_SEED, s.order_seed, state);
  AddDigest(Item::RNG_CPU, Mix(s.cpu), "", state);
  AddDigest(Item::RNG_CUDA, Mix(s.cuda), "", state);
  AddDigest(Item::EMA_WEIGHTS, Hash(s.averages), "", state);
  AddCount(Item::EMA_UPDATES, s.updates, state);
  AddCount(Item::SCHED_POSITION, s.position, state);
  AddCount(Item::SCHED_HORIZON, s.horizon, state);
  AddCount(Item::COUNTERS_STEP, s.step, state);
  AddCount(Item::COUNTERS_APPLIED, s.applied, state);
  AddCount(Item::COUNTERS_SAMPLES, s.samples, state);
  AddDigest(Item::BEST, Mix(static_cast<uint64_t>(s.best * 1e9)), "", state);
  AddCount(Item::EARLY_STOP, s.bad_count, state);
  AddDigest(Item::FROZEN_FLAGS, Mix(s.frozen), "", state);
  AddDigest(Item::PRECISION_FLAGS,
            Mix(static_cast<uint64_t>(s.precision * 1e9)), "", state);
}

class Attempt {
 public:
  Attempt(const Simulation& simulation, const Faults& faults, bool resumed,
          uint64_t number)
      : sim_(simulation),
        faults_(faults),
        resumed_(resumed),
        noise_(Mix(simulation.noise_seed * 1000 + number)) {}

  AttemptEvidence Go(SimulatedState s, std::optional<uint64_t> kill,
                     uint64_t loaded, const LoadView& view,
                     std::map<uint64_t, SimulatedState>* saves) {
    v1::StartEvent& start = *Emit()->mutable_start();
    start.set_resumed_step(resumed_ ? loaded + faults_.label : 0);
    start.set_planned_steps(sim_.steps);
    if (resumed_) {
      State(v1::StateEvent::AFTER_LOAD, s);
      if (faults_.between) faults_.between(&s, view);
    }
    State(v1::StateEvent::BEFORE_FORWARD, s);
    if (resumed_) s.step += faults_.label;
    const int64_t label = resumed_ ? faults_.label : 0;
    uint64_t since = 0;
    while (s.step < sim_.steps) {
      if (resumed_ && faults_.stop_at != 0 && s.step >= faults_.stop_at) break;
      ++since;
      if (resumed_ && faults_.each_step) faults_.each_step(&s, since);
      Step(&s, since == 1 && resumed_ && faults_.unscaled);
      if (s.step % sim_.evaluate_every == 0) Evaluate(&s);
      if (s.step % sim_.save_every == 0) Save(s, saves);
      if (kill.has_value() && s.step - label >= *kill) {
        evidence_.signal = 9;
        evidence_.sent = Sent::kKill;
        return std::move(evidence_);
      }
    }
    v1::EndEvent& end = *Emit()->mutable_end();
    end.set_step(s.step);
    end.set_finished(true);
    evidence_.exit_code = 0;
    return std::move(evidence_);
  }

 private:
  v1::Event* Emit() { return &evidence_.events.emplace_back(); }

  void State(v1::StateEvent::Moment moment, const SimulatedState& s) {
    if (!sim_.digests) return;
    v1::StateEvent& state = *Emit()->mutable_state();
    state.set_moment(moment);
    state.set_step(s.step);
    Digest(s, &state);
  }

  double Noisy(double value) {
    if (sim_.noise == 0) return value;
    noise_ = Mix(noise_);
    return value * (1 + sim_.noise * Normal(noise_));
  }

  double Draw(uint64_t* generator) {
    *generator = Mix(*generator);
    return (*generator >> 11) * 0x1.0p-53;
  }

  uint64_t SampleAt(const SimulatedState& s, uint64_t cursor) const {
    uint64_t epoch = cursor / sim_.data;
    if (resumed_ && faults_.order_epoch) epoch = faults_.order_epoch(epoch);
    auto found = orders_.find({s.order_seed, epoch});
    if (found == orders_.end()) {
      std::vector<std::pair<uint64_t, uint64_t>> keyed;
      for (uint64_t id = 0; id < sim_.data; ++id) {
        keyed.emplace_back(Mix(id ^ Mix(s.order_seed * 1000 + epoch)), id);
      }
      std::sort(keyed.begin(), keyed.end());
      std::vector<uint64_t> order;
      for (const auto& [key, id] : keyed) order.push_back(id);
      found = orders_.emplace(std::make_pair(s.order_seed, epoch), order).first;
    }
    return found->second[cursor % sim_.data];
  }

  double Rate(const SimulatedState& s) const {
    if (s.position < s.warmup) {
      return sim_.learning_rate * (s.position + 1) / s.warmup;
    }
    const double t = static_cast<double>(s.position - s.warmup) /
                     static_cast<double>(s.horizon - s.warmup);
    return sim_.learning_rate *
           (0.1 + 0.9 * 0.5 * (1 + std::cos(kPi * std::min(1.0, t))));
  }

  void Step(SimulatedState* s, bool unscaled) {
    ++s->step;
    v1::StepEvent record;
    record.set_step(s->step);
    record.add_rng(absl::StrFormat("cpu=%016x", Mix(s->cpu)));
    record.add_rng(absl::StrFormat("cuda=%016x", Mix(s->cuda)));
    *record.mutable_scale() = NumberOf(s->scale);

    Tensors gradients;
    for (int t = 0; t < kTensors; ++t) gradients[t].assign(kSizes[t], 0);
    double loss = 0;
    const uint64_t samples = sim_.batch * sim_.accumulation;
    for (uint64_t b = 0; b < samples; ++b) {
      const uint64_t id = SampleAt(*s, s->cursor++);
      record.add_id_list(id);
      double output = 0;
      std::array<double, kInputs> x;
      for (int i = 0; i < kInputs; ++i) {
        x[i] = Draw(&s->cpu) < 0.1 ? 0 : Input(id, i) / 0.9;
      }
      int i = 0;
      for (const auto& tensor : s->weights) {
        for (float w : tensor) output += w * x[i++];
      }
      output += 0.05 * (Draw(&s->cuda) - 0.5);
      output *= 1 + s->precision;
      const double error = output - Target(id);
      loss += error * error / samples;
      i = 0;
      for (int t = 0; t < kTensors; ++t) {
        for (float& g : gradients[t]) {
          g += static_cast<float>(2 * error * x[i++] * s->scale / samples);
        }
      }
      s->buffers[0] =
          0.99f * s->buffers[0] + 0.01f * static_cast<float>(std::abs(x[0]));
    }
    loss = Noisy(loss);
    *record.mutable_loss() = NumberOf(static_cast<float>(loss));

    bool overflow =
        std::count(sim_.overflow.begin(), sim_.overflow.end(), s->step) > 0;
    double norm = 0;
    for (int t = 0; t < kTensors; ++t) {
      if (t == kFrozenTensor && s->frozen) continue;
      for (float& g : gradients[t]) {
        if (std::abs(g) > 4e6) overflow = true;
        if (!unscaled) g /= s->scale;
        g = static_cast<float>(Noisy(g));
        norm += static_cast<double>(g) * g;
      }
    }
    norm = std::sqrt(norm);
    if (overflow) norm = std::numeric_limits<double>::infinity();
    *record.mutable_grad_norm() = NumberOf(norm);
    record.set_skipped(overflow);
    const double rate = Rate(*s);
    for (double scale : s->group_scale)
      *record.add_lr() = NumberOf(rate * scale);

    double change = 0;
    std::array<double, kTensors> changes = {};
    if (!overflow) {
      ++s->optimizer_steps;
      const double clip = norm > 20 ? 20 / norm : 1;
      for (int t = 0; t < kTensors; ++t) {
        if (t == kFrozenTensor && s->frozen) continue;
        for (size_t i = 0; i < s->weights[t].size(); ++i) {
          const double lr = rate * s->group_scale[t % 2];
          const float before = s->weights[t][i];
          Update(gradients[t][i] * clip, lr, s, t, i);
          const double moved = s->weights[t][i] - before;
          changes[t] += moved * moved;
          s->averages[t][i] =
              static_cast<float>(Decay(s->updates) * s->averages[t][i] +
                                 (1 - Decay(s->updates)) * s->weights[t][i]);
        }
        change += changes[t];
      }
      ++s->updates;
      ++s->applied;
      ++s->position;
      if (++s->tracker == sim_.growth_interval) {
        s->scale *= 2;
        s->tracker = 0;
      }
    } else {
      s->scale /= 2;
      s->tracker = 0;
    }
    s->samples += samples;
    *record.mutable_update_norm() = NumberOf(std::sqrt(change));
    for (double c : changes)
      *record.add_update_norms() = NumberOf(std::sqrt(c));
    record.set_applied(s->applied);
    record.set_samples(s->samples);
    record.set_epoch(s->cursor / sim_.data);
    record.set_parameters(absl::StrFormat("%016x", Hash(s->weights)));
    *Emit()->mutable_step() = std::move(record);
  }

  static double Decay(uint64_t updates) {
    return std::min(0.95, (1.0 + updates) / (10.0 + updates));
  }

  void Update(double g, double lr, SimulatedState* s, int t, size_t i) {
    float& w = s->weights[t][i];
    float& m = s->moments[t][i];
    float& v = s->variances[t][i];
    if (sim_.sgd) {
      m = static_cast<float>(0.9 * m + g);
      w -= static_cast<float>(0.02 * lr * m);
      return;
    }
    w -= static_cast<float>(lr * s->group_decay * w);
    m = static_cast<float>(0.9 * m + 0.1 * g);
    v = static_cast<float>(0.999 * v + 0.001 * g * g);
    const double n = static_cast<double>(s->optimizer_steps);
    w -= static_cast<float>(lr * (m / (1 - std::pow(0.9, n))) /
                            (std::sqrt(v / (1 - std::pow(0.999, n))) + 1e-8));
  }

  double HeldOut(const Tensors& weights, const SimulatedState& s) const {
    double loss = 0;
    for (uint64_t id = 10000; id < 10020; ++id) {
      double output = 0.5 * (s.buffers[0] - 0.8);
      int i = 0;
      for (const auto& tensor : weights) {
        for (float w : tensor) output += w * Input(id, i++);
      }
      const double error = output - Target(id);
      loss += error * error / 20;
    }
    return loss;
  }

  void Evaluate(SimulatedState* s) {
    v1::EvaluationEvent& evaluation = *Emit()->mutable_evaluation();
    evaluation.set_step(s->step);
    const double loss = HeldOut(s->weights, *s);
    *evaluation.mutable_loss() = NumberOf(loss);
    *evaluation.mutable_ema_loss() = NumberOf(HeldOut(s->averages, *s));
    if (!s->has_best || loss < s->best) {
      s->best = loss;
      s->has_best = true;
      s->bad_count = 0;
    } else {
      ++s->bad_count;
    }
    *evaluation.mutable_best() = NumberOf(s->best);
    evaluation.set_bad_count(s->bad_count);
  }

  void Save(const SimulatedState& s,
            std::map<uint64_t, SimulatedState>* saves) {
    if (resumed_ && faults_.saves_fail) return;
    State(v1::StateEvent::AT_SAVE, s);
    v1::SaveEvent& begun = *Emit()->mutable_save();
    begun.set_phase(v1::SaveEvent::BEGUN);
    begun.set_step(s.step);
    (*saves)[s.step] = s;
    v1::SaveEvent& committed = *Emit()->mutable_save();
    committed.set_phase(v1::SaveEvent::COMMITTED);
    committed.set_step(s.step);
  }

  const Simulation& sim_;
  const Faults& faults_;
  const bool resumed_;
  uint64_t noise_;
  mutable std::map<std::pair<uint64_t, uint64_t>, std::vector<uint64_t>>
      orders_;
  AttemptEvidence evidence_;
};

SimulatedState Initial(const Simulation& simulation) {
  SimulatedState s;
  uint64_t z = 42;
  for (int t = 0; t < kTensors; ++t) {
    for (int i = 0; i < kSizes[t]; ++i) {
      s.weights[t].push_back(static_cast<float>(0.3 * Normal(++z)));
    }
    s.moments[t].assign(kSizes[t], 0);
    s.variances[t].assign(kSizes[t], 0);
  }
  s.averages = s.weights;
  s.buffers.assign(1, 0);
  s.horizon = simulation.steps;
  return s;
}

}  // namespace

LineageEvidence Simulate(const Simulation& simulation,
                         const std::vector<uint64_t>& kills,
                         const Faults& faults) {
  LineageEvidence lineage;
  std::map<uint64_t, SimulatedState> saves;
  const SimulatedState initial = Initial(simulation);
  for (size_t i = 0; i <= kills.size(); ++i) {
    std::optional<uint64_t> kill;
    if (i < kills.size()) kill = kills[i];
    SimulatedState state = initial;
    LoadView view{initial, initial, saves};
    uint64_t loaded = 0;
    const bool resumed = i > 0 && !saves.empty();
    bool fresh = !resumed;
    if (resumed) {
      loaded = saves.rbegin()->first;
      if (faults.choose) loaded = faults.choose(saves);
      if (loaded == 0) {
        fresh = true;
      } else {
        state = saves[loaded];
        view.saved = state;
        if (faults.load) faults.load(&state, view);
      }
    }
    Attempt attempt(simulation, faults, !fresh, i);
    lineage.attempts.push_back(
        attempt.Go(std::move(state), kill, loaded, view, &saves));
  }
  return lineage;
}

Evidence MakeEvidence(const Simulation& simulation,
                      const std::vector<uint64_t>& kills,
                      const Faults& faults) {
  Evidence evidence;
  evidence.request.set_steps(simulation.steps);
  evidence.request.set_save_every(simulation.save_every);
  evidence.request.set_accumulation(simulation.accumulation);
  evidence.description.set_determinism(simulation.noise == 0 ? v1::EXACT
                                                             : v1::ROUNDING);
  for (uint64_t i = 0; i < 3; ++i) {
    Simulation baseline = simulation;
    baseline.noise_seed = simulation.noise_seed * 10 + i + 1;
    evidence.baselines.push_back(Simulate(baseline, {}, {}));
    if (simulation.noise == 0 && i == 1) break;
  }
  evidence.subject = Simulate(simulation, kills, faults);
  return evidence;
}

}  // namespace reprise::conformance::testing
