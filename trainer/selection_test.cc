#include "trainer/selection.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"
#include "trainer/config/config.h"

namespace reprise {
namespace {

class Selection : public testing::Test {
 protected:
  void Set(const std::string& path, const std::string& value) {
    const absl::Status status = SetField(&config_, path, value);
    ASSERT_TRUE(status.ok()) << status;
  }
  // An evaluation with this loss at step 10, 20, ...
  EvaluationEvent See(double loss) {
    EvaluationEvent event;
    event.step = step_ += 10;
    event.loss = loss;
    event.accuracy = 1 - loss;
    Dataset data;
    data.size = 100;
    Select(config_, *MakeSchedule(config_, data), &event, &state_);
    return event;
  }

  TrainerConfig config_ = Defaults();
  TrainState state_;
  uint64_t step_ = 0;
};

TEST_F(Selection, KeepsTheBestAndItsStep) {
  Set("best.metric", "loss");
  See(0.5);
  EXPECT_EQ(See(0.3).best, 0.3);
  EXPECT_EQ(See(0.4).best, 0.3);
  EXPECT_EQ(See(0.3).best, 0.3);
  EXPECT_EQ(state_.best->step, 20u);
  EXPECT_FALSE(state_.best->higher_is_better);
  EXPECT_EQ(state_.evaluation.last->step, 40u);
}

TEST_F(Selection, AccuracyIsBetterWhenItIsHigher) {
  See(0.5);
  See(0.6);
  EXPECT_EQ(state_.best->value, 0.5);
  EXPECT_TRUE(state_.best->higher_is_better);
}

TEST_F(Selection, StopsAfterAsManyBadEvaluationsInARowAsThePatience) {
  Set("best.metric", "loss");
  state_.early_stop = EarlyStopState{2, 0.1, 0, {}};
  EXPECT_EQ(See(0.5).bad_count, 0u);
  EXPECT_EQ(See(0.45).bad_count, 1u);  // better by less than min_delta
  EXPECT_EQ(See(0.3).bad_count, 0u);
  EXPECT_EQ(See(0.3).bad_count, 1u);
  EXPECT_FALSE(StopsEarly(state_));
  EXPECT_EQ(See(0.3).bad_count, 2u);
  EXPECT_TRUE(StopsEarly(state_));
}

TEST_F(Selection, NanIsNoImprovement) {
  Set("best.metric", "loss");
  state_.early_stop = EarlyStopState{5, 0, 0, {}};
  See(std::nan(""));
  EXPECT_FALSE(state_.best.has_value());
  EXPECT_EQ(state_.early_stop->bad_count, 1u);
  EXPECT_FALSE(StopsEarly(TrainState()));
}

TEST_F(Selection, PlateauSeesItsOwnMetric) {
  Set("schedule.form", "plateau-v1");
  Set("schedule.patience", "0");
  Dataset data;
  data.size = 100;
  state_.schedule_state = MakeSchedule(config_, data)->FirstState();
  See(0.5);
  EXPECT_EQ(state_.schedule_state->best, 0.5);
  EXPECT_EQ(state_.schedule_state->factor, 1);
  See(0.6);
  EXPECT_LT(state_.schedule_state->factor, 1);
}

}  // namespace
}  // namespace reprise
