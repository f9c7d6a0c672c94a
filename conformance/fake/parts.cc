#include "conformance/fake/parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "conformance/fake/models.h"
#include "conformance/fake/optimizer.h"
#include "format/random/keyed_permutation.h"

namespace reprise::conformance::fake {
namespace {

class PermutationSampler : public Sampler {
 public:
  Batch Next(const State& state) const override {
    const uint64_t size = state.data().size();
    const uint64_t cursor = state.sampler().cursor();
    Batch batch;
    batch.epoch = cursor / size;
    const KeyedPermutation order(size, state.sampler().seed(), batch.epoch);
    for (uint64_t i = 0; i < state.data().batch(); ++i) {
      if (cursor % size + i == size) break;  // an epoch's last, short batch
      batch.ids.push_back(order(cursor % size + i));
    }
    return batch;
  }
};

class LossScaler : public Scaler {
 public:
  bool Unscale(const State& state, Arrays* gradients) override {
    const float inverse =
        static_cast<float>(1.0 / double{state.scaler().scale()});
    bool found_inf = false;
    for (Array& array : *gradients) {
      for (float& value : *array.mutable_values()) {
        value *= inverse;
        found_inf |= !std::isfinite(value);
      }
    }
    return found_inf;
  }

  void Update(bool found_inf, State* state) override {
    ScalerState* scaler = state->mutable_scaler();
    if (found_inf) {
      scaler->set_scale(static_cast<float>(double{scaler->scale()} *
                                           scaler->backoff_factor()));
      scaler->set_growth_tracker(0);
      return;
    }
    scaler->set_growth_tracker(scaler->growth_tracker() + 1);
    if (scaler->growth_tracker() != scaler->growth_interval()) return;
    const float grown =
        static_cast<float>(double{scaler->scale()} * scaler->growth_factor());
    if (std::isfinite(grown)) scaler->set_scale(grown);
    scaler->set_growth_tracker(0);
  }
};

class FormSchedule : public Schedule {
 public:
  std::vector<double> Rates(const State& state) const override {
    const double rate = state.schedule().base_lr() * Factor(state.schedule());
    std::vector<double> rates;
    for (const Group& group : state.optimizer().groups()) {
      rates.push_back(rate * group.lr_scale());
    }
    return rates;
  }

  void Advance(bool applied, uint64_t samples, State* state) override {
    ScheduleState* schedule = state->mutable_schedule();
    const std::string& unit = schedule->unit();
    uint64_t add = 1;
    if (unit == "applied") add = applied ? 1 : 0;
    if (unit == "samples") add = samples;
    if (unit == "epochs") {
      const uint64_t size = state->data().size();
      const uint64_t before = state->counters().samples();
      add = (before + samples) / size - before / size;
    }
    schedule->set_position(schedule->position() + add);
  }

  void Evaluated(double loss, State* state) override {
    if (state->schedule().form() != "plateau") return;
    PlateauState* plateau = state->mutable_schedule()->mutable_plateau();
    if (plateau->cooldown() > 0) {
      plateau->set_cooldown(plateau->cooldown() - 1);
      plateau->set_bad_count(0);
    }
    if (!plateau->has_best() || loss < plateau->best()) {
      plateau->set_best(loss);
      plateau->set_bad_count(0);
      return;
    }
    plateau->set_bad_count(plateau->bad_count() + 1);
    // The patience is part of the definition: the schedule's warmup field.
    if (plateau->bad_count() <= state->schedule().warmup()) return;
    plateau->set_factor(plateau->factor() * 0.5);
    plateau->set_bad_count(0);
    plateau->set_cooldown(1);
  }

 private:
  static double Factor(const ScheduleState& schedule) {
    if (schedule.form() == "plateau") return schedule.plateau().factor();
    const double position = static_cast<double>(schedule.position());
    const double warmup = static_cast<double>(schedule.warmup());
    const double horizon = static_cast<double>(schedule.horizon());
    if (position < warmup) return (position + 1) / warmup;
    if (position >= horizon) return schedule.final_fraction();
    const double t = (position - warmup) / (horizon - warmup);
    return schedule.final_fraction() +
           (1 - schedule.final_fraction()) * 0.5 * (1 + std::cos(M_PI * t));
  }
};

class PlannedSteps : public StopRule {
 public:
  explicit PlannedSteps(uint64_t steps) : steps_(steps) {}

  bool Done(const State& state) const override {
    const EarlyStopState& early = state.early_stop();
    return state.counters().step() >= steps_ ||
           (early.patience() > 0 && early.bad_count() >= early.patience());
  }

