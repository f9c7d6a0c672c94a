#include "trainer/train_state.h"

#include <ATen/Context.h>

#include <algorithm>
#include <utility>

#include "trainer/schedule/from_config.h"
#include "trainer/schedule/schedule.h"

namespace reprise {

absl::StatusOr<Schedule> MakeSchedule(const trainer::v1::TrainerConfig& config,
                                      uint64_t train_size) {
  const uint64_t batch = config.data().batch_size();
  const uint64_t per_epoch = std::max<uint64_t>(1, train_size / batch * batch);
  RunLength length;
  length.steps = config.run().steps();
  length.samples = length.steps * config.accumulation().steps() * batch;
  length.epochs = (length.samples + per_epoch - 1) / per_epoch;
  return ScheduleFromConfig(config.schedule(), length);
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

  auto schedule = MakeSchedule(config, train.size);
  if (!schedule.ok()) return schedule.status();
  state.plateau = schedule->FirstState();
  Optimizer::Group options;
  options.base_lr = config.optimizer().lr();
  options.lr = options.base_lr * schedule->Fraction(0, state.plateau);
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

  // A schedule that moves the momentum begins with its own.
  if (const auto momentum = schedule->Momentum(0); momentum.has_value()) {
    for (Optimizer::Group& group : state.optimizer->groups()) {
      (state.optimizer->kind() == "sgd" ? group.momentum : group.beta1) =
          *momentum;
    }
  }

  state.clip = ClipOf(config);
  state.accumulation.per_step = config.accumulation().steps();
  if (config.ema().decay() > 0) {
    state.ema = std::make_unique<Ema>(
        state.model->Parameters(), config.ema().decay(),
        config.ema().ramp() == "none" ? "" : config.ema().ramp());
  }
  if (config.best().patience() > 0) {
    state.early_stop = EarlyStopState{config.best().patience(),
                                      config.best().min_delta(), 0, {}};
  }

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
