#include "trainer/train_state.h"

#include <ATen/Context.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/optim/frozen.h"
#include "trainer/optim/group_rules.h"
#include "trainer/optim/parameter_groups.h"
#include "trainer/schedule/from_config.h"

namespace reprise {

absl::StatusOr<Schedule> MakeSchedule(const trainer::v1::TrainerConfig& config,
                                      const Dataset& train) {
  RunLength length;
  length.steps = config.run().steps();
  length.samples =
      length.steps * config.accumulation().steps() * config.data().batch_size();
  const uint64_t epoch = std::max<int64_t>(1, train.size);
  length.epochs = length.samples / epoch + (length.samples % epoch != 0);
  return ScheduleFromConfig(config.schedule(), length);
}

std::optional<ClipState> ClipOf(const trainer::v1::TrainerConfig& config) {
  if (config.optimizer().clip_norm() > 0) {
    return ClipState{ClipState::Kind::kNorm, config.optimizer().clip_norm(),
                     /*norm_type=*/2.0};
  }
  if (config.optimizer().clip_value() > 0) {
    return ClipState{ClipState::Kind::kValue, config.optimizer().clip_value(),
                     /*norm_type=*/std::nullopt};
  }
  return std::nullopt;
}

at::ScalarType AutocastDType(const trainer::v1::PrecisionConfig& precision) {
  if (precision.mode() == "fp16") return at::kHalf;
  if (precision.mode() == "bf16") return at::kBFloat16;
  return at::kFloat;
}

namespace {

absl::StatusOr<std::vector<Optimizer::Group>> MakeGroups(
    const std::string& text, const std::vector<NamedTensor>& parameters,
    const Optimizer::Group& options) {
  const auto rules = ParseGroupRules(text);
  if (!rules.ok()) return rules.status();
  if (rules->empty()) return GroupsByRank(parameters, options);
  return GroupsByRules(parameters, options, *rules);
}

TailPolicy TailOf(const std::string& tail) {
  if (tail == "partial") return TailPolicy::kPartial;
  if (tail == "span") return TailPolicy::kSpan;
  return TailPolicy::kDrop;
}

}  // namespace

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
  model.layers = config.model().layers();
  model.heads = config.model().heads();
  model.resnet_width = config.model().width();
  model.sequence_length = config.data().sequence_length();
  auto made = MakeModel(model);
  if (!made.ok()) return made.status();
  state.model = *std::move(made);
  state.model->MoveTo(device);
  state.model->SetTraining(true);
  if (config.model().dtype() != "fp32") {
    state.model->KeepMatricesIn(
        config.model().dtype() == "fp16" ? at::kHalf : at::kBFloat16);
  }
  if (auto s =
          FreezeByPattern(state.model->Parameters(), config.model().frozen());
      !s.ok()) {
    return s;
  }

  auto schedule = MakeSchedule(config, train);
  if (!schedule.ok()) return schedule.status();
  Optimizer::Group options;
  options.base_lr = config.optimizer().lr();
  options.beta1 = config.optimizer().beta1();
  options.beta2 = config.optimizer().beta2();
  options.eps = config.optimizer().eps();
  options.weight_decay = config.optimizer().weight_decay();
  options.momentum = config.optimizer().momentum();
  options.nesterov = config.optimizer().nesterov();
  auto groups = MakeGroups(config.optimizer().groups(),
                           state.model->Parameters(), options);
  if (!groups.ok()) return groups.status();
  auto optimizer =
      Optimizer::Create(config.optimizer().kind(), *std::move(groups));
  if (!optimizer.ok()) return optimizer.status();
  state.optimizer = *std::move(optimizer);
  state.schedule_state = schedule->FirstState();
  state.optimizer->ApplySchedule(schedule->Fraction(0, state.schedule_state),
                                 schedule->Momentum(0));

  state.clip = ClipOf(config);

  state.accumulation.per_step = config.accumulation().steps();
  if (config.ema().decay() > 0) {
    state.ema = std::make_unique<Ema>(
        state.model->Parameters(), config.ema().decay(),
        config.ema().ramp() == "none" ? "" : config.ema().ramp());
  }
  if (config.best().patience() > 0) {
    state.early_stop = EarlyStopState{
        config.best().patience(), config.best().min_delta(), 0, {}};
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
  order.tail = TailOf(config.data().tail());
  if (order.tail == TailPolicy::kPartial && config.model().kind() == "mlp" &&
      train.size % order.batch_size == 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data.tail: expected another policy than partial, which makes a batch "
        "of one of ",
        train.size, " samples; the mlp's batch norm needs two"));
  }
  auto sampler = Sampler::Create(order);
  if (!sampler.ok()) return sampler.status();
  state.sampler = std::make_unique<Sampler>(*std::move(sampler));
  return state;
}

}  // namespace reprise
