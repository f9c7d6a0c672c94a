// The arithmetic of a right trainer: rounding, gradients, optimizer, scaler,
// schedule, order.
#include "conformance/fake/parts.h"

#include <cmath>
#include <set>

#include "gtest/gtest.h"

namespace reprise::conformance::fake {
namespace {

Bed BedOf(const std::string& workload) {
  RunRequest request;
  request.set_workload(workload);
  return *BedFor(request);
}

TEST(RoundTo, GivesTheNearestHalfTiesToEven) {
  EXPECT_EQ(RoundTo("fp16", 1.0f), 1.0f);
  EXPECT_EQ(RoundTo("fp16", 1.0f + 0x1p-11f), 1.0f);  // tie: down to even
  EXPECT_EQ(RoundTo("fp16", 1.0f + 3 * 0x1p-11f), 1.0f + 0x1p-9f);  // tie: up
  EXPECT_EQ(RoundTo("fp16", 1.0f + 0x1.8p-11f), 1.0f + 0x1p-10f);
  EXPECT_EQ(RoundTo("fp16", 65504.0f), 65504.0f);
  EXPECT_EQ(RoundTo("fp16", 65519.0f), 65504.0f);
  EXPECT_TRUE(std::isinf(RoundTo("fp16", 65520.0f)));
  EXPECT_EQ(RoundTo("fp16", -65520.0f), -HUGE_VALF);
  EXPECT_EQ(RoundTo("fp16", 0x1p-24f), 0x1p-24f);  // smallest half
  EXPECT_EQ(RoundTo("fp16", 0x1p-25f), 0.0f);      // tie: to even
  EXPECT_EQ(RoundTo("fp16", 0x1.8p-25f), 0x1p-24f);
  EXPECT_EQ(RoundTo("bf16", 1.0f + 0x1p-8f), 1.0f);
  EXPECT_EQ(RoundTo("bf16", 1.0f + 3 * 0x1p-8f), 1.0f + 0x1p-6f);
  EXPECT_EQ(RoundTo("fp32", 0.1f), 0.1f);
  EXPECT_TRUE(std::isnan(RoundTo("fp16", NAN)));
}

// Loss at parameters moved by `by` in one element, with the same draws.
double LossMoved(Model* model, const Batch& batch, State state, int array,
                 int element, float by) {
  Array* moved = state.mutable_parameters(array);
  moved->set_values(element, moved->values(element) + by);
  Arrays unused = ZerosLike(state.parameters());
  return model->LossAndGradients(batch, 1, &state, &unused);
}

TEST(Model, GradientsAreThoseOfTheLoss) {
  for (const char* workload : {"T3", "T2"}) {
    Bed bed = BedOf(workload);
    bed.precision = "fp32";
    Parts parts = MakeParts(bed);
    State state = InitialState(bed);
    const Batch batch = parts.sampler->Next(state);
    Arrays gradients = ZerosLike(state.parameters());
    State used = state;
    parts.model->LossAndGradients(batch, 1, &used, &gradients);
    for (int a = 0; a < gradients.size(); ++a) {
      for (int i = 0; i < gradients[a].values_size(); i += 7) {
        constexpr float kBy = 1e-3f;
        const double up = LossMoved(parts.model.get(), batch, state, a, i, kBy);
        const double down =
            LossMoved(parts.model.get(), batch, state, a, i, -kBy);
        EXPECT_NEAR(gradients[a].values(i), (up - down) / (2 * kBy), 5e-4)
            << workload << " " << gradients[a].name() << " " << i;
      }
    }
  }
}

TEST(Model, EvaluationDrawsNothingAndChangesNothing) {
  Bed bed = BedOf("T0");
  Parts parts = MakeParts(bed);
  const State state = InitialState(bed);
  State same = state;
  const double loss = parts.model->HeldOutLoss(3, state.parameters(), same);
  EXPECT_EQ(loss, parts.model->HeldOutLoss(3, state.parameters(), same));
  EXPECT_EQ(same.SerializeAsString(), state.SerializeAsString());
}

TEST(Optimizer, FirstStepOfAdamWIsSignLike) {
  Bed bed = BedOf("T0");
  Parts parts = MakeParts(bed);
  State state = InitialState(bed);
  const State before = state;
  Arrays gradients = ZerosLike(state.parameters());
  for (Array& array : gradients) {
    for (float& value : *array.mutable_values()) value = -0.25f;
  }
  parts.optimizer->Apply(gradients, {1e-3, 2e-3}, &state);
  EXPECT_EQ(state.optimizer().states_size(), state.parameters_size());
  for (int a = 0; a < state.parameters_size(); ++a) {
    const bool weight = state.parameters(a).columns() > 1;
    const float p = before.parameters(a).values(0);
    const double expected =
        weight ? p * (1 - 1e-3 * 0.05) + 1e-3 : double{p} + 2e-3;
    EXPECT_NEAR(state.parameters(a).values(0), expected, 1e-7)
        << state.parameters(a).name();
  }
}

TEST(Optimizer, LeavesFrozenParametersAlone) {
  Bed bed = BedOf("T0");
  Parts parts = MakeParts(bed);
  State state = InitialState(bed);
  state.add_frozen("hidden1.weight");
  const State before = state;
  Arrays gradients = state.parameters();
  parts.optimizer->Apply(gradients, {1e-3, 2e-3}, &state);
  EXPECT_EQ(Distance(before.parameters(0), state.parameters(0)), 0);
  EXPECT_GT(Distance(before.parameters(1), state.parameters(1)), 0);
  EXPECT_EQ(state.optimizer().states_size(), state.parameters_size() - 1);
}

TEST(Optimizer, HalfParametersFollowTheirMasters) {
  Bed bed = BedOf("T0.half");
  Parts parts = MakeParts(bed);
  State state = InitialState(bed);
  Arrays gradients = state.parameters();
  parts.optimizer->Apply(gradients, {1e-3, 2e-3}, &state);
  bool differs = false;
  for (int a = 0; a < state.masters_size(); ++a) {
    for (int i = 0; i < state.masters(a).values_size(); ++i) {
      const float master = state.masters(a).values(i);
      EXPECT_EQ(state.parameters(a).values(i), RoundTo("fp16", master));
      differs |= state.parameters(a).values(i) != master;
    }
  }
  EXPECT_TRUE(differs);
}

// The example of spec/ALGORITHMS.md.
TEST(Scaler, FollowsTheSpecifiedTable) {
  Bed bed = BedOf("T0");
  bed.growth_interval = 3;
  Parts parts = MakeParts(bed);
  State state = InitialState(bed);
  const float scales[] = {65536, 32768, 32768, 32768,
                          65536, 65536, 65536, 131072};
  const uint32_t trackers[] = {1, 0, 1, 2, 0, 1, 2, 0};
  for (int step = 1; step <= 8; ++step) {
    parts.scaler->Update(/*found_inf=*/step == 2, &state);
    EXPECT_EQ(state.scaler().scale(), scales[step - 1]) << step;
    EXPECT_EQ(state.scaler().growth_tracker(), trackers[step - 1]) << step;
  }
}

TEST(Schedule, WarmsUpAndFallsToItsEnd) {
  Bed bed = BedOf("T0");
  Parts parts = MakeParts(bed);
  State state = InitialState(bed);
  auto rate = [&](uint64_t position) {
    state.mutable_schedule()->set_position(position);
    return parts.schedule->Rates(state)[0];
  };
  EXPECT_DOUBLE_EQ(rate(0), 1e-3 / 20);
  EXPECT_DOUBLE_EQ(rate(19), 1e-3);
  EXPECT_DOUBLE_EQ(rate(20), 1e-3);
  EXPECT_NEAR(rate(160), 0.5e-3, 1e-12);
  EXPECT_EQ(rate(300), 0);
  EXPECT_EQ(rate(400), 0);
  EXPECT_DOUBLE_EQ(parts.schedule->Rates(state)[1], 0);
}

TEST(Schedule, CountsInItsUnit) {
  for (const auto& [unit, expected] :
       {std::pair<const char*, uint64_t>{"applied", 1},
        {"attempted", 2},
        {"samples", 20},
        {"epochs", 1}}) {
    Bed bed = BedOf("T0");
    bed.schedule_unit = unit;
    Parts parts = MakeParts(bed);
    State state = InitialState(bed);
    state.mutable_counters()->set_samples(985);  // the second step crosses 1000
    parts.schedule->Advance(/*applied=*/true, 10, &state);
    state.mutable_counters()->set_samples(995);
    parts.schedule->Advance(/*applied=*/false, 10, &state);
    EXPECT_EQ(state.schedule().position(), expected) << unit;
  }
}

TEST(Sampler, VisitsEachSampleOnceAnEpochInAnotherOrderEachTime) {
  Bed bed = BedOf("T0");
  Parts parts = MakeParts(bed);
  State state = InitialState(bed);
  std::vector<uint64_t> first;
  for (uint64_t epoch : {0u, 1u}) {
    std::set<uint64_t> seen;
    for (uint64_t step = 0; step < 100; ++step) {
      state.mutable_sampler()->set_cursor(epoch * 1000 + step * 10);
      const Batch batch = parts.sampler->Next(state);
      EXPECT_EQ(batch.epoch, epoch);
      seen.insert(batch.ids.begin(), batch.ids.end());
      if (step == 0 && epoch == 0) first = batch.ids;
      if (step == 0 && epoch == 1) {
        EXPECT_NE(batch.ids, first);
      }
    }
    EXPECT_EQ(seen.size(), 1000u);
  }
}

}  // namespace
}  // namespace reprise::conformance::fake
