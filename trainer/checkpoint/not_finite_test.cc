#include "trainer/checkpoint/not_finite.h"

#include <cmath>
#include <limits>
#include <string>

#include "format/testing/checkpoint_builder.h"
#include "format/testing/full_snapshot.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(NotFinite, FiniteStateIsNotMarked) {
  Snapshot snapshot = FullSnapshot(60);
  const size_t values = snapshot.user.size();
  EXPECT_EQ(MarkNotFinite(&snapshot), "");
  EXPECT_EQ(snapshot.user.size(), values);
}

TEST(NotFinite, NamesWeightsMomentsAveragesAndScale) {
  const float nan = std::nanf("");
  Snapshot weights = FullSnapshot(60);
  weights.parameters[0] = FloatTensor("embed.weight", {1}, {nan});
  EXPECT_EQ(NotFinite(weights), "embed.weight");
  Snapshot moments = FullSnapshot(60);
  ParameterState& state = moments.optimizer->states[0];
  state.moments[0] = FloatTensor(state.moments[0].name(), {1}, {nan});
  EXPECT_EQ(NotFinite(moments),
            state.parameter + "/" + state.moments[0].name());
  Snapshot average = FullSnapshot(60);
  average.ema_weights[0] = FloatTensor("fc.weight", {1}, {nan});
  EXPECT_EQ(NotFinite(average), "ema.weights/fc.weight");
  Snapshot scale = FullSnapshot(60);
  scale.scaler->scale = std::numeric_limits<float>::infinity();
  EXPECT_EQ(NotFinite(scale), "scaler.scale");
}

TEST(NotFinite, MarkIsAValueOfTheCheckpoint) {
  Snapshot snapshot = FullSnapshot(60);
  snapshot.user.clear();
  snapshot.parameters[0] = FloatTensor("embed.weight", {1}, {std::nanf("")});
  MarkNotFinite(&snapshot);
  ASSERT_EQ(snapshot.user.size(), 1u);
  EXPECT_EQ(snapshot.user[0].name, "trainer.not_finite");
  EXPECT_EQ(std::get<std::string>(snapshot.user[0].value), "embed.weight");
  EXPECT_EQ(snapshot.Find(Item::USER)->presence, Presence::PRESENCE_SAVED);
}

// A scaled gradient that overflowed is what the scaler is there for.
TEST(NotFinite, GradientsDoNotCount) {
  Snapshot snapshot = FullSnapshotInStep(60, 2);
  snapshot.gradients[0] =
      FloatTensor("fc.bias", {1}, {std::numeric_limits<float>::infinity()});
  EXPECT_EQ(NotFinite(snapshot), "");
}

TEST(NotFinite, ManyNamesAreCut) {
  Snapshot snapshot = FullSnapshot(60);
  snapshot.parameters.clear();
  for (int i = 0; i < 9; ++i) {
    snapshot.parameters.push_back(
        FloatTensor("p" + std::to_string(i), {1}, {std::nanf("")}));
  }
  EXPECT_EQ(NotFinite(snapshot), "p0, p1, p2, p3, p4, 4 more");
}

}  // namespace
}  // namespace reprise
