#include "trainer/config_changes.h"

#include "trainer/optim/frozen.h"

namespace reprise {

absl::Status ApplyChanges(const TrainerConfig& config,
                          const std::vector<ConfigChange>& changes,
                          const Schedule& schedule, TrainState* state) {
  const auto& given = config.optimizer();
  for (const ConfigChange& change : changes) {
    if (change.path == "optimizer.clip_norm" ||
        change.path == "optimizer.clip_value") {
      state->clip = ClipOf(config);
    } else if (change.path == "model.frozen") {
      if (auto s = FreezeByPattern(state->model->Parameters(),
                                   config.model().frozen());
          !s.ok()) {
        return s;
      }
    }
    for (Optimizer::Group& group : state->optimizer->groups()) {
      if (change.path == "optimizer.lr") {
        group.base_lr = given.lr() * group.lr_scale;
        group.lr = group.base_lr * schedule.Fraction(state->schedule_position,
                                                     state->schedule_state);
      } else if (change.path == "optimizer.beta1") {
        group.beta1 = given.beta1();
      } else if (change.path == "optimizer.beta2") {
        group.beta2 = given.beta2();
      } else if (change.path == "optimizer.eps") {
        group.eps = given.eps();
      } else if (change.path == "optimizer.weight_decay" &&
                 group.weight_decay != 0) {
        group.weight_decay = given.weight_decay();
      }
    }
  }
  return absl::OkStatus();
}

std::vector<ConfigField> RecordConfig(
    const TrainerConfig& config, const std::vector<ConfigChange>& changes) {
  std::vector<ConfigField> fields = Flatten(config);
  for (ConfigField& field : fields) {
    for (const ConfigChange& change : changes) {
      if (change.path == field.path) field.previous = change.old_value;
    }
  }
  return fields;
}

}  // namespace reprise
