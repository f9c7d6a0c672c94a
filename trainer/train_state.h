// Everything of a run that is not a pure function of (seed, position): what a
// checkpoint must hold for the resumed run to be the uninterrupted one.
//
// A field added here needs a line in kTrainStateInventory; a test counts both.
#ifndef REPRISE_TRAINER_TRAIN_STATE_H_
#define REPRISE_TRAINER_TRAIN_STATE_H_

#include <ATen/core/Generator.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "format/snapshot.h"
#include "reprise/trainer/config/v1/trainer_config.pb.h"
#include "trainer/amp/grad_scaler.h"
#include "trainer/data/dataset.h"
#include "trainer/data/sampler.h"
#include "trainer/model/model.h"
#include "trainer/optim/ema.h"
#include "trainer/optim/optimizer.h"
#include "trainer/schedule/schedule.h"

namespace reprise {

// Of the step in progress, over the micro-steps that are done.
struct StepSoFar {
  double loss = 0;       // sum of the means, each times its share of the step
  uint64_t samples = 0;  // trained
};

struct TrainState {
  // attempted = applied + skipped.
  uint64_t attempted = 0;
  uint64_t applied = 0;
  uint64_t skipped = 0;
  // In the schedule's unit; the rate of the next step is a function of it and,
  // where the schedule looks at evaluations, of what it has seen.
  uint64_t schedule_position = 0;
  std::optional<PlateauState> schedule_state;
  std::unique_ptr<Model> model;
  std::unique_ptr<Optimizer> optimizer;
  // Null when the loss is not scaled.
  std::unique_ptr<amp::GradScaler> scaler;
  std::unique_ptr<Sampler> sampler;
  // Absent: gradients are not clipped.
  std::optional<ClipState> clip;
  // Null when no average of the weights is kept.
  std::unique_ptr<Ema> ema;
  // Micro-steps of the next step that are done. Their gradients, still scaled,
  // are the parameters'.
  AccumulationState accumulation;
  StepSoFar so_far;
  EvaluationState evaluation;
  // None before the first evaluation.
  std::optional<BestState> best;
  // Absent: the run ends by its steps alone.
  std::optional<EarlyStopState> early_stop;
  // LibTorch's default generators: dropout and initialisation draw from them.
  at::Generator cpu_generator;
  std::optional<at::Generator> cuda_generator;
};

// Where each field of TrainState lies in the inventory, in the fields' order.
struct TrainStateField {
  const char* field;
  std::initializer_list<Item> items;
};
inline const std::initializer_list<TrainStateField> kTrainStateInventory = {
    {"attempted", {Item::COUNTERS_STEP}},
    {"applied", {Item::COUNTERS_APPLIED}},
    {"skipped", {Item::COUNTERS_SKIPPED}},
    {"schedule_position", {Item::SCHED_POSITION}},
    {"schedule_state", {Item::SCHED_STATE}},
    {"model",
     {Item::MODEL_PARAMS, Item::MODEL_BUFFERS, Item::MODEL_TIES,
      Item::FROZEN_FLAGS, Item::MODE}},
    {"optimizer",
     {Item::OPTIM_KIND, Item::OPTIM_GROUPS, Item::OPTIM_MOMENTS,
      Item::OPTIM_STEP, Item::OPTIM_IDENTITY, Item::OPTIM_DTYPE, Item::MASTER,
      Item::SCHED_BASE, Item::SCHED_APPLIED}},
    {"scaler",
     {Item::SCALER_SCALE, Item::SCALER_GROWTH_TRACKER, Item::SCALER_CONFIG}},
    {"sampler",
     {Item::SAMPLER_ALGORITHM, Item::SAMPLER_SEED, Item::SAMPLER_CURSOR,
      Item::SAMPLER_ORDER, Item::DATA_BATCH, Item::RNG_DATA,
      Item::COUNTERS_SAMPLES}},
    {"clip", {Item::CLIP}},
    {"ema", {Item::EMA_WEIGHTS, Item::EMA_UPDATES, Item::EMA_CONFIG}},
    {"accumulation", {Item::ACCUM_COUNT, Item::ACCUM_GRADS}},
    {"so_far", {Item::USER}},
    {"evaluation", {Item::EVAL}},
    {"best", {Item::BEST}},
    {"early_stop", {Item::EARLY_STOP}},
    {"cpu_generator", {Item::RNG_CPU}},
    {"cuda_generator", {Item::RNG_CUDA}},
};

// The schedule that the configuration asks for. INVALID_ARGUMENT as
// Schedule::Create. A horizon that is not given is as long as the run.
absl::StatusOr<Schedule> MakeSchedule(const trainer::v1::TrainerConfig& config,
                                      const Dataset& train);

// How the configuration asks to clip gradients; nullopt: not at all.
std::optional<ClipState> ClipOf(const trainer::v1::TrainerConfig& config);

// What autocast computes in; kFloat: no autocast.
at::ScalarType AutocastDType(const trainer::v1::PrecisionConfig& precision);

// The state of step 0: seeds the generators, then draws the model's first
// values. Errors: InvalidArgument for what the configuration asks and the data
// set cannot give.
absl::StatusOr<TrainState> MakeTrainState(
    const trainer::v1::TrainerConfig& config, const Dataset& train,
    at::Device device);

}  // namespace reprise

#endif  // REPRISE_TRAINER_TRAIN_STATE_H_
