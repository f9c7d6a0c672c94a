#include "trainer/config_changes.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/data/synthetic.h"

namespace reprise {
namespace {

// A state of an mlp, with one group that decays and one that does not.
struct Built {
  explicit Built(const std::string& groups = "") {
    config = WithExplicitFields(Defaults(), {{"model.kind", "mlp"},
                                             {"model.hidden", "8"},
                                             {"data.name", "synthetic"},
                                             {"schedule.form", "constant-v1"},
                                             {"schedule.warmup", "0"},
                                             {"optimizer.groups", groups}})
                 .value();
    MakeSyntheticOptions options;
    options.size = 256;
    const Dataset data = MakeSynthetic(options);
    schedule.emplace(MakeSchedule(config, data).value());
    state = MakeTrainState(config, data, at::kCPU).value();
  }
  void Change(const std::string& path, const std::string& value) {
    ASSERT_TRUE(SetField(&config, path, value).ok()) << path;
    const absl::Status status =
        ApplyChanges(config, {{path, "before", value}}, *schedule, &state);
    ASSERT_TRUE(status.ok()) << status;
  }
  TrainerConfig config;
  std::optional<Schedule> schedule;
  TrainState state;
};

TEST(ConfigChanges, C22_ChangedRateIsInForceAtOnceInEveryGroup) {
  Built built("head lr_scale=0.5 ^fc3");
  built.Change("optimizer.lr", "0.5");
  for (const Optimizer::Group& group : built.state.optimizer->groups()) {
    const double expected = group.name == "head" ? 0.25 : 0.5;
    EXPECT_EQ(group.base_lr, expected) << group.name;
    EXPECT_EQ(group.lr, expected) << group.name;
  }
}

TEST(ConfigChanges, C22_EachChangedNumberOfTheOptimizerTakesEffectAlone) {
  const std::pair<const char*, double Optimizer::Group::*> fields[] = {
      {"optimizer.beta1", &Optimizer::Group::beta1},
      {"optimizer.beta2", &Optimizer::Group::beta2},
      {"optimizer.eps", &Optimizer::Group::eps}};
  for (const auto& [path, member] : fields) {
    Built built;
    const Built before;
    built.Change(path, "0.125");
    for (size_t i = 0; i < built.state.optimizer->groups().size(); ++i) {
      const auto& group = built.state.optimizer->groups()[i];
      const auto& old = before.state.optimizer->groups()[i];
      for (const auto& [other_path, other] : fields) {
        EXPECT_EQ(group.*other, other == member ? 0.125 : old.*other)
            << path << " " << other_path;
      }
      EXPECT_EQ(group.lr, old.lr) << path;
    }
  }
}

TEST(ConfigChanges, GroupWithoutWeightDecayKeepsNone) {
  Built built;
  built.Change("optimizer.weight_decay", "0.5");
  int with = 0, without = 0;
  for (const Optimizer::Group& group : built.state.optimizer->groups()) {
    with += group.weight_decay == 0.5;
    without += group.weight_decay == 0;
  }
  EXPECT_EQ(with, 1);
  EXPECT_EQ(without, 1);
}

TEST(ConfigChanges, ClippingMayBeginAndEnd) {
  Built built;
  ASSERT_TRUE(built.state.clip.has_value());
  built.Change("optimizer.clip_norm", "0");
  EXPECT_FALSE(built.state.clip.has_value());
  built.Change("optimizer.clip_value", "0.25");
  ASSERT_TRUE(built.state.clip.has_value());
  EXPECT_EQ(built.state.clip->kind, ClipState::Kind::kValue);
  EXPECT_EQ(built.state.clip->limit, 0.25);
}

TEST(ConfigChanges, OfTheRecordedFieldsOnlyTheChangedOneHasAValueBefore) {
  const std::vector<ConfigField> fields =
      RecordConfig(Defaults(), {{"optimizer.lr", "0.1", "0.003"}});
  EXPECT_EQ(fields.size(), Flatten(Defaults()).size());
  for (const ConfigField& field : fields) {
    EXPECT_EQ(field.previous.has_value(), field.path == "optimizer.lr")
        << field.path;
    EXPECT_EQ(field.previous.value_or("0.1"), "0.1");
  }
}

}  // namespace
}  // namespace reprise