 private:
  const uint64_t steps_;
};

void InitialiseOptimizer(const Bed& bed, State* state) {
  OptimizerState* optimizer = state->mutable_optimizer();
  optimizer->set_kind(bed.optimizer);
  optimizer->set_dtype("f32");
  // Weights decay; vectors have no decay and twice the rate.
  Group* weights = optimizer->add_groups();
  Group* vectors = optimizer->add_groups();
  weights->set_name("weights");
  weights->set_lr_scale(1);
  weights->set_weight_decay(0.05);
  vectors->set_name("vectors");
  vectors->set_lr_scale(2);
  for (Group* group : {weights, vectors}) {
    if (bed.optimizer == "adamw") {
      group->set_beta1(0.9);
      group->set_beta2(0.999);
      group->set_eps(1e-8);
    } else {
      group->set_momentum(0.9);
    }
  }
  if (bed.optimizer == "sgd") weights->set_weight_decay(0.001);
  for (const Array& parameter : state->parameters()) {
    (parameter.columns() > 1 ? weights : vectors)
        ->add_parameters(parameter.name());
  }
}

void InitialiseSchedule(const Bed& bed, State* state) {
  ScheduleState* schedule = state->mutable_schedule();
  schedule->set_form(bed.schedule);
  schedule->set_base_lr(bed.base_lr);
  if (bed.schedule == "plateau") {
    schedule->set_unit("attempted");
    schedule->set_warmup(bed.plateau_patience);
    schedule->mutable_plateau()->set_factor(1);
    return;
  }
  const uint64_t samples = bed.steps * bed.batch * bed.accumulation;
  schedule->set_unit(bed.schedule_unit);
  schedule->set_warmup(bed.schedule_unit == "epochs" ? 0 : bed.warmup);
  schedule->set_horizon(bed.schedule_unit == "samples" ? samples
                        : bed.schedule_unit == "epochs"
                            ? samples / bed.dataset_size
                            : bed.steps);
}

// What resuming must find unchanged.
void DescribeConfig(const Bed& bed, State* state) {
  auto add = [state](const char* name, const auto& value) {
    ConfigField* field = state->add_config();
    field->set_name(name);
    field->set_value(absl::StrCat(value));
  };
  add("workload", bed.workload);
  add("seed", bed.seed);
  add("steps", bed.steps);
  add("warmup", bed.warmup);
  add("accumulation", bed.accumulation);
  add("precision", bed.precision);
  add("batch", bed.batch);
  add("dropout", bed.dropout);
  add("noise", bed.noise);
  add("eval_every", bed.eval_every);
  add("patience", bed.patience);
}

}  // namespace

Parts MakeParts(const Bed& bed) {
  Parts parts;
  parts.sampler = std::make_unique<PermutationSampler>();
  parts.model = bed.model == "mlp" ? MakeMlp(bed) : MakeTokenModel();
  parts.optimizer = MakeOptimizer();
  parts.scaler = std::make_unique<LossScaler>();
  parts.schedule = std::make_unique<FormSchedule>();
  parts.stop = std::make_unique<PlannedSteps>(bed.steps);
  return parts;
}

State InitialState(const Bed& bed) {
  State state;
  state.set_mode("train");
  state.mutable_cpu()->set_name("cpu");
  state.mutable_cpu()->set_seed(bed.seed);
  if (bed.device) {
    state.mutable_cuda()->set_name("cuda:0");
    state.mutable_cuda()->set_seed(bed.seed ^ 0xC0DA);
  }
  if (bed.model == "mlp") {
    InitialiseMlp(&state);
  } else {
    InitialiseTokenModel(&state);
  }
  if (bed.half_parameters) {
    *state.mutable_masters() = state.parameters();
    for (Array& array : *state.mutable_parameters()) RoundTo("fp16", &array);
  }
  InitialiseOptimizer(bed, &state);
  InitialiseSchedule(bed, &state);
  ScalerState* scaler = state.mutable_scaler();
  scaler->set_scale(static_cast<float>(bed.init_scale));
  scaler->set_growth_interval(bed.growth_interval);
  scaler->set_growth_factor(2);
  scaler->set_backoff_factor(0.5);
  state.mutable_sampler()->set_algorithm(std::string(kFeistelV1));
  state.mutable_sampler()->set_seed(bed.seed);
  state.mutable_data()->set_fingerprint(
      absl::StrCat("synthetic:", bed.model, ":", bed.dataset_size));
  state.mutable_data()->set_size(bed.dataset_size);
  state.mutable_data()->set_batch(bed.batch);
  state.set_augmentation_seed(bed.seed + 1000);
  *state.mutable_accumulation()->mutable_gradients() =
      ZerosLike(state.parameters());
  *state.mutable_ema()->mutable_weights() = Trained(state);
  state.mutable_ema()->set_decay(bed.ema_decay);
  state.set_clip_norm(bed.clip);
  state.mutable_precision()->set_autocast(bed.precision);
  state.mutable_precision()->set_deterministic(true);
  state.mutable_counters();
  state.mutable_evaluation();
  state.mutable_best();
  state.mutable_early_stop()->set_patience(bed.patience);
  state.set_dropout(bed.dropout);
  DescribeConfig(bed, &state);
  return state;
}

}  // namespace reprise::conformance::fake
