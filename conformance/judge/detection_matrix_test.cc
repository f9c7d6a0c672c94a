// Every kind of fault, one at a time and several at once, against a simulated
// trainer: is exactly what was lost named? Twice: with digests of every item,
// and from the curves alone.
#include <algorithm>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "conformance/judge/judge.h"
#include "conformance/judge/testing/describe.h"
#include "conformance/judge/testing/simulated_trainer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using testing::Describe;
using testing::Faults;
using testing::LoadView;
using testing::MakeEvidence;
using testing::Seed;
using testing::SimulatedState;
using testing::Simulation;

using Names = std::vector<std::string>;

struct Row {
  std::string id;
  Faults faults;
  Names with_digests;
  Names from_curves;
  Simulation simulation = {};
  std::vector<uint64_t> kills = {67};
};

Faults OnLoad(std::function<void(SimulatedState*, const LoadView&)> load) {
  Faults faults;
  faults.load = std::move(load);
  return faults;
}

Faults Between(std::function<void(SimulatedState*, const LoadView&)> between) {
  Faults faults;
  faults.between = std::move(between);
  return faults;
}

Simulation Accumulating() {
  Simulation simulation;
  simulation.accumulation = 4;
  simulation.data = 1000;
  simulation.overflow = {30};
  return simulation;
}

// Steps so large that evaluations go up and down.
Simulation Restless() {
  Simulation simulation;
  simulation.learning_rate = 1;
  simulation.evaluate_every = 5;
  return simulation;
}

Simulation WithSgd() {
  Simulation simulation;
  simulation.sgd = true;
  return simulation;
}

