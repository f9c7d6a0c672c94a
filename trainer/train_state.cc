#include "trainer/train_state.h"

#include <ATen/Context.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/schedule/schedule.h"

namespace reprise {

absl::StatusOr<WarmupCosine> MakeSchedule(
    const trainer::v1::TrainerConfig& config) {
  if (config.schedule().form() != kWarmupCosineV1 ||
      config.schedule().unit() != "applied") {
    return absl::UnimplementedError(absl::StrCat(
        "schedule: expected ", kWarmupCosineV1, " over applied steps, found ",
        config.schedule().form(), " over ", config.schedule().unit(),
        "; this trainer does not follow it"));
  }
  WarmupCosine::Definition definition;
  definition.warmup = config.schedule().warmup();
  definition.horizon = config.schedule().horizon() != 0
                           ? config.schedule().horizon()
                           : config.run().steps();
  definition.final_fraction = config.schedule().final_fraction();
  return WarmupCosine::Create(definition);
}

std::optional<ClipState> ClipOf(const trainer::v1::TrainerConfig& config) {
  if (config.optimizer().clip_norm() == 0) return std::nullopt;
  return ClipState{ClipState::Kind::kNorm, config.optimizer().clip_norm(),
                   /*norm_type=*/2.0};
}

absl::StatusOr<TrainState> MakeTrainState(
    const trainer::v1::TrainerConfig& config, const Dataset& train,
    at::Device device) {
  TrainState state;
  state.cpu_generator =
      at::globalContext().defaultGenerator(at::Device(at::kCPU));
  state.cpu_generator.set_current_seed(config.run().seed());
  if (device.is_cuda()) {
    state.cuda_generator = at::globalContext().defaultGenerator(device);
    state.cuda_generator->set_current_seed(config.run().seed());
  }

  ModelOptions model;
  model.kind = config.model().kind();
  model.hidden = config.model().hidden();
  model.dropout = config.model().dropout();
  model.channels = train.channels;
  model.height = train.height;
  model.width = train.width;
  model.classes = train.classes;
  auto made = MakeModel(model);
  if (!made.ok()) return made.status();
  state.model = *std::move(made);
  state.model->MoveTo(device);
  state.model->SetTraining(true);

  auto schedule = MakeSchedule(config);
  if (!schedule.ok()) return schedule.status();
  Optimizer::Group options;
  options.base_lr = config.optimizer().lr();
  options.lr = options.base_lr * schedule->Fraction(0);
  options.beta1 = config.optimizer().beta1();
  options.beta2 = config.optimizer().beta2();
  options.eps = config.optimizer().eps();
  options.weight_decay = config.optimizer().weight_decay();
  options.momentum = config.optimizer().momentum();
  options.nesterov = config.optimizer().nesterov();
  auto optimizer =
      Optimizer::Create(config.optimizer().kind(),
                        GroupsByRank(state.model->Parameters(), options));
  if (!optimizer.ok()) return optimizer.status();
  state.optimizer = *std::move(optimizer);

  state.clip = ClipOf(config);

  if (config.precision().scaler()) {
    amp::GradScaler::Options scaler;
    scaler.init_scale = static_cast<float>(config.precision().init_scale());
    scaler.growth_interval = config.precision().growth_interval();
    scaler.min_scale = config.precision().min_scale();
    state.scaler = std::make_unique<amp::GradScaler>(scaler, device);
  }

  Sampler::Options order;
  order.dataset_size = train.size;
  order.batch_size = config.data().batch_size();
  order.seed = config.run().seed();
  auto sampler = Sampler::Create(order);
  if (!sampler.ok()) return sampler.status();
  state.sampler = std::make_unique<Sampler>(*std::move(sampler));
  return state;
}

}  // namespace reprise
