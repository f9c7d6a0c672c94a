#include "trainer/schedule/from_config.h"

#include <string>

#include "gtest/gtest.h"
#include "trainer/config/config.h"

namespace reprise {
namespace {

constexpr RunLength kLength = {/*steps=*/1000, /*samples=*/128000,
                               /*epochs=*/3};

absl::StatusOr<Schedule> From(const ExplicitFields& given) {
  return ScheduleFromConfig(
      WithExplicitFields(Defaults(), given).value().schedule(), kLength);
}

TEST(ScheduleFromConfig, EveryFormHasDefaultsThatAreValid) {
  for (absl::string_view form : ScheduleForms()) {
    auto schedule = From({{"schedule.form", std::string(form)}});
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    EXPECT_EQ(schedule->definition().form, form);
  }
}

TEST(ScheduleFromConfig, HorizonOfZeroIsTheRunsLengthInTheUnit) {
  auto horizon = [](const char* unit) {
    return From({{"schedule.unit", unit}}).value().definition().horizon;
  };
  EXPECT_EQ(horizon("applied"), 1000u);
  EXPECT_EQ(horizon("attempted"), 1000u);
  EXPECT_EQ(horizon("samples"), 128000u);
  EXPECT_EQ(horizon("epochs"), 3u);
  EXPECT_EQ(From({{"schedule.unit", "epochs"}, {"schedule.horizon", "7"}})
                .value()
                .definition()
                .horizon,
            7u);
}

TEST(ScheduleFromConfig, TakesTheParametersOfTheFormAndNoOthers) {
  auto parameters = [](const ExplicitFields& given) {
    return From(given).value().definition().parameters;
  };
  EXPECT_TRUE(parameters({}).empty());
  using Parameters = std::map<std::string, double>;
  EXPECT_EQ(parameters({{"schedule.form", "step-v1"},
                        {"schedule.warmup", "100"},
                        {"schedule.gamma", "0.5"}}),
            (Parameters{{"gamma", 0.5}, {"step_size", 300}}));
  EXPECT_EQ(parameters({{"schedule.form", "plateau-v1"},
                        {"schedule.metric", "accuracy"}}),
            (Parameters{{"cooldown", 0},
                        {"higher_is_better", 1},
                        {"patience", 2},
                        {"reduction", 0.1},
                        {"threshold", 0.0001}}));
}

TEST(ScheduleFromConfig, RefusesAWarmupThatTheRunDoesNotOutlast) {
  const absl::Status status =
      From({{"schedule.unit", "epochs"}, {"schedule.warmup", "3"}}).status();
  EXPECT_NE(status.message().find("horizon: expected more than warmup (3)"),
            std::string::npos)
      << status;
}

}  // namespace
}  // namespace reprise