std::vector<Row> Rows() {
  std::vector<Row> rows;
  auto add = [&rows](std::string id, Faults faults, Names digests, Names curves,
                     Simulation simulation = {},
                     std::vector<uint64_t> kills = {67}) {
    rows.push_back({std::move(id), std::move(faults), std::move(digests),
                    std::move(curves), std::move(simulation),
                    std::move(kills)});
  };
  using S = SimulatedState;
  using V = LoadView;
  add("weights",
      OnLoad([](S* s, const V& v) { s->weights = v.initial.weights; }),
      {"model.params:RESET"}, {"model.params:RESET or model.params:PARTIAL"});
  add("buffers",
      OnLoad([](S* s, const V& v) { s->buffers = v.initial.buffers; }),
      {"model.buffers:RESET"}, {"model.buffers:RESET or mode:CHANGED"});
  add("cold_adamw", OnLoad([](S* s, const V& v) {
        s->moments = v.initial.moments;
        s->variances = v.initial.variances;
        s->optimizer_steps = 0;
      }),
      {"optim.moments:RESET", "optim.step:RESET"},
      {"optim.moments:RESET", "optim.step:RESET"});
  add("cold_moments", OnLoad([](S* s, const V& v) {
        s->moments = v.initial.moments;
        s->variances = v.initial.variances;
      }),
      {"optim.moments:RESET"}, {"optim.moments:RESET"});
  add("optimizer_step", OnLoad([](S* s, const V&) { s->optimizer_steps = 0; }),
      {"optim.step:RESET"}, {"optim.step:RESET"});
  add("optimizer_step_late",
      OnLoad([](S* s, const V&) { --s->optimizer_steps; }), {"optim.step:LAG"},
      {"optim.step:LAG"});
  add("group_rate", OnLoad([](S* s, const V&) { s->group_scale[1] = 0.7; }),
      {"optim.groups:RESET"}, {"optim.groups:RESET"});
  add("partial",
      OnLoad([](S* s, const V& v) { s->weights[0] = v.initial.weights[0]; }),
      {"model.params:PARTIAL"}, {"model.params:PARTIAL"});
  add("schedule_restart", OnLoad([](S* s, const V&) { s->position = 0; }),
      {"sched.position:RESET"}, {"sched.position:RESET"});
  add("schedule_lead", OnLoad([](S* s, const V&) { ++s->position; }),
      {"sched.position:LEAD"}, {"sched.position:LEAD"});
  add("schedule_lag", OnLoad([](S* s, const V&) { --s->position; }),
      {"sched.position:LAG"}, {"sched.position:LAG"});
  add("schedule_doubled", OnLoad([](S* s, const V&) { s->position *= 2; }),
      {"sched.position:LEAD"}, {"sched.position:LEAD"}, {}, {37});
  add("horizon", OnLoad([](S* s, const V&) { s->horizon = 90; }),
      {"sched.horizon:CHANGED"}, {"sched.horizon:CHANGED"});
  add("scale_doubled", OnLoad([](S* s, const V&) {
        s->scale *= 2;
        s->tracker = 0;
      }),
      {"scaler.scale:SIDE_EFFECT"}, {"scaler.scale:SIDE_EFFECT"});
  add("tracker_counted", Between([](S* s, const V&) { ++s->tracker; }),
      {"scaler.growth_tracker:SIDE_EFFECT"},
      {"scaler.growth_tracker:SIDE_EFFECT"});
  add("scale_restart", OnLoad([](S* s, const V&) { s->scale = 1024; }),
      {"scaler.scale:RESET"}, {"scaler.scale:RESET"});
  add("tracker", OnLoad([](S* s, const V&) { s->tracker = 0; }),
      {"scaler.growth_tracker:RESET"}, {"scaler.growth_tracker:RESET"}, {},
      {67, 96});
  Faults unscaled;
  unscaled.unscaled = true;
  add("unscaled", unscaled, {"step:UNSCALED"}, {"step:UNSCALED"});
  add("epoch_restart",
      OnLoad([](S* s, const V&) { s->cursor = s->cursor / 400 * 400; }),
      {"sampler.cursor:RESET"}, {"sampler.cursor:RESET"});
  add("reordered", OnLoad([](S* s, const V&) {
        s->cursor = s->cursor / 400 * 400;
        s->order_seed = 8;
      }),
      {"sampler.cursor:RESET", "sampler.seed:CHANGED"},
      {"sampler.order:REORDERED"});
  add("batch_twice", OnLoad([](S* s, const V&) { s->cursor -= 10; }),
      {"sampler.cursor:LAG"}, {"sampler.cursor:LAG"});
  add("batch_lost", OnLoad([](S* s, const V&) { s->cursor += 10; }),
      {"sampler.cursor:LEAD"}, {"sampler.cursor:LEAD"});
  add("micro_steps", OnLoad([](S* s, const V&) { s->cursor /= 4; }),
      {"sampler.cursor:UNIT"}, {"sampler.cursor:UNIT"}, Accumulating());
  add("epoch_repeated", OnLoad([](S* s, const V&) { s->cursor -= 400; }),
      {"sampler.cursor:EPOCH_END"}, {"sampler.cursor:EPOCH_END"}, {}, {87});
  Faults order;
  order.order_epoch = [](uint64_t) { return uint64_t{0}; };
  add("first_epoch_order", order, {"sampler.order:REORDERED"},
      {"sampler.order:REORDERED"});
  add("generator_drawn",
      Between([](S* s, const V&) { s->cpu = s->cpu * 3 + 1; }),
      {"rng.cpu:CONSUMED"}, {"rng.cpu:CONSUMED"});
  add("generator_seeded",
      Between([](S* s, const V& v) { s->cpu = v.initial.cpu; }),
      {"rng.cpu:RESEEDED"}, {"rng.cpu:RESET"});
  add("generator_cpu", OnLoad([](S* s, const V& v) { s->cpu = v.initial.cpu; }),
      {"rng.cpu:RESET"}, {"rng.cpu:RESET"});
  add("generator_cuda",
      OnLoad([](S* s, const V& v) { s->cuda = v.initial.cuda; }),
      {"rng.cuda:RESET"}, {"rng.cuda:RESET"});
  Faults late;
  late.label = -1;
  add("label_late", late, {"counters.step:LAG"}, {"counters.step:LAG"});
  Faults early;
  early.label = 1;
  add("label_early", early, {"counters.step:LEAD"}, {"counters.step:LEAD"});
  add("applied", OnLoad([](S* s, const V&) { s->applied = 0; }),
      {"counters.applied:RESET"}, {"counters.applied:RESET"});
  add("best", OnLoad([](S* s, const V&) {
        s->best = 0;
        s->has_best = false;
      }),
      {"best:RESET"}, {"best:RESET"}, Restless(), {67});
  add("mixed", OnLoad([](S* s, const V& v) {
        const S& old = v.saves.at(50);
        s->moments = old.moments;
        s->variances = old.variances;
        s->optimizer_steps = old.optimizer_steps;
        s->cursor = v.saves.at(40).cursor;
      }),
      {"generation:MIXED"}, {});
  add("averages_as_weights",
      OnLoad([](S* s, const V&) { s->weights = s->averages; }),
      {"ema.weights:SWAPPED"}, {});
  add("averages_restart",
      OnLoad([](S* s, const V&) { s->averages = s->weights; }),
      {"ema.weights:RESET"}, {"ema.weights:RESET or ema.updates:RESET"});
  add("average_updates", OnLoad([](S* s, const V&) { s->updates = 0; }),
      {"ema.updates:RESET"}, {"ema.weights:RESET or ema.updates:RESET"});
  Faults stale;
  stale.choose = [](const std::map<uint64_t, S>&) { return uint64_t{50}; };
  add("stale", stale, {"source:STALE"}, {"source:STALE"});
  Faults scratch;
  scratch.choose = [](const std::map<uint64_t, S>&) { return uint64_t{0}; };
  add("scratch", scratch, {"source:NONE"}, {"source:NONE"});
  add("precision", OnLoad([](S* s, const V&) { s->precision = 5e-4; }),
      {"precision.flags:CHANGED"}, {});
  Faults stop;
  stop.stop_at = 100;
  add("short", stop, {"run:SHORT"}, {"run:SHORT"});
  Faults silent;
  silent.saves_fail = true;
  add("saves", silent, {"save:FAILED"}, {"save:FAILED"});
  add("frozen", OnLoad([](S* s, const V&) { s->frozen = false; }),
      {"frozen.flags:RESET"}, {"frozen.flags:RESET"});
  add("not_finite", OnLoad([](S* s, const V&) {
        s->weights[1][2] = std::numeric_limits<float>::quiet_NaN();
      }),
      {"run:NONFINITE"}, {"run:NONFINITE"});
  add("sgd_momentum",
      OnLoad([](S* s, const V& v) { s->moments = v.initial.moments; }),
      {"optim.moments:RESET"}, {"optim.moments:RESET"}, WithSgd());
  add("four_at_once", OnLoad([](S* s, const V& v) {
        s->scale = 1024;
        s->cursor -= 10;
        ++s->position;
        s->averages = s->weights;
      }),
      {"ema.weights:RESET", "sampler.cursor:LAG", "scaler.scale:RESET",
       "sched.position:LEAD"},
      {});
  return rows;
}

