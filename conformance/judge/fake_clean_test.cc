// The judge beside a real process: the fake trainer, right, noisy and terse,
// killed at random. No clean run may be accused.
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "conformance/judge/judge.h"
#include "conformance/judge/testing/describe.h"
#include "conformance/judge/testing/fake_driver.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using testing::Describe;
using testing::FakeDriver;
using testing::KillAfterStep;
using testing::KillAt;
using testing::Seed;

v1::RunRequest Request(const std::string& workload) {
  v1::RunRequest request;
  request.set_workload(workload);
  // Long enough for noise to grow and for overflows of its own.
  request.set_steps(workload == "T1" ? 75 : 300);
  if (workload == "T3") request.add_inject_overflow(50);
  return request;
}

// 2 or 3 kills somewhere in the run.
std::vector<KillAt> RandomKills(std::mt19937_64* random, uint64_t steps) {
  std::vector<KillAt> kills;
  uint64_t step = 0;
  const size_t count = 2 + (*random)() % 2;
  for (size_t i = 0; i < count; ++i) {
    step += 11 + (*random)() % (steps / 3 - 11);
    if (step < steps) kills.push_back(KillAfterStep(step));
  }
  return kills;
}

// Relative difference of losses that the verdict accepts at the run's end.
double LossTolerance(const v1::Verdict& verdict) {
  for (const v1::Tolerance& tolerance : verdict.tolerances()) {
    if (tolerance.channel() == "loss") return tolerance.threshold();
  }
  return 0;
}

// `runs` clean runs of each workload; gives the number of accusations.
int CountAlarms(const std::vector<std::string>& workloads, int runs, bool noisy,
                bool quiet) {
  const uint64_t seed = Seed();
  int alarms = 0;
  const char* only = std::getenv("REPRISE_WORKLOAD");
  for (const std::string& workload : workloads) {
    if (only != nullptr && workload != only) continue;
    Evidence evidence;
    evidence.request = Request(workload);
    const uint64_t steps = evidence.request.steps();
    evidence.description.set_determinism(noisy ? v1::ROUNDING : v1::EXACT);
    std::mt19937_64 random(seed);
    FakeDriver driver(evidence.request, nullptr,
                      noisy ? std::optional<uint64_t>(random()) : std::nullopt,
                      quiet);
    for (int i = 0; i < (noisy ? 3 : 2); ++i) {
      evidence.baselines.push_back(driver.Run({}));
    }
    int inconclusive = 0;
    double loss = 0;
    for (int run = 0; run < runs; ++run) {
      evidence.subject = driver.Run(RandomKills(&random, steps));
      const v1::Verdict verdict = Judge(evidence);
      alarms += verdict.outcome() == v1::FAIL;
      inconclusive += verdict.outcome() == v1::INCONCLUSIVE;
      EXPECT_NE(verdict.outcome(), v1::FAIL)
          << workload << " run " << run << " of seed " << seed << ": "
          << Describe(verdict);
      if (!noisy) {
        EXPECT_EQ(verdict.outcome(), v1::PASS)
            << workload << " run " << run << " of seed " << seed << ": "
            << Describe(verdict);
      }
      loss = LossTolerance(verdict);
    }
    if (noisy) {
      std::cout << workload << ": " << inconclusive << " of " << runs
                << " inconclusive; equal losses within " << loss << "\n";
    }
  }
  return alarms;
}

TEST(FakeClean, C39_IsNeverAccusedWhenRight) {
  const int alarms = CountAlarms(
      {"T0", "T1", "T2", "T3", "T0.sgd", "T0.plateau", "T0.half", "T0.frozen"},
      25, false, false);
  std::cout << "false alarms: " << alarms << " / 200 clean runs\n";
}

TEST(FakeClean, C39_M60_IsNeverAccusedWhenOnlyNoisy) {
  const int alarms = CountAlarms(
      {"T0", "T1", "T2", "T3", "T0.sgd", "T0.plateau", "T0.half", "T0.frozen"},
      25, true, false);
  std::cout << "false alarms: " << alarms << " / 200 noisy clean runs\n";
}

TEST(FakeClean, IsNeverAccusedWhenTerse) {
  const int alarms = CountAlarms({"T0", "T1"}, 10, false, true);
  std::cout << "false alarms: " << alarms << " / 20 terse clean runs\n";
}

}  // namespace
}  // namespace reprise::conformance
