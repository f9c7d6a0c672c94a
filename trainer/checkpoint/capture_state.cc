// Saves: from the trainer's live state to a Snapshot.
#include <ATen/core/Generator.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "format/random/keyed_permutation.h"
#include "format/random/philox.h"
#include "trainer/checkpoint/torch_tensor.h"
#include "trainer/checkpoint/train_state_codec.h"
#include "trainer/version.h"

namespace reprise {
namespace {

GeneratorState SaveGenerator(const at::Generator& generator, std::string name,
                             std::string algorithm) {
  const at::Tensor bytes = generator.get_state();  // u8 [n]
  return {std::move(name), std::move(algorithm),
          absl::StrCat("libtorch ", LibTorchVersion()),
          std::string(static_cast<const char*>(bytes.const_data_ptr()),
                      bytes.numel())};
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

bool KeepsMoments(const OptimizerState& optimizer) {
  for (const ParameterGroup& group : optimizer.groups) {
    if (!group.momentum.has_value() || *group.momentum != 0) return true;
  }
  return false;
}

void MarkInventory(const TrainState& state, Snapshot* snapshot) {
  for (Item item : {Item::MODEL_PARAMS,
                    Item::MODEL_BUFFERS,
                    Item::MODE,
                    Item::OPTIM_KIND,
                    Item::OPTIM_GROUPS,
                    Item::OPTIM_IDENTITY,
                    Item::SCHED_DEFINITION,
                    Item::SCHED_POSITION,
                    Item::SCHED_UNIT,
                    Item::SCHED_HORIZON,
                    Item::SCHED_BASE,
                    Item::SCHED_APPLIED,
                    Item::SAMPLER_ALGORITHM,
                    Item::SAMPLER_SEED,
                    Item::SAMPLER_CURSOR,
                    Item::SAMPLER_ORDER,
                    Item::DATA_BATCH,
                    Item::RNG_CPU,
                    Item::CLIP,
                    Item::PRECISION_FLAGS,
                    Item::COUNTERS_STEP,
                    Item::CONFIG,
                    Item::ENVIRONMENT}) {
    snapshot->MarkSaved(item);
  }
  for (Item item : {Item::OPTIM_MOMENTS, Item::OPTIM_STEP}) {
    if (snapshot->optimizer->states.empty()) {
      snapshot->MarkEmpty(item);
    } else {
      snapshot->MarkSaved(item);
    }
  }
  if (!KeepsMoments(*snapshot->optimizer)) {
    snapshot->MarkNotApplicable(Item::OPTIM_MOMENTS,
                                "sgd without momentum keeps none");
  }
  for (Item item :
       {Item::SCALER_SCALE, Item::SCALER_GROWTH_TRACKER, Item::SCALER_CONFIG}) {
    if (state.scaler != nullptr) {
      snapshot->MarkSaved(item);
    } else {
      snapshot->MarkNotApplicable(item, "the loss of this run is not scaled");
    }
  }
  if (state.cuda_generator.has_value()) {
    snapshot->MarkSaved(Item::RNG_CUDA);
  } else {
    snapshot->MarkNotApplicable(Item::RNG_CUDA, "the run is on the CPU");
  }
  snapshot->MarkNotApplicable(
      Item::RNG_DATA,
      "the data streams are counter-based: a function of seed and position");
}

}  // namespace

Snapshot CaptureState(const TrainState& state, const WarmupCosine& schedule,
                      const RunInfo& run) {
  Snapshot snapshot;
  snapshot.run_id = run.run_id;
  snapshot.attempt = run.attempt;
  snapshot.parent = run.parent;
  snapshot.step = state.attempted;
  snapshot.architecture = run.architecture;
  snapshot.initialisation = kTorchDefaultV1;
  for (const NamedTensor& t : state.model->Parameters()) {
    snapshot.parameters.push_back(ViewOf(t.name, t.tensor));
  }
  for (const NamedTensor& t : state.model->Buffers()) {
    snapshot.buffers.push_back(ViewOf(t.name, t.tensor));
  }
  snapshot.optimizer = state.optimizer->state();

  ScheduleState sched;
  sched.form = std::string(kWarmupCosineV1);
  sched.unit = ScheduleState::Unit::kApplied;
  sched.position = state.schedule_position;
  sched.horizon = schedule.definition().horizon;
  sched.warmup = schedule.definition().warmup;
  sched.final_fraction = schedule.definition().final_fraction;
  snapshot.schedule = sched;

  if (state.scaler != nullptr) snapshot.scaler = state.scaler->state();

  SamplerState sampler;
  sampler.algorithm = std::string(kFeistelV1);
  sampler.seed = state.sampler->options().seed;
  sampler.cursor = state.sampler->cursor();
  sampler.batch_size = state.sampler->options().batch_size;
  sampler.dataset_size = state.sampler->options().dataset_size;
  sampler.stream_algorithm = std::string(kPhilox4x32_10);
  sampler.augmentation = run.augmentation;
  snapshot.sampler = sampler;

  snapshot.generators.push_back(
      SaveGenerator(state.cpu_generator, "cpu", "mt19937"));
  if (state.cuda_generator.has_value()) {
    snapshot.generators.push_back(
        SaveGenerator(*state.cuda_generator, "cuda:0", "philox4x32-10"));
  }
  snapshot.config = run.config;
  snapshot.environment = run.environment;
  snapshot.writer = absl::StrCat("reprise trainer ", kTrainerVersion);
  snapshot.created_unix_nanos = absl::ToUnixNanos(absl::Now());
  snapshot.host = HostName();
  MarkInventory(state, &snapshot);
  return snapshot;
}

}  // namespace reprise