Evidence EvidenceOf(const Row& row, bool digests) {
  Simulation simulation = row.simulation;
  simulation.digests = digests;
  Evidence evidence = MakeEvidence(simulation, row.kills, row.faults);
  if (row.id == "sgd_momentum") {
    v1::NotApplicable& none = *evidence.description.add_not_applicable();
    none.set_item(Item::OPTIM_STEP);
    none.set_reason("SGD counts no steps");
  }
  return evidence;
}

TEST(DetectionMatrix, NamesExactlyWhatWasLostFromDigests) {
  int named = 0;
  const std::vector<Row> rows = Rows();
  for (const Row& row : rows) {
    const v1::Verdict verdict = Judge(EvidenceOf(row, true));
    const bool right = NamesOf(verdict) == row.with_digests;
    named += right;
    EXPECT_TRUE(right) << row.id << ": expected "
                       << absl::StrJoin(row.with_digests, ", ") << "; "
                       << Describe(verdict);
    EXPECT_EQ(verdict.outcome(), v1::FAIL) << row.id;
  }
  std::cout << "mutants named from digests: " << named << " / " << rows.size()
            << "\n";
}

TEST(DetectionMatrix, NamesWhatCanBeNamedFromCurvesAlone) {
  int named = 0;
  const std::vector<Row> rows = Rows();
  for (const Row& row : rows) {
    const v1::Verdict verdict = Judge(EvidenceOf(row, false));
    EXPECT_EQ(verdict.outcome(), v1::FAIL) << row.id;
    if (row.from_curves.empty()) {
      std::cout << row.id << " from curves: " << Describe(verdict);
      continue;
    }
    const bool right = NamesOf(verdict) == row.from_curves;
    named += right;
    EXPECT_TRUE(right) << row.id << ": expected "
                       << absl::StrJoin(row.from_curves, ", ") << "; "
                       << Describe(verdict);
  }
  std::cout << "mutants named from curves: " << named << " / " << rows.size()
            << "\n";
}

