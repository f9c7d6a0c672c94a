#include "format/v1/fields.h"

#include "absl/strings/str_cat.h"

namespace reprise {
namespace v1_internal {
namespace {

// A run without a schedule still has a learning rate, as an option of its
// groups.
Item OwnerOf(const Snapshot& snapshot, Item item) {
  return snapshot.Find(item)->presence == Presence::PRESENCE_NOT_APPLICABLE
             ? Item::OPTIM_GROUPS
             : item;
}

}  // namespace

void ExchangeGroup(FieldExchange* exchange, const Snapshot& snapshot,
                   checkpoint::v1::ParameterGroup* message,
                   ParameterGroup* group) {
  exchange->Open(
      message,
      absl::StrCat("optimizer.groups[",
                   group->name.empty() ? message->name() : group->name, "]"));
  exchange->Optional("name", &group->name);
  exchange->Field(OwnerOf(snapshot, Item::SCHED_APPLIED), "lr", &group->lr);
  exchange->Field(OwnerOf(snapshot, Item::SCHED_BASE), "base_lr",
                  &group->base_lr);
  exchange->Field(Item::OPTIM_GROUPS, "weight_decay", &group->weight_decay);
  // Which of these there must be depends on the optimizer's kind: see
  // validate_optimizer.cc.
  exchange->Optional("beta1", &group->beta1);
  exchange->Optional("beta2", &group->beta2);
  exchange->Optional("eps", &group->eps);
  exchange->Optional("momentum", &group->momentum);
  exchange->Optional("dampening", &group->dampening);
  exchange->Optional("nesterov", &group->nesterov);
}

void ExchangeOptimizer(FieldExchange* exchange,
                       checkpoint::v1::Optimizer* message,
                       OptimizerState* optimizer) {
  exchange->Open(message, "optimizer");
  exchange->Field(Item::OPTIM_KIND, "kind", &optimizer->kind);
  exchange->Field(Item::OPTIM_KIND, "arithmetic", &optimizer->arithmetic);
}

void ExchangeParameterState(FieldExchange* exchange,
                            checkpoint::v1::ParameterState* message,
                            ParameterState* state) {
  exchange->Open(message,
                 absl::StrCat("optimizer.states[",
                              state->parameter.empty() ? message->parameter()
                                                       : state->parameter,
                              "]"));
  exchange->Field(Item::OPTIM_IDENTITY, "parameter", &state->parameter);
  exchange->Field(Item::OPTIM_STEP, "step", &state->step);
}

void ExchangeSchedule(FieldExchange* exchange,
                      checkpoint::v1::Schedule* message,
                      ScheduleState* schedule) {
  exchange->Open(message, "schedule");
  exchange->Field(Item::SCHED_DEFINITION, "form", &schedule->form);
  int unit = static_cast<int>(schedule->unit);
  exchange->EnumField(Item::SCHED_UNIT, "unit", &unit);
  schedule->unit = static_cast<ScheduleState::Unit>(unit);
  exchange->Field(Item::SCHED_POSITION, "position", &schedule->position);
  exchange->Field(Item::SCHED_HORIZON, "horizon", &schedule->horizon);
  exchange->Field(Item::SCHED_DEFINITION, "warmup", &schedule->warmup);
  exchange->Field(Item::SCHED_DEFINITION, "final_fraction",
                  &schedule->final_fraction);
}

void ExchangeScaler(FieldExchange* exchange,
                    checkpoint::v1::GradScaler* message,
                    GradScalerState* scaler) {
  exchange->Open(message, "scaler");
  exchange->Field(Item::SCALER_SCALE, "scale", &scaler->scale);
  exchange->Field(Item::SCALER_GROWTH_TRACKER, "growth_tracker",
                  &scaler->growth_tracker);
  exchange->Field(Item::SCALER_CONFIG, "growth_interval",
                  &scaler->growth_interval);
  exchange->Field(Item::SCALER_CONFIG, "growth_factor", &scaler->growth_factor);
  exchange->Field(Item::SCALER_CONFIG, "backoff_factor",
                  &scaler->backoff_factor);
  exchange->Field(Item::SCALER_CONFIG, "min_scale", &scaler->min_scale);
  exchange->Field(Item::SCALER_CONFIG, "arithmetic", &scaler->arithmetic);
}

void ExchangeSampler(FieldExchange* exchange, checkpoint::v1::Sampler* message,
                     SamplerState* sampler, BatchPosition* position) {
  exchange->Open(message, "sampler");
  exchange->Field(Item::SAMPLER_ALGORITHM, "algorithm", &sampler->algorithm);
  exchange->Field(Item::SAMPLER_SEED, "seed", &sampler->seed);
  exchange->Field(Item::SAMPLER_CURSOR, "epoch", &position->epoch);
  exchange->Field(Item::SAMPLER_CURSOR, "batch_index", &position->batch_index);
  exchange->Field(Item::DATA_BATCH, "batch_size", &sampler->batch_size);
  exchange->Field(Item::SAMPLER_ORDER, "dataset_size", &sampler->dataset_size);
  // rng.data may be NOT_APPLICABLE, as counter-based streams have no state,
  // and the algorithm still be named.
  exchange->Optional("stream_algorithm", &sampler->stream_algorithm);
  exchange->Optional("augmentation", &sampler->augmentation);
}

void ExchangeEnvironment(FieldExchange* exchange,
                         checkpoint::v1::Environment* message,
                         EnvironmentState* environment) {
  exchange->Open(message, "environment");
  int level = static_cast<int>(environment->level);
  exchange->EnumField(Item::ENVIRONMENT, "level", &level);
  environment->level = static_cast<ResumeLevel>(level);
  exchange->Optional("trainer_version", &environment->trainer_version);
  exchange->Optional("libtorch_version", &environment->libtorch_version);
  exchange->Optional("compiler", &environment->compiler);
  exchange->Field(Item::ENVIRONMENT, "device", &environment->device);
  exchange->Optional("device_name", &environment->device_name);
  exchange->Optional("cpu_capability", &environment->cpu_capability);
  exchange->Field(Item::ENVIRONMENT, "threads", &environment->threads);
  exchange->Field(Item::ENVIRONMENT, "world_size", &environment->world_size);
  exchange->Field(Item::PRECISION_FLAGS, "autocast_dtype",
                  &environment->autocast_dtype);
  exchange->Field(Item::PRECISION_FLAGS, "deterministic",
                  &environment->deterministic);
  exchange->Field(Item::PRECISION_FLAGS, "allow_tf32",
                  &environment->allow_tf32);
  exchange->Field(Item::ENVIRONMENT, "kernel_probe",
                  &environment->kernel_probe);
}

}  // namespace v1_internal
}  // namespace reprise
