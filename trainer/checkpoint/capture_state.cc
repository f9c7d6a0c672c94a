// Saves: from the trainer's live state to a Snapshot. Each function takes one
// part of the state and answers for its items, so that what is saved and what
// is said about it stand together.
#include <unistd.h>

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "format/random/keyed_permutation.h"
#include "format/random/philox.h"
#include "trainer/checkpoint/step_values.h"
#include "trainer/checkpoint/torch_generator.h"
#include "trainer/checkpoint/train_state_codec.h"
#include "trainer/checkpoint/witness.h"
#include "trainer/version.h"

namespace reprise {
namespace {

void MarkSaved(std::initializer_list<Item> items, Snapshot* snapshot) {
  for (Item item : items) snapshot->MarkSaved(item);
}

void MarkNotApplicable(std::initializer_list<Item> items, const char* reason,
                       Snapshot* snapshot) {
  for (Item item : items) snapshot->MarkNotApplicable(item, reason);
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

void CaptureRun(const RunInfo& run, Snapshot* snapshot) {
  snapshot->run_id = run.run_id;
  snapshot->attempt = run.attempt;
  snapshot->parent = run.parent;
  snapshot->config = run.config;
  snapshot->environment = run.environment;
  snapshot->fingerprint = run.fingerprint;
  snapshot->accepted_missing = run.accepted_missing;
  snapshot->optional_features = run.optional_features;
  snapshot->history = run.history;
  snapshot->writer = absl::StrCat("reprise trainer ", kTrainerVersion);
  snapshot->created_unix_nanos = absl::ToUnixNanos(absl::Now());
  snapshot->host = HostName();
  MarkSaved({Item::CONFIG, Item::ENVIRONMENT, Item::PRECISION_FLAGS,
             Item::DATA_FINGERPRINT},
            snapshot);
}

void CaptureModel(const Model& model, const RunInfo& run,
                  const ViewFunction& view, Snapshot* snapshot) {
  snapshot->architecture = run.architecture;
  snapshot->initialisation = model.initialisation();
  snapshot->mode = ModelMode();
  snapshot->frozen.emplace();
  for (const NamedTensor& t : model.Parameters()) {
    snapshot->parameters.push_back(view(t.name, t.tensor));
    if (!t.tensor.requires_grad()) snapshot->frozen->push_back(t.name);
  }
  for (const NamedTensor& t : model.TiedNames()) {
    snapshot->parameters.push_back(view(t.name, t.tensor));
  }
  MarkSaved({Item::MODEL_PARAMS, Item::FROZEN_FLAGS, Item::MODE}, snapshot);
  for (const NamedTensor& t : model.Buffers()) {
    snapshot->buffers.push_back(view(t.name, t.tensor));
  }
  if (!snapshot->buffers.empty()) {
    snapshot->MarkSaved(Item::MODEL_BUFFERS);
  } else {
    snapshot->MarkNotApplicable(Item::MODEL_BUFFERS, "the model has none");
  }
  if (!model.TiedNames().empty()) {
    snapshot->MarkSaved(Item::MODEL_TIES);
  } else {
    snapshot->MarkNotApplicable(Item::MODEL_TIES,
                                "no two tensors are one storage");
  }
}

bool KeepsMoments(const OptimizerState& optimizer) {
  for (const ParameterGroup& group : optimizer.groups) {
    if (!group.momentum.has_value() || *group.momentum != 0) return true;
  }
  return false;
}

void CaptureOptimizer(const Optimizer& optimizer, const ViewFunction& view,
                      Snapshot* snapshot) {
  snapshot->optimizer = optimizer.state(view);
  OptimizerState& state = *snapshot->optimizer;
  state.state_dtype = DType::kF32;
  MarkSaved({Item::OPTIM_KIND, Item::OPTIM_GROUPS, Item::OPTIM_IDENTITY,
             Item::OPTIM_DTYPE, Item::SCHED_BASE, Item::SCHED_APPLIED},
            snapshot);
  if (state.states.empty()) {
    snapshot->MarkEmpty(Item::OPTIM_STEP);
    snapshot->MarkEmpty(Item::OPTIM_MOMENTS);
  } else {
    MarkSaved({Item::OPTIM_STEP, Item::OPTIM_MOMENTS}, snapshot);
    // A parameter that no step was applied to says so.
    absl::flat_hash_set<std::string> stepped;
    for (const ParameterState& s : state.states) stepped.insert(s.parameter);
    for (const ParameterGroup& group : state.groups) {
      for (const std::string& name : group.parameters) {
        if (!stepped.contains(name)) state.states.push_back({name, 0, {}});
      }
    }
  }
  snapshot->masters = optimizer.masters(view);
  if (!snapshot->masters.empty()) {
    snapshot->MarkSaved(Item::MASTER);
  } else {
    snapshot->MarkNotApplicable(Item::MASTER,
                                "the parameters themselves are fp32");
  }
  if (!KeepsMoments(state)) {
    snapshot->MarkNotApplicable(Item::OPTIM_MOMENTS,
                                "sgd without momentum keeps none");
  }
}

void CaptureSchedule(const TrainState& state, const Schedule& schedule,
                     Snapshot* snapshot) {
  snapshot->schedule =
      schedule.ToState(state.schedule_position, state.schedule_state);
  MarkSaved({Item::SCHED_DEFINITION, Item::SCHED_POSITION, Item::SCHED_UNIT,
             Item::SCHED_HORIZON},
            snapshot);
  if (state.schedule_state.has_value()) {
    snapshot->MarkSaved(Item::SCHED_STATE);
  } else {
    snapshot->MarkNotApplicable(Item::SCHED_STATE,
                                "the schedule is a function of its position");
  }
}

void CaptureScaler(const TrainState& state, Snapshot* snapshot) {
  const std::initializer_list<Item> items = {
      Item::SCALER_SCALE, Item::SCALER_GROWTH_TRACKER, Item::SCALER_CONFIG};
  if (state.scaler == nullptr) {
    MarkNotApplicable(items, "the loss of this run is not scaled", snapshot);
    return;
  }
  snapshot->scaler = state.scaler->state();
  MarkSaved(items, snapshot);
}

void CaptureData(const Sampler& position, const std::string& augmentation,
                 Snapshot* snapshot) {
  SamplerState sampler;
  sampler.algorithm = std::string(kFeistelV1);
  sampler.seed = position.options().seed;
  sampler.cursor = position.cursor();
  sampler.batch_size = position.options().batch_size;
  sampler.dataset_size = position.options().dataset_size;
  sampler.stream_algorithm = std::string(kPhilox4x32_10);
  sampler.augmentation = augmentation;
  sampler.tail = static_cast<SamplerState::Tail>(position.options().tail);
  snapshot->sampler = sampler;
  MarkSaved({Item::SAMPLER_ALGORITHM, Item::SAMPLER_SEED, Item::SAMPLER_CURSOR,
             Item::SAMPLER_ORDER, Item::DATA_BATCH, Item::RNG_DATA},
            snapshot);
  // The position is what was trained: what a loader drew ahead comes again.
  snapshot->MarkEmpty(Item::LOADER_INFLIGHT);
}

void CaptureGenerators(const TrainState& state, Snapshot* snapshot) {
  snapshot->generators.push_back(SaveGenerator(state.cpu_generator, "cpu"));
  snapshot->MarkSaved(Item::RNG_CPU);
  if (!state.cuda_generator.has_value()) {
    snapshot->MarkNotApplicable(Item::RNG_CUDA, "the run is on the CPU");
    return;
  }
  snapshot->generators.push_back(
      SaveGenerator(*state.cuda_generator, "cuda:0"));
  snapshot->MarkSaved(Item::RNG_CUDA);
}

void CaptureProgress(const TrainState& state, Snapshot* snapshot) {
  snapshot->counters =
      CounterState{state.applied, state.skipped, state.sampler->cursor()};
  MarkSaved({Item::COUNTERS_STEP, Item::COUNTERS_APPLIED,
             Item::COUNTERS_SKIPPED, Item::COUNTERS_SAMPLES},
            snapshot);
  snapshot->evaluation = state.evaluation;
  snapshot->MarkSaved(Item::EVAL);
  snapshot->best = state.best;
  if (state.best.has_value()) {
    snapshot->MarkSaved(Item::BEST);
  } else {
    snapshot->MarkEmpty(Item::BEST);
  }
  snapshot->early_stop = state.early_stop;
  if (state.early_stop.has_value()) {
    snapshot->MarkSaved(Item::EARLY_STOP);
  } else {
    snapshot->MarkNotApplicable(Item::EARLY_STOP,
                                "the run ends by its steps alone");
  }
}

void CaptureStepOptions(const TrainState& state, Snapshot* snapshot) {
  snapshot->clip = state.clip;
  if (state.clip.has_value()) {
    snapshot->MarkSaved(Item::CLIP);
  } else {
    snapshot->MarkNotApplicable(Item::CLIP, "gradients are not clipped");
  }
}

void CaptureEma(const TrainState& state, const ViewFunction& view,
                Snapshot* snapshot) {
  if (state.ema == nullptr) {
    MarkNotApplicable({Item::EMA_WEIGHTS, Item::EMA_UPDATES, Item::EMA_CONFIG},
                      "no average of the weights is kept", snapshot);
    return;
  }
  snapshot->ema = state.ema->state();
  MarkSaved({Item::EMA_UPDATES, Item::EMA_CONFIG}, snapshot);
  // Before the first update the average is the weights themselves.
  if (state.ema->updates() == 0) {
    snapshot->MarkEmpty(Item::EMA_WEIGHTS);
    return;
  }
  for (const NamedTensor& t : state.ema->averages()) {
    snapshot->ema_weights.push_back(view(t.name, t.tensor));
  }
  snapshot->MarkSaved(Item::EMA_WEIGHTS);
}

void CaptureStepInProgress(const TrainState& state, const ViewFunction& view,
                           Snapshot* snapshot) {
  snapshot->accumulation = state.accumulation;
  snapshot->MarkSaved(Item::ACCUM_COUNT);
  if (state.accumulation.count == 0) {
    snapshot->MarkEmpty(Item::ACCUM_GRADS);
    snapshot->MarkNotApplicable(Item::USER,
                                "at a boundary there is nothing to add");
    return;
  }
  for (const NamedTensor& t : state.model->Parameters()) {
    if (!t.tensor.grad().defined()) continue;
    snapshot->gradients.push_back(view(t.name, t.tensor.grad()));
  }
  snapshot->MarkSaved(Item::ACCUM_GRADS);
  snapshot->user = {{kStepLoss, state.so_far.loss},
                    {kStepSamples, state.so_far.samples}};
  snapshot->MarkSaved(Item::USER);
}

}  // namespace

Snapshot CaptureState(const TrainState& state, const Schedule& schedule,
                      const RunInfo& run, const ViewFunction& view) {
  Snapshot snapshot;
  snapshot.step = state.attempted;
  CaptureRun(run, &snapshot);
  CaptureModel(*state.model, run, view, &snapshot);
  CaptureOptimizer(*state.optimizer, view, &snapshot);
  CaptureSchedule(state, schedule, &snapshot);
  CaptureScaler(state, &snapshot);
  CaptureData(*state.sampler, run.augmentation, &snapshot);
  CaptureGenerators(state, &snapshot);
  CaptureStepOptions(state, &snapshot);
  CaptureEma(state, view, &snapshot);
  CaptureStepInProgress(state, view, &snapshot);
  CaptureProgress(state, &snapshot);
  snapshot.witness = WitnessOf(state);
  snapshot.MarkSaved(Item::WITNESS);
  return snapshot;
}

}  // namespace reprise