// A clean run of 3 to 5 attempts, killed at random.
Evidence CleanEvidence(uint64_t seed, double noise, bool digests) {
  Simulation simulation;
  simulation.noise = noise;
  simulation.noise_seed = seed + 1;
  simulation.digests = digests;
  if (seed % 3 == 1) simulation = Accumulating();
  if (seed % 3 == 2) simulation.sgd = true;
  simulation.noise = noise;
  simulation.noise_seed = seed + 1;
  simulation.digests = digests;
  std::mt19937_64 random(seed);
  std::vector<uint64_t> kills;
  uint64_t kill = 0;
  for (uint64_t i = 0; i < 2 + seed % 3; ++i) {
    kill += 11 + random() % 22;
    if (kill < simulation.steps) kills.push_back(kill);
  }
  return MakeEvidence(simulation, kills, {});
}

TEST(DetectionMatrix, C39_RaisesNoFalseAlarmOnCleanBitwiseRuns) {
  const uint64_t seed = Seed();
  int alarms = 0;
  for (uint64_t run = 0; run < 200; ++run) {
    const v1::Verdict verdict =
        Judge(CleanEvidence(seed + run, 0, run % 2 == 0));
    alarms += verdict.outcome() == v1::FAIL;
    EXPECT_EQ(verdict.outcome(), v1::PASS)
        << "run " << run << ": " << Describe(verdict);
  }
  std::cout << "false alarms: " << alarms << " / 200 clean runs\n";
}

TEST(DetectionMatrix, C39_M60_RaisesNoFalseAlarmOnNoisyRuns) {
  const uint64_t seed = Seed();
  int alarms = 0;
  int silent = 0;
  for (uint64_t run = 0; run < 200; ++run) {
    const double noise = run % 2 == 0 ? 1e-7 : 1e-4;
    const v1::Verdict verdict =
        Judge(CleanEvidence(seed + run, noise, run % 4 < 2));
    alarms += verdict.outcome() == v1::FAIL;
    silent += verdict.outcome() == v1::INCONCLUSIVE;
    EXPECT_NE(verdict.outcome(), v1::FAIL)
        << "run " << run << ": " << Describe(verdict);
  }
  std::cout << "false alarms: " << alarms << " / 200 noisy clean runs, "
            << silent << " inconclusive\n";
}

TEST(DetectionMatrix, NamesGrossLossesThroughNoise) {
  for (const Row& row : Rows()) {
    if (row.id != "weights" && row.id != "cold_adamw" &&
        row.id != "epoch_restart" && row.id != "schedule_restart" &&
        row.id != "scale_restart" && row.id != "stale") {
      continue;
    }
    for (bool digests : {true, false}) {
      Simulation simulation = row.simulation;
      simulation.noise = 1e-7;
      simulation.noise_seed = 5;
      simulation.digests = digests;
      const v1::Verdict verdict =
          Judge(MakeEvidence(simulation, row.kills, row.faults));
      EXPECT_EQ(NamesOf(verdict), digests ? row.with_digests : row.from_curves)
          << row.id << (digests ? " with digests: " : " from curves: ")
          << Describe(verdict);
    }
  }
}

}  // namespace
}  // namespace reprise::conformance
